//! A run's events as spans. Each event that ends something gives the spans that ended, so that nothing has to be
//! remembered between events, and a run that was resumed elsewhere continues its trace, unless `TRACEPARENT` is another.

use std::time::SystemTime;

use jiff::{SignedDuration, Timestamp};
use opentelemetry::trace::{
    SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};
use selvedge_core::model::{
    AgentKind, AgentSpec, AttemptEnd, CheckReport, Cost, CostSource, Envelope, Event, GateReport,
    Outcome, Report, ReportStatus, SessionOutcome, SessionStatus, Usage,
};
use selvedge_core::run::Run;
use selvedge_core::trace_context::{RunSpan, TraceContext};

/// The spans that an event ends; `run` is the state after it.
pub(super) fn ended_spans(envelope: &Envelope, run: &Run, context: &TraceContext) -> Vec<SpanData> {
    let builder = SpanBuilder { context };
    let ended_at = envelope.at;
    match &envelope.event {
        Event::BaselineTaken { baseline, .. } => {
            let interval = Interval::before(ended_at, baseline.duration_ms);
            let mut spans = builder.checks(0, &baseline.checks, interval);
            let attributes = vec![KeyValue::new(
                "selvedge.checks.cached",
                i64::from(baseline.cached),
            )];
            spans.push(builder.span(
                RunSpan::Baseline,
                "baseline",
                interval,
                attributes,
                Status::Unset,
            ));
            spans
        }
        Event::SessionEnded {
            attempt_number,
            outcome,
            ..
        } => {
            let retry = run.attempt(*attempt_number).map_or(0, |it| it.retry);
            let agent = run.spec.agent_of(retry);
            vec![builder.session(*attempt_number, agent, outcome, ended_at)]
        }
        Event::Reported { report, .. } => builder.verification(report),
        Event::GateJudged {
            attempt_number,
            gate,
            ..
        } => builder.gate(*attempt_number, gate, ended_at),
        Event::AttemptClosed {
            attempt_number,
            closing,
        } => {
            let Some(attempt) = run.attempt(*attempt_number) else {
                return Vec::new();
            };
            let interval = Interval {
                from: attempt.began_at,
                to: ended_at,
            };
            let closing_word = word_of(closing);
            let attributes = vec![
                KeyValue::new("selvedge.attempt.number", i64::from(*attempt_number)),
                KeyValue::new("selvedge.attempt.retry", i64::from(attempt.retry)),
                KeyValue::new("selvedge.attempt.end", closing_word.clone()),
            ];
            let failed = match (&attempt.report, closing) {
                (Some(report), AttemptEnd::Report) => {
                    (!has_passed(report.status)).then(|| word_of(&report.status))
                }
                _ => Some(closing_word),
            };
            let name = format!("attempt {attempt_number}");
            let span = RunSpan::Attempt(*attempt_number);
            vec![builder.span(span, name, interval, attributes, status(failed))]
        }
        Event::RunFinished { outcome } => vec![builder.run(run, *outcome, ended_at)],
        _ => Vec::new(),
    }
}

/// When a span began and ended.
#[derive(Debug, Clone, Copy)]
struct Interval {
    from: Timestamp,
    to: Timestamp,
}

impl Interval {
    fn before(to: Timestamp, duration_ms: u64) -> Self {
        let from = to.checked_sub(milliseconds(duration_ms)).unwrap_or(to);
        Self { from, to }
    }

    fn after(from: Timestamp, duration_ms: u64) -> Self {
        let to = from.checked_add(milliseconds(duration_ms)).unwrap_or(from);
        Self { from, to }
    }
}

fn milliseconds(duration_ms: u64) -> SignedDuration {
    SignedDuration::from_millis(i64::try_from(duration_ms).unwrap_or(i64::MAX))
}

struct SpanBuilder<'a> {
    context: &'a TraceContext,
}

impl SpanBuilder<'_> {
    fn run(&self, run: &Run, outcome: Outcome, ended_at: Timestamp) -> SpanData {
        let interval = Interval {
            from: run.created_at,
            to: ended_at,
        };
        let mut attributes = vec![
            KeyValue::new("selvedge.run.id", run.run_id.to_string()),
            KeyValue::new("selvedge.outcome", outcome.as_str()),
            KeyValue::new("selvedge.attempts", count(run.attempts.len())),
            KeyValue::new("selvedge.agent", run.spec.agent.name.clone()),
        ];
        attributes.extend(cost_attributes(run.cost()));
        let plan = run.spec.part_of.as_ref().map(|part| part.plan.to_string());
        attributes.extend(plan.map(|plan| KeyValue::new("selvedge.plan.id", plan)));
        let is_success = matches!(outcome, Outcome::Verified | Outcome::Unchecked);
        let reason = run.conclusion.as_ref().map(|it| it.reason.clone());
        let failed = (!is_success).then(|| reason.unwrap_or_else(|| outcome.as_str().to_owned()));
        self.span(
            RunSpan::Run,
            "selvedge run",
            interval,
            attributes,
            status(failed),
        )
    }

    /// A session of an agent, by the conventions for generative AI.
    fn session(
        &self,
        attempt: u32,
        agent: &AgentSpec,
        session: &SessionOutcome,
        ended_at: Timestamp,
    ) -> SpanData {
        let interval = Interval::before(ended_at, session.duration_ms);
        let mut attributes = vec![
            KeyValue::new("gen_ai.operation.name", "invoke_agent"),
            KeyValue::new("gen_ai.provider.name", provider(agent.kind)),
            KeyValue::new("gen_ai.agent.name", agent.name.clone()),
            KeyValue::new("selvedge.tool_calls", i64::from(session.tool_calls)),
            KeyValue::new("selvedge.tool_errors", i64::from(session.tool_errors)),
        ];
        attributes.extend(
            agent
                .model
                .clone()
                .map(|model| KeyValue::new("gen_ai.request.model", model)),
        );
        attributes.extend(model_attribute(session.model.as_ref()));
        attributes.extend(
            session
                .session_id
                .clone()
                .map(|id| KeyValue::new("gen_ai.conversation.id", id)),
        );
        attributes.extend(usage_attributes(session.usage));
        attributes.extend(cost_attributes(session.cost));
        let failed = (session.status != SessionStatus::Success).then(|| word_of(&session.status));
        attributes.extend(failed.clone().map(|kind| KeyValue::new("error.type", kind)));
        let name = format!("invoke_agent {}", agent.name);
        let error = failed.map(|kind| session.error.clone().unwrap_or(kind));
        let span = RunSpan::Session(attempt);
        self.span(span, name, interval, attributes, status(error))
    }

    fn verification(&self, report: &Report) -> Vec<SpanData> {
        let attempt = report.attempt_number;
        let interval = Interval::after(report.started_at, report.duration_ms);
        let mut spans = self.checks(attempt, &report.checks, interval);
        let word = word_of(&report.status);
        let attributes = vec![KeyValue::new("selvedge.report.status", word.clone())];
        let failed = (!has_passed(report.status)).then_some(word);
        let span = RunSpan::Verification(attempt);
        spans.push(self.span(span, "verification", interval, attributes, status(failed)));
        spans
    }

    /// Checks run one after another, so their durations place them.
    fn checks(&self, attempt: u32, checks: &[CheckReport], all: Interval) -> Vec<SpanData> {
        let mut from = all.from;
        let mut spans = Vec::new();
        for (index, check) in checks.iter().enumerate() {
            let mut interval = Interval::after(from, check.duration_ms);
            interval.to = interval.to.min(all.to);
            from = interval.to;
            let status_word = word_of(&check.status);
            let mut attributes = vec![
                KeyValue::new("selvedge.check.type", check.kind.as_str()),
                KeyValue::new("selvedge.check.status", status_word.clone()),
            ];
            attributes.extend(
                check
                    .exit_code
                    .map(|code| KeyValue::new("process.exit.code", i64::from(code))),
            );
            let is_bad = check.status.is_failure() || status_word == "error";
            let failed = is_bad.then(|| check.reason.clone().unwrap_or(status_word));
            let name = format!("check {}", check.label());
            let span = RunSpan::Check(attempt, index);
            spans.push(self.span(span, name, interval, attributes, status(failed)));
        }
        spans
    }

    fn gate(&self, attempt: u32, gate: &GateReport, ended_at: Timestamp) -> Vec<SpanData> {
        let interval = Interval::before(ended_at, gate.duration_ms);
        let judges = gate
            .judgements
            .iter()
            .enumerate()
            .map(|(index, judgement)| {
                let mut attributes = vec![
                    KeyValue::new("gen_ai.operation.name", "invoke_agent"),
                    KeyValue::new("gen_ai.agent.name", judgement.judge.clone()),
                ];
                attributes.extend(model_attribute(judgement.model.as_ref()));
                attributes.extend(usage_attributes(judgement.usage));
                attributes.extend(cost_attributes(judgement.cost));
                attributes.extend(verdict_attributes(judgement.passed, judgement.confidence));
                let mut own = Interval::after(interval.from, judgement.duration_ms);
                own.to = own.to.min(interval.to);
                let name = format!("invoke_agent {}", judgement.judge);
                let span = RunSpan::Judge(attempt, gate.tier, index);
                let failed = judgement.error.clone();
                self.span(span, name, own, attributes, status(failed))
            });
        let mut spans: Vec<_> = judges.collect();
        let attributes = verdict_attributes(gate.passed, gate.confidence);
        let rejected = (gate.passed == Some(false)).then(|| "rejected".to_owned());
        let failed = gate.error.clone().or(rejected);
        let name = format!("judge tier {}", gate.tier);
        let span = RunSpan::Gate(attempt, gate.tier);
        spans.push(self.span(span, name, interval, attributes, status(failed)));
        spans
    }

    fn span(
        &self,
        span: RunSpan,
        name: impl Into<String>,
        interval: Interval,
        attributes: Vec<KeyValue>,
        status: Status,
    ) -> SpanData {
        let id = SpanId::from_bytes;
        let own_parent = span.parent().map(|parent| self.context.span_id(parent));
        let parent = own_parent.or(self.context.parent());
        SpanData {
            span_context: SpanContext::new(
                TraceId::from_bytes(self.context.trace_id()),
                id(self.context.span_id(span)),
                TraceFlags::SAMPLED,
                false,
                TraceState::default(),
            ),
            parent_span_id: parent.map_or(SpanId::INVALID, id),
            parent_span_is_remote: own_parent.is_none() && parent.is_some(),
            span_kind: SpanKind::Internal,
            name: name.into().into(),
            start_time: SystemTime::from(interval.from),
            end_time: SystemTime::from(interval.to.max(interval.from)),
            attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status,
            instrumentation_scope: InstrumentationScope::builder("selvedge")
                .with_version(env!("CARGO_PKG_VERSION"))
                .build(),
        }
    }
}

fn status(error: Option<String>) -> Status {
    match error {
        Some(error) => Status::error(error),
        None => Status::Ok,
    }
}

fn has_passed(status: ReportStatus) -> bool {
    matches!(
        status,
        ReportStatus::Pass | ReportStatus::AutoPass | ReportStatus::Skip
    )
}

/// The word of a value in the journal.
fn word_of(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The provider by the names of the conventions, or else the kind of agent.
fn provider(kind: AgentKind) -> &'static str {
    match kind {
        AgentKind::Claude => "anthropic",
        AgentKind::Codex => "openai",
        AgentKind::Gemini => "gcp.gemini",
        kind => kind.name(),
    }
}

fn model_attribute(model: Option<&String>) -> Option<KeyValue> {
    model.map(|model| KeyValue::new("gen_ai.response.model", model.clone()))
}

fn usage_attributes(usage: Usage) -> Vec<KeyValue> {
    let tokens = |name, number: u64| {
        (number > 0).then(|| KeyValue::new(name, i64::try_from(number).unwrap_or(i64::MAX)))
    };
    [
        tokens("gen_ai.usage.input_tokens", usage.tokens_in()),
        tokens("gen_ai.usage.output_tokens", usage.tokens_out()),
        tokens("gen_ai.usage.cache_read.input_tokens", usage.cache_read),
        tokens(
            "gen_ai.usage.cache_creation.input_tokens",
            usage.cache_write,
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The source of a cost and its amount. Of an unknown cost only a lower bound may be known, which has another name.
fn cost_attributes(cost: Cost) -> Vec<KeyValue> {
    let mut attributes = vec![KeyValue::new("selvedge.cost_source", word_of(&cost.source))];
    let Some(amount) = cost.micro_usd else {
        return attributes;
    };
    #[expect(
        clippy::cast_precision_loss,
        reason = "exact below nine billion dollars"
    )]
    let usd = amount.0 as f64 / 1e6;
    let name = match cost.source {
        CostSource::Reported | CostSource::Estimated => "selvedge.cost_usd",
        CostSource::Unknown => "selvedge.cost_at_least_usd",
    };
    attributes.push(KeyValue::new(name, usd));
    attributes
}

fn verdict_attributes(passed: Option<bool>, confidence: Option<f64>) -> Vec<KeyValue> {
    let passed = passed.map(|it| KeyValue::new("selvedge.judge.passed", it));
    let confidence = confidence.map(|it| KeyValue::new("selvedge.judge.confidence", it));
    passed.into_iter().chain(confidence).collect()
}

#[cfg(test)]
mod tests {
    use selvedge_core::model::MicroUsd;

    use super::*;

    #[test]
    fn lower_bound_of_a_cost_is_not_exported_as_the_cost() {
        let exported = |micro_usd: Option<u64>, source| {
            let micro_usd = micro_usd.map(MicroUsd);
            let attributes = cost_attributes(Cost { micro_usd, source }).into_iter();
            attributes
                .map(|it| format!("{}={}", it.key, it.value))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            exported(Some(1_500_000), CostSource::Estimated),
            ["selvedge.cost_source=estimated", "selvedge.cost_usd=1.5"]
        );
        assert_eq!(
            exported(Some(1_500_000), CostSource::Unknown),
            [
                "selvedge.cost_source=unknown",
                "selvedge.cost_at_least_usd=1.5"
            ]
        );
        assert_eq!(
            exported(None, CostSource::Unknown),
            ["selvedge.cost_source=unknown"]
        );
    }
}

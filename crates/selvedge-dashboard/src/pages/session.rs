//! The trace of an attempt's session: its messages and tool calls as a waterfall.

use std::fmt::Write as _;

use askama::Template;
use selvedge_core::describe::cost;
use selvedge_core::format::{counted, duration};
use selvedge_core::model::SessionOutcome;

use super::frame::{PageFrame, short_count};
use crate::charts;
use crate::text::{Markup, make_visible, message, single_line};
use crate::trace::{Trace, TraceKind, TraceStep};

/// Number of steps on a page.
const PER_PAGE: usize = 150;
/// Maximum length of a message, and of the input and the result of a call, in characters.
const MESSAGE_CHARS: usize = 2_000;
const DETAIL_CHARS: usize = 1_500;
/// Total length of the texts on a page, in characters; later texts are cut short.
const PAGE_CHARS: usize = 120_000;
const SHORT_CHARS: usize = 160;
/// Maximum number of errors in the list of links.
const MAX_ERRORS: usize = 20;

/// The page.
#[derive(Template)]
#[template(path = "session.html")]
pub(crate) struct TracePage {
    frame: PageFrame,
    number: u32,
    /// Parent page: URL and label.
    back: (String, String),
    base: String,
    numbers: Vec<(&'static str, String)>,
    errors: Vec<(String, String)>,
    steps: Vec<StepView>,
    note: String,
    page: usize,
    last: usize,
    range: String,
    is_live: bool,
    has_raw: bool,
}

struct StepView {
    number: usize,
    class: &'static str,
    turn: Option<u32>,
    name: String,
    text: String,
    /// A message of the model, rendered.
    message: Markup,
    input: Option<String>,
    output: Option<String>,
    is_error: bool,
    is_open: bool,
    bar: Option<Markup>,
    took: String,
    tokens: String,
}

/// The session that is shown.
pub(crate) struct SessionHeader<'a> {
    pub(crate) number: u32,
    pub(crate) back: (String, String),
    pub(crate) base: String,
    /// Its outcome, once it has ended.
    pub(crate) outcome: Option<&'a SessionOutcome>,
    /// Whether it is still running.
    pub(crate) is_live: bool,
    /// Whether the transcript was too long to be read completely.
    pub(crate) truncated: bool,
}

impl TracePage {
    /// The requested page, or the last one of a running session.
    pub(crate) fn new(
        frame: PageFrame,
        header: SessionHeader<'_>,
        trace: &Trace,
        page: Option<usize>,
    ) -> Self {
        let last = trace.steps.len().div_ceil(PER_PAGE).max(1);
        let page = page.unwrap_or(if header.is_live { last } else { 1 });
        let page = page.clamp(1, last);
        let first = (page - 1) * PER_PAGE;
        let total = trace.duration_ms.filter(|total| *total > 0);
        let mut left = PAGE_CHARS;
        let mut turn = first.checked_sub(1).and_then(|at| trace.steps.get(at));
        let steps = trace.steps.iter().enumerate().skip(first).take(PER_PAGE);
        let mut views = Vec::new();
        for (index, step) in steps {
            let starts_turn = step.turn > 0 && turn.is_none_or(|before| before.turn != step.turn);
            turn = Some(step);
            let mut view = StepView::new(index + 1, step, total, &mut left);
            view.turn = starts_turn.then_some(step.turn);
            views.push(view);
        }
        let failed = trace.steps.iter().enumerate().filter(|(_, it)| it.is_error);
        let errors = failed.take(MAX_ERRORS).map(|(index, step)| {
            let page = index / PER_PAGE + 1;
            let address = format!("{}/session?page={page}#s{}", header.base, index + 1);
            let label = format!("{} {}", step.name, step.text);
            (address, single_line(&label, 60))
        });
        Self {
            number: header.number,
            numbers: numbers(header.outcome, trace),
            errors: errors.collect(),
            note: note(trace, header.truncated),
            range: if last > 1 {
                let to = first + views.len();
                format!("steps {}–{to} of {}", first + 1, trace.steps.len())
            } else {
                String::new()
            },
            has_raw: header.outcome.is_some_and(|it| it.transcript.is_some()),
            is_live: header.is_live,
            back: header.back,
            base: header.base,
            steps: views,
            page,
            last,
            frame,
        }
    }
}

fn numbers(outcome: Option<&SessionOutcome>, trace: &Trace) -> Vec<(&'static str, String)> {
    let (calls, failed) = trace.tool_calls();
    let mut numbers = vec![
        ("Turns", trace.turns.to_string()),
        ("Tool calls", calls.to_string()),
        ("Failed calls", failed.to_string()),
    ];
    if let Some(session) = outcome {
        let usage = &session.usage;
        numbers.push(("Time", duration(session.duration_ms)));
        numbers.push((
            "Tokens",
            format!(
                "{} in, {} out",
                short_count(usage.tokens_in()),
                short_count(usage.tokens_out())
            ),
        ));
        numbers.push(("Cost", cost(session.cost)));
        let model = session.model.as_deref();
        numbers.extend(model.map(|model| ("Model", single_line(model, 60))));
    }
    numbers
}

fn note(trace: &Trace, truncated: bool) -> String {
    let mut note = String::new();
    if truncated {
        note.push_str("The transcript is long: only its first part is shown. ");
    }
    if trace.skipped > 0 {
        let records = counted(trace.skipped as u64, "record");
        // Writing to a string cannot fail.
        let _ = write!(
            note,
            "{records} without a step; the raw transcript has them. "
        );
    }
    let has_times = trace.steps.iter().any(|step| step.time.is_some());
    if !has_times && !trace.steps.is_empty() {
        note.push_str("This agent reports no times: the steps are in order.");
    }
    note.trim_end().to_owned()
}

impl StepView {
    fn new(number: usize, step: &TraceStep, total: Option<u64>, left: &mut usize) -> Self {
        let mut cut = |text: &str, longest: usize| {
            let longest = if *left > 0 { longest } else { SHORT_CHARS };
            let mut shown: String = text.chars().take(longest).collect();
            *left = left.saturating_sub(shown.len());
            if shown.len() < text.len() {
                shown.push('…');
            }
            make_visible(&shown)
        };
        let class = match step.kind {
            TraceKind::Message => "message",
            TraceKind::Reasoning => "reasoning",
            TraceKind::Tool => "tool",
            TraceKind::Printed => "printed",
        };
        let chart = if step.is_error { "lost" } else { class };
        let took = step.time.map(|(from, to)| to.saturating_sub(from));
        let took = took.filter(|_| step.kind == TraceKind::Tool);
        let bar = step.time.zip(total).map(|((from, to), total)| {
            let number = |millis: u64| f64::from(u32::try_from(millis).unwrap_or(u32::MAX));
            let parts = [(chart, number(from), number(to.saturating_sub(from)))];
            let end = duration(to.saturating_sub(from));
            charts::span(
                &parts,
                number(total),
                &format!("from {} for {end}", duration(from)),
            )
        });
        let tokens = step.tokens.filter(|used| *used != (0, 0));
        let used = tokens.map(|(input, output)| {
            format!("{} in, {} out", short_count(input), short_count(output))
        });
        let paid = step.cost.map(|usd| format!("${usd:.4}"));
        let tokens: Vec<String> = used.into_iter().chain(paid).collect();
        let text = cut(&step.text, MESSAGE_CHARS);
        let message = match step.kind {
            TraceKind::Message => message(&text),
            _ => Markup::new(),
        };
        Self {
            number,
            class,
            turn: None,
            name: single_line(&step.name, 60),
            text,
            message,
            input: step
                .input
                .as_deref()
                .filter(|input| *input != step.text)
                .map(|input| cut(input, DETAIL_CHARS)),
            output: step
                .output
                .as_deref()
                .map(|output| cut(output, DETAIL_CHARS)),
            is_error: step.is_error,
            is_open: step.is_open,
            bar,
            took: took.map_or_else(String::new, duration),
            tokens: tokens.join(", "),
        }
    }
}

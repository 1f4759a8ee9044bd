//! Formats the verdicts of the tiers above the checks, for live output and for run details.

use selvedge_core::model::{GateReport, Judgement};
use selvedge_core::run::Attempt;

use crate::terminal::{one_line, style};
use selvedge_core::describe::{cost, gate_result, report_result};
use selvedge_core::format::duration;

/// Formats a tier's verdict, the judges' verdicts, and the issues that they report.
pub(crate) fn format_gate(gate: &GateReport) -> String {
    let sign = match (gate.passed, &gate.error) {
        (Some(true), _) => style::good("✓"),
        (Some(false), _) => style::bad("✗"),
        (None, None) => style::warning("?"),
        (None, Some(_)) => style::warning("!"),
    };
    let result = gate_result(gate);
    let mut facts = vec![duration(gate.duration_ms), cost(gate.cost())];
    if let Some(confidence) = gate.confidence {
        facts.insert(0, format!("confidence {confidence:.2}"));
    }
    let facts = style::dim(format!("· {}", facts.join(" · ")));
    let mut text = format!("  {sign} tier {} {result} {facts}\n", gate.tier);
    for judgement in &gate.judgements {
        text += &format!("    {}\n", format_judgement(judgement));
        for issue in &judgement.issues {
            text += &format!("      - {}\n", one_line(issue, 200));
        }
        if let Some(suggestion) = &judgement.suggestion {
            text += &format!("      suggestion: {}\n", one_line(suggestion, 200));
        }
    }
    text
}

/// Formats the result of an attempt that a tier above the checks does not pass.
pub(crate) fn format_held_back(attempt: &Attempt) -> Option<String> {
    let report = attempt.report.as_ref()?;
    report.blocking_gate()?;
    let result = report_result(report);
    Some(format!("  {}\n", style::warning(result)))
}

fn format_judgement(judgement: &Judgement) -> String {
    let mut judge = one_line(&judgement.judge, 40);
    if let Some(model) = &judgement.model {
        judge += &format!(" ({})", one_line(model, 40));
    }
    if judgement.same_model {
        judge += ", same model as the agent";
    }
    let verdict = match (judgement.passed, &judgement.error) {
        (Some(true), _) => "passes the work".to_owned(),
        (Some(false), _) => "rejects the work".to_owned(),
        (None, Some(error)) => one_line(error, 160),
        (None, None) => "no answer".to_owned(),
    };
    let confidence = judgement.confidence;
    let confidence = confidence
        .map(|it| format!(", confidence {it:.2}"))
        .unwrap_or_default();
    format!("{judge}: {verdict}{confidence}")
}

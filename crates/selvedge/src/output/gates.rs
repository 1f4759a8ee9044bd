//! What the tiers above the checks said, in lines: the same live and in the story of a run.

use selvedge_core::machine::Attempt;
use selvedge_core::model::{GateReport, Judgement};

use super::{one_line, style};
use selvedge_core::format::{cost, duration, gate_result, report_result};

/// A tier's verdict, then each judge's, then what is wrong.
pub(crate) fn format_gate(gate: &GateReport) -> String {
    let sign = match (gate.passed, &gate.error) {
        (Some(true), _) => style::good("✓"),
        (Some(false), _) => style::bad("✗"),
        (None, None) => style::warning("?"),
        (None, Some(_)) => style::warning("!"),
    };
    let word = gate_result(gate);
    let mut facts = vec![duration(gate.duration_ms), cost(gate.cost())];
    if let Some(confidence) = gate.confidence {
        facts.insert(0, format!("confidence {confidence:.2}"));
    }
    let facts = style::dim(format!("· {}", facts.join(" · ")));
    let mut text = format!("  {sign} tier {} {word} {facts}\n", gate.tier);
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

/// What an attempt comes to, in a line, where a tier above its checks does not pass it.
pub(crate) fn format_held_back(attempt: &Attempt) -> Option<String> {
    let report = attempt.report.as_ref()?;
    report.blocking_gate()?;
    let result = report_result(report);
    Some(format!("  {}\n", style::warning(result)))
}

fn format_judgement(judgement: &Judgement) -> String {
    let mut who = one_line(&judgement.judge, 40);
    if let Some(model) = &judgement.model {
        who += &format!(" ({})", one_line(model, 40));
    }
    if judgement.same_model {
        who += ", the model that did the work";
    }
    let word = match (judgement.passed, &judgement.error) {
        (Some(true), _) => "for it".to_owned(),
        (Some(false), _) => "against it".to_owned(),
        (None, Some(error)) => one_line(error, 160),
        (None, None) => "no answer".to_owned(),
    };
    let sure = judgement.confidence;
    let sure = sure.map(|it| format!(", {it:.2} sure")).unwrap_or_default();
    format!("{who}: {word}{sure}")
}

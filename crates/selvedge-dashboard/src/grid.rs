//! The grid of checks × attempts, with a row for each tier above the checks: shows at a glance what changed
//! between attempts.

use std::collections::BTreeSet;

use selvedge_core::describe::gate_result;
use selvedge_core::format::duration;
use selvedge_core::model::{CheckMarks, CheckReport, CheckStatus, GateReport};
use selvedge_core::run::{Attempt, Run};

use crate::text::single_line;

/// The result of one check in one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GridCell {
    /// `pass`, `fail`, `flaky` …: a class of the stylesheet.
    pub class: &'static str,
    /// A one-character sign.
    pub sign: &'static str,
    /// Description in words.
    pub words: String,
    /// Duration.
    pub took: String,
}

/// The results of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GridRow {
    /// Label for people.
    pub label: String,
    /// The baseline, if there is one, then one cell per attempt; `None` where the check did not run.
    pub cells: Vec<Option<GridCell>>,
}

/// The whole grid.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckGrid {
    /// Whether the first column is the baseline.
    pub baseline: bool,
    /// The numbers of the attempts.
    pub attempts: Vec<u32>,
    /// In the order of the plan; checks that were added later come last.
    pub rows: Vec<GridRow>,
}

impl CheckGrid {
    /// The grid of a run in its current state.
    pub fn from_run(run: &Run) -> Self {
        let baseline = run.baseline.as_ref().map(|it| it.checks.as_slice());
        let reports = run.attempts.iter();
        let reports = reports.map(|it| it.report.as_ref().map_or(&[][..], |it| &it.checks));
        let columns: Vec<&[CheckReport]> = baseline.into_iter().chain(reports).collect();
        let mut names: Vec<(&str, &str)> = Vec::new();
        for check in columns.iter().copied().flatten() {
            let name = check_name(check);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let row = |wanted: (&str, &str)| {
            let look = |column: &&[CheckReport]| {
                let found = column.iter().find(|check| check_name(check) == wanted);
                found.map(GridCell::from_check)
            };
            GridRow {
                label: single_line(wanted.1, 80),
                cells: columns.iter().map(look).collect(),
            }
        };
        let checks = names.into_iter().map(row);
        Self {
            baseline: baseline.is_some(),
            attempts: run.attempts.iter().map(|it| it.attempt_number).collect(),
            rows: checks.chain(tier_rows(run)).collect(),
        }
    }
}

/// A row for each tier above the checks that was used.
fn tier_rows(run: &Run) -> impl Iterator<Item = GridRow> {
    let gates = run.attempts.iter().flat_map(Attempt::gates);
    let tiers: BTreeSet<u8> = gates.map(|gate| gate.tier).collect();
    tiers.into_iter().map(|tier| {
        let before = run.baseline.iter().map(|_| None);
        let attempts = run.attempts.iter().map(|attempt| {
            let mut gates = attempt.gates().iter();
            gates
                .find(|gate| gate.tier == tier)
                .map(GridCell::from_gate)
        });
        GridRow {
            label: format!("tier {tier}"),
            cells: before.chain(attempts).collect(),
        }
    })
}

fn check_name(check: &CheckReport) -> (&str, &str) {
    (&check.target, check.label())
}

impl GridCell {
    /// The result of one check.
    pub fn from_check(check: &CheckReport) -> Self {
        let (class, sign, status) = match check.status {
            CheckStatus::Pass => ("pass", "✓", "passed"),
            CheckStatus::Fail => ("fail", "✗", "failed"),
            CheckStatus::Timeout => ("fail", "⧖", "timed out"),
            CheckStatus::Error => ("error", "!", "could not run"),
            CheckStatus::Skip => ("skip", "–", "not run"),
        };
        let class = if check.marks.flaky { "flaky" } else { class };
        let marks = marks(check.marks);
        let mut words = format!("{status} in {}", duration(check.duration_ms));
        for mark in &marks {
            words.push_str(", ");
            words.push_str(mark);
        }
        Self {
            class,
            sign,
            words,
            took: duration(check.duration_ms),
        }
    }

    /// The result of a tier above the checks.
    pub fn from_gate(gate: &GateReport) -> Self {
        let (class, sign) = match (gate.passed, &gate.error) {
            (Some(true), _) => ("pass", "✓"),
            (Some(false), _) => ("fail", "✗"),
            (None, None) => ("error", "?"),
            (None, Some(_)) => ("error", "!"),
        };
        let took = duration(gate.duration_ms);
        Self {
            class,
            sign,
            words: format!("{} in {took}", gate_result(gate)),
            took,
        }
    }
}

/// The marks next to a status, by their names on the wire.
pub fn marks(marks: CheckMarks) -> Vec<&'static str> {
    let all = [
        (marks.flaky, "flaky"),
        (marks.preexisting, "preexisting"),
        (marks.regression, "regression"),
        (marks.fixed, "fixed"),
        (marks.weakened, "weakened"),
        (marks.missing, "missing"),
    ];
    let set = all.into_iter().filter(|(is, _)| *is);
    set.map(|(_, name)| name).collect()
}

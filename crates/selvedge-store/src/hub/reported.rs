//! Reports of workers about attempts: whether a report passes, and the reports that an older worker submits only with
//! its result.

use selvedge_core::model::{Outcome, ReportStatus};
use selvedge_protocol::TaskResult;
use serde::Deserialize;
use serde_json::Value;

/// The part of a report that decides whether it passes. Other fields may have any form.
#[derive(Deserialize)]
struct ReportVerdict {
    status: ReportStatus,
    #[serde(default)]
    run_number: Option<u32>,
    #[serde(default)]
    gates: Vec<GateVerdict>,
}

#[derive(Deserialize)]
struct GateVerdict {
    #[serde(default)]
    passed: Option<bool>,
}

/// Whether this report shows that the attempt's work passed.
pub(super) fn is_passing(report: &Value, attempt_number: u32) -> bool {
    ReportVerdict::deserialize(report).is_ok_and(|verdict| {
        verdict.status == ReportStatus::Pass
            && verdict
                .run_number
                .is_none_or(|number| number == attempt_number)
            // A gate that could not decide has no `passed`: it has not accepted the work.
            && verdict.gates.iter().all(|gate| gate.passed == Some(true))
    })
}

/// Whether the result reports that nothing was checked: older workers call that verified.
pub(super) fn is_unchecked(result: &TaskResult) -> bool {
    let last = result.verification_report.as_ref();
    let last = last.or(result.verification_history.last());
    let verdict = last.and_then(|report| ReportVerdict::deserialize(report).ok());
    result.outcome == Outcome::Verified
        && verdict.is_some_and(|verdict| {
            matches!(verdict.status, ReportStatus::Skip | ReportStatus::AutoPass)
        })
}

/// The reports of a result by attempt, in order. A report without a number has the next one.
pub(super) fn numbered_reports(result: &TaskResult) -> Vec<(u32, &Value)> {
    let mut reports: Vec<(u32, &Value)> = Vec::new();
    let all = result.verification_history.iter();
    for report in all.chain(&result.verification_report) {
        let given = report.get("run_number").and_then(Value::as_u64);
        let number = match given.and_then(|number| u32::try_from(number).ok()) {
            Some(number) => number,
            // The last report of a history is also repeated outside of it.
            None if reports.last().is_some_and(|(_, last)| *last == report) => continue,
            None => reports
                .last()
                .map_or(1, |(number, _)| number.saturating_add(1)),
        };
        if number > 0 && reports.iter().all(|(known, _)| *known != number) {
            reports.push((number, report));
        }
    }
    reports.sort_by_key(|(number, _)| *number);
    reports
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn report_passes_only_for_its_own_attempt() {
        let report = |status: &str| json!({"status": status, "run_number": 2, "checks": "?"});
        assert!(is_passing(&report("pass"), 2));
        assert!(!is_passing(&report("pass"), 1));
        for status in ["fail", "skip", "auto_pass", "error", "PASS", ""] {
            assert!(!is_passing(&report(status), 2), "{status}");
        }
        let gates = |passed: Value| json!({"status": "pass", "gates": [{"passed": passed}]});
        assert!(is_passing(&gates(json!(true)), 1));
        assert!(!is_passing(&gates(Value::Null), 1));
        assert!(!is_passing(&json!({"status": "pass", "gates": [{}]}), 1));
        assert!(!is_passing(&gates(json!(false)), 1));
        assert!(!is_passing(&json!("pass"), 1));
    }

    #[test]
    fn numbered_reports_of_history_and_last_report() {
        let numbers = |report: Value, history: &[Value]| {
            let result = TaskResult {
                verification_report: Some(report).filter(|report| !report.is_null()),
                verification_history: history.to_vec(),
                ..TaskResult::without_run(Outcome::Verified, "")
            };
            let reports = numbered_reports(&result);
            reports
                .iter()
                .map(|(number, _)| *number)
                .collect::<Vec<_>>()
        };
        let numbered = |number: u32| json!({"run_number": number});
        assert_eq!(numbers(Value::Null, &[]), [0_u32; 0]);
        assert_eq!(numbers(json!({"status": "pass"}), &[]), [1]);
        assert_eq!(numbers(numbered(3), &[]), [3]);
        assert_eq!(numbers(numbered(2), &[numbered(2), numbered(1)]), [1, 2]);
        let same = json!({"status": "pass"});
        assert_eq!(numbers(same.clone(), &[json!({}), same]), [1, 2]);
        assert_eq!(numbers(Value::Null, &[numbered(0), json!({})]), [1]);
    }
}

//! Strict parser of a plug-in's answer: exactly one JSON object that does not contradict itself. Anything else is not
//! an answer, and never a pass.

use serde_json::Value;
use thiserror::Error;

use crate::model::{PLUGIN_VERSION, PluginReport, PluginStatus};

/// Maximum length of an answer, in bytes.
pub const MAX_ANSWER_BYTES: usize = 4 << 20;

/// Maximum number of failures that are kept; the next attempt receives the first of them.
const MAX_FAILURES: usize = 1_000;

/// Why an answer cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PluginReportError {
    /// It is empty.
    #[error("it wrote no answer to its standard output")]
    Empty,
    /// It is longer than any answer needs to be.
    #[error("its answer is longer than {MAX_ANSWER_BYTES} bytes")]
    TooLong,
    /// It is not the requested object.
    #[error("its answer is not a valid report: {0}")]
    NotAReport(String),
    /// It uses a different version of the contract.
    #[error("its answer has version {0} of the contract; this program supports {PLUGIN_VERSION}")]
    Version(u32),
    /// Another part of it contradicts its status.
    #[error("its answer contradicts itself: the status is `{0}`, but {1}")]
    Contradiction(&'static str, String),
    /// It failed without a reason.
    #[error(
        "its answer has the status `{0}`, but neither a `reason` nor `failures` with a `summary`"
    )]
    Unexplained(&'static str),
}

/// Parses an answer.
///
/// # Errors
///
/// See [`PluginReportError`].
pub fn parse(bytes: &[u8]) -> Result<PluginReport, PluginReportError> {
    if bytes.len() > MAX_ANSWER_BYTES {
        return Err(PluginReportError::TooLong);
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(PluginReportError::Empty);
    }
    let mut report: PluginReport = serde_json::from_slice(bytes)
        .map_err(|error| PluginReportError::NotAReport(error.to_string()))?;
    if report.v != PLUGIN_VERSION {
        return Err(PluginReportError::Version(report.v));
    }
    let contradiction = match report.status {
        PluginStatus::Pass => find_failure_claim(&report).map(|found| ("pass", found)),
        PluginStatus::Fail => find_success_claim(&report).map(|found| ("fail", found)),
        PluginStatus::Error => None,
    };
    if let Some((status, found)) = contradiction {
        return Err(PluginReportError::Contradiction(status, found));
    }
    report.reason = report.reason.filter(|it| !it.trim().is_empty());
    report
        .failures
        .retain(|it| !it.summary.trim().is_empty() || it.id.is_some() || it.file.is_some());
    match (report.status, report.failures.is_empty(), &report.reason) {
        (PluginStatus::Fail, true, None) => Err(PluginReportError::Unexplained("fail")),
        (PluginStatus::Error, _, None) => Err(PluginReportError::Unexplained("error")),
        _ => {
            report.failures.truncate(MAX_FAILURES);
            Ok(report)
        }
    }
}

/// Fields, in lower case, whose value is a verdict.
const VERDICTS: [&str; 14] = [
    "conclusion",
    "ok",
    "outcome",
    "pass",
    "passed",
    "result",
    "state",
    "status",
    "succeeded",
    "success",
    "successful",
    "valid",
    "verdict",
    "verified",
];

/// Fields that list failures, unless they are empty.
const FAILURE_FIELDS: [&str; 21] = [
    "error",
    "errored",
    "errors",
    "exitcode",
    "exitstatus",
    "fail",
    "failed",
    "failing",
    "failure",
    "failurecount",
    "failures",
    "fails",
    "finding",
    "findings",
    "invalid",
    "issue",
    "issues",
    "problem",
    "problems",
    "violation",
    "violations",
];

/// A part of an answer that reports a failure, other than its status. Unknown fields are ignored, except those that
/// would reverse the meaning of the answer.
fn find_failure_claim(report: &PluginReport) -> Option<String> {
    if !report.failures.is_empty() {
        return Some("`failures` is not empty".to_owned());
    }
    if let Some(tests) = &report.tests {
        let named = tests.failed_ids.ids.len() as u64 + tests.failed_ids.omitted;
        let failed = tests.failed.max(named);
        if failed > 0 {
            return Some(format!("`tests` counts {failed} failed"));
        }
        if tests.executed > 0 && tests.passed > tests.executed {
            let (passed, executed) = (tests.passed, tests.executed);
            return Some(format!("`tests` counts {passed} passed of {executed}"));
        }
    }
    let says_failed = |name: &str, value: &Value| {
        FAILURE_FIELDS.contains(&name) && !is_empty(value)
            || VERDICTS.contains(&name) && verdict(value) == Some(false)
    };
    find_unknown(report, says_failed)
}

/// A part of an answer that reports success, other than its status.
fn find_success_claim(report: &PluginReport) -> Option<String> {
    let says_passed =
        |name: &str, value: &Value| VERDICTS.contains(&name) && verdict(value) == Some(true);
    find_unknown(report, says_passed)
}

/// The first unknown field that meets the condition.
fn find_unknown(report: &PluginReport, is_meant: impl Fn(&str, &Value) -> bool) -> Option<String> {
    let mut unknown = report.unknown.iter();
    let (name, value) = unknown.find(|(name, value)| {
        let letters = name.chars().filter(|c| c.is_alphanumeric());
        is_meant(&letters.collect::<String>().to_lowercase(), value)
    })?;
    Some(format!("`{name}` is {value}"))
}

/// Reads a value as a verdict, if it is one.
fn verdict(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(is_good) => Some(*is_good),
        Value::String(text) => {
            let text = text.trim().to_lowercase();
            let begins = |words: &[&str]| words.iter().any(|word| text.starts_with(word));
            if text == "no" || begins(&["err", "fail", "false", "invalid", "reject"]) {
                return Some(false);
            }
            let is_good = text == "yes" || begins(&["ok", "pass", "success", "true", "valid"]);
            is_good.then_some(true)
        }
        _ => None,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(is_set) => !is_set,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => matches!(text.trim(), "" | "0" | "none" | "false"),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugin_report_must_be_complete_and_consistent() {
        let status = |text: &str| parse(text.as_bytes()).map(|it| it.status);
        assert_eq!(
            status(r#" {"v":1,"status":"pass"} "#),
            Ok(PluginStatus::Pass)
        );
        assert_eq!(
            status(r#"{"v":1,"status":"fail","failures":[{"summary":"x"}],"more":2}"#),
            Ok(PluginStatus::Fail)
        );
        assert_eq!(status(" \n"), Err(PluginReportError::Empty));
        assert_eq!(
            status(r#"{"v":2,"status":"pass"}"#),
            Err(PluginReportError::Version(2))
        );
        for fields in [
            r#""failures":[{"summary":"x"}]"#,
            r#""failures":[{}]"#,
            r#""tests":{"executed":2,"passed":1,"failed":1}"#,
            r#""tests":{"failed_ids":{"ids":["a"]}}"#,
            r#""tests":{"executed":1,"passed":2}"#,
            r#""passed":false"#,
            r#""Status":"fail""#,
            r#""exit_code":1"#,
            r#""errors":["x"]"#,
            r#""failure":{"summary":"x"}"#,
        ] {
            let answer = status(&format!(r#"{{"v":1,"status":"pass",{fields}}}"#));
            assert!(
                matches!(answer, Err(PluginReportError::Contradiction("pass", _))),
                "{fields}: {answer:?}"
            );
        }
        for fields in [
            r#""reason":"12 files""#,
            r#""tests":{"executed":2,"passed":2}"#,
            r#""errors":[],"ok":true,"exit_code":0,"verdict":"pass","took_ms":7,"note":"no failures""#,
        ] {
            let answer = status(&format!(r#"{{"v":1,"status":"pass",{fields}}}"#));
            assert_eq!(answer, Ok(PluginStatus::Pass), "{fields}");
        }
        assert_eq!(
            status(r#"{"v":1,"status":"fail","reason":" ","failures":[{}]}"#),
            Err(PluginReportError::Unexplained("fail"))
        );
        assert_eq!(
            status(r#"{"v":1,"status":"error"}"#),
            Err(PluginReportError::Unexplained("error"))
        );
        assert_eq!(
            status(r#"{"v":1,"status":"fail","reason":"x","passed":true}"#),
            Err(PluginReportError::Contradiction(
                "fail",
                "`passed` is true".to_owned()
            ))
        );
        for nonsense in [
            "all good",
            "{}",
            r#"{"v":1,"status":"passed"}"#,
            r#"{"v":1,"status":true}"#,
            r#"{"v":1,"status":"pass"} {"v":1,"status":"pass"}"#,
            r#"{"v":1,"status":"pass""#,
            r#"[{"v":1,"status":"pass"}]"#,
        ] {
            assert!(
                matches!(status(nonsense), Err(PluginReportError::NotAReport(_))),
                "{nonsense}"
            );
        }
        assert_eq!(
            parse(&vec![b' '; MAX_ANSWER_BYTES + 1]),
            Err(PluginReportError::TooLong)
        );
    }
}

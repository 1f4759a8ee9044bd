//! A plug-in's answer, read strictly: one JSON object, the whole of it, that does not contradict itself.
//! Whatever else comes is no answer, and above all no pass.

use thiserror::Error;

use crate::model::{PLUGIN_VERSION, PluginReport, PluginStatus};

/// Bytes of an answer that are read at all.
pub const LIMIT: usize = 4 << 20;

/// Failures that are kept; the first of them are what the next attempt is told.
const FAILURES: usize = 1_000;

/// Why an answer cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unusable {
    /// There is none.
    #[error("it answered nothing on its standard output")]
    Empty,
    /// It is longer than any answer need be.
    #[error("its answer is longer than {LIMIT} bytes")]
    TooLong,
    /// It is not the object that was asked for.
    #[error("its answer is not the report that was asked for: {0}")]
    NotAReport(String),
    /// It speaks another version of the contract.
    #[error("its answer is of version {0} of the contract; this program speaks {PLUGIN_VERSION}")]
    Version(u32),
    /// It passed, and says what is wrong.
    #[error("its answer says `pass` and names failures")]
    Contradiction,
    /// It failed, and says nothing of what is wrong.
    #[error(
        "its answer says `{0}` and not why: neither a `reason` nor `failures` with a `summary`"
    )]
    Unexplained(&'static str),
}

/// Reads an answer.
///
/// # Errors
///
/// See [`Unusable`].
pub fn parse(bytes: &[u8]) -> Result<PluginReport, Unusable> {
    if bytes.len() > LIMIT {
        return Err(Unusable::TooLong);
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Unusable::Empty);
    }
    let mut report: PluginReport =
        serde_json::from_slice(bytes).map_err(|error| Unusable::NotAReport(error.to_string()))?;
    if report.v != PLUGIN_VERSION {
        return Err(Unusable::Version(report.v));
    }
    report.reason = report.reason.filter(|it| !it.trim().is_empty());
    report
        .failures
        .retain(|it| !it.summary.trim().is_empty() || it.id.is_some() || it.file.is_some());
    match (report.status, report.failures.is_empty(), &report.reason) {
        (PluginStatus::Pass, false, _) => Err(Unusable::Contradiction),
        (PluginStatus::Fail, true, None) => Err(Unusable::Unexplained("fail")),
        (PluginStatus::Error, _, None) => Err(Unusable::Unexplained("error")),
        _ => {
            report.failures.truncate(FAILURES);
            Ok(report)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_report_that_makes_sense_is_an_answer() {
        let said = |text: &str| parse(text.as_bytes()).map(|it| it.status);
        assert_eq!(said(r#" {"v":1,"status":"pass"} "#), Ok(PluginStatus::Pass));
        assert_eq!(
            said(r#"{"v":1,"status":"fail","failures":[{"summary":"x"}],"more":2}"#),
            Ok(PluginStatus::Fail)
        );
        assert_eq!(said(" \n"), Err(Unusable::Empty));
        assert_eq!(
            said(r#"{"v":2,"status":"pass"}"#),
            Err(Unusable::Version(2))
        );
        assert_eq!(
            said(r#"{"v":1,"status":"pass","failures":[{"summary":"x"}]}"#),
            Err(Unusable::Contradiction)
        );
        assert_eq!(
            said(r#"{"v":1,"status":"fail","reason":" ","failures":[{}]}"#),
            Err(Unusable::Unexplained("fail"))
        );
        assert_eq!(
            said(r#"{"v":1,"status":"error"}"#),
            Err(Unusable::Unexplained("error"))
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
                matches!(said(nonsense), Err(Unusable::NotAReport(_))),
                "{nonsense}"
            );
        }
        assert_eq!(parse(&vec![b' '; LIMIT + 1]), Err(Unusable::TooLong));
    }
}

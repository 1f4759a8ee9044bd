//! Strict parser of a judge's answer: one JSON object with four fields. Anything else is not an answer, and never a
//! pass.

use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;

/// Maximum length of an answer, in bytes.
pub const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// Maximum number of issues that are kept; further ones add nothing.
const MAX_ISSUES: usize = 20;

/// The answer of a judge.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JudgeAnswer {
    /// Whether the task is done.
    pub passed: bool,
    /// The issues.
    pub issues: Vec<String>,
    /// Confidence of the judge, 0 to 1.
    pub confidence: f64,
    /// Suggested next step.
    #[serde(default)]
    pub suggestion: Option<String>,
}

/// JSON Schema of an answer, for providers that can constrain the model to it. The answer is parsed strictly in any
/// case.
pub fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "passed": {"type": "boolean"},
            "issues": {"type": "array", "items": {"type": "string"}},
            "confidence": {"type": "number", "minimum": 0, "maximum": 1},
            "suggestion": {"type": ["string", "null"]},
        },
        "required": ["passed", "issues", "confidence", "suggestion"],
        "additionalProperties": false,
    })
}

/// Why an answer cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ParseAnswerError {
    /// It is empty.
    #[error("the answer is empty")]
    Empty,
    /// It is much longer than any answer needs to be.
    #[error("the answer is {0} bytes long; the maximum is {MAX_ANSWER_BYTES}")]
    TooLong(usize),
    /// It is not just the requested JSON object.
    #[error("the answer is not the requested JSON object: {0}")]
    NotTheObject(String),
    /// The confidence is not between 0 and 1.
    #[error("`confidence` is not between 0 and 1")]
    Confidence,
    /// It rejects the work without a reason.
    #[error("`passed` is false and `issues` is empty")]
    Unexplained,
    /// It accepts the work, but lists issues.
    #[error("`passed` is true and `issues` is not empty")]
    Contradiction,
}

/// Parses an answer: only the object, optionally in a fenced block.
///
/// # Errors
/// See [`ParseAnswerError`].
pub fn parse(text: &str) -> Result<JudgeAnswer, ParseAnswerError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(ParseAnswerError::Empty);
    }
    if text.len() > MAX_ANSWER_BYTES {
        return Err(ParseAnswerError::TooLong(text.len()));
    }
    let mut answer: JudgeAnswer = serde_json::from_str(strip_fence(text))
        .map_err(|error| ParseAnswerError::NotTheObject(error.to_string()))?;
    if !(0.0..=1.0).contains(&answer.confidence) {
        return Err(ParseAnswerError::Confidence);
    }
    answer.issues.retain(|issue| !issue.trim().is_empty());
    answer.issues.truncate(MAX_ISSUES);
    if !answer.passed && answer.issues.is_empty() {
        return Err(ParseAnswerError::Unexplained);
    }
    if answer.passed && !answer.issues.is_empty() {
        return Err(ParseAnswerError::Contradiction);
    }
    answer.suggestion = answer.suggestion.filter(|text| !text.trim().is_empty());
    Ok(answer)
}

/// The content of a block that is fenced by backticks and is the whole text; otherwise the text itself.
fn strip_fence(text: &str) -> &str {
    let inside = || {
        let rest = text.strip_prefix("```")?.strip_suffix("```")?;
        let (language, body) = rest.split_once('\n')?;
        matches!(language.trim(), "" | "json").then_some(body)
    };
    inside().unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn judge_answer_is_read_alone_or_in_a_fence() {
        let object = r#"{"passed": false, "issues": ["no test"], "confidence": 0.8}"#;
        let answer = parse(object).unwrap();
        assert_eq!((answer.passed, answer.confidence), (false, 0.8));
        assert_eq!(
            parse(&format!("```json\n{object}\n```")),
            Ok(answer.clone())
        );
        assert_eq!(parse(&format!("\n```\n{object}\n```\n")), Ok(answer));
    }

    #[test]
    fn judge_answer_rejects_anything_else() {
        let long = format!(
            r#"{{"passed": true, "issues": [], "confidence": 1, "suggestion": "{}"}}"#,
            "x".repeat(2_000_000)
        );
        for text in [
            "",
            "It looks good to me!",
            r#"{"passed": "yes", "issues": [], "confidence": 1}"#,
            r#"{"passed": true}"#,
            r#"{"passed": true, "issues": [], "confidence": 1.5}"#,
            r#"{"passed": true, "issues": [], "confidence": -0.1}"#,
            r#"{"passed": true, "issues": [], "confidence": 1, "verdict": "pass"}"#,
            r#"{"passed": false, "issues": [" "], "confidence": 1}"#,
            r#"{"passed": true, "issues": ["no test"], "confidence": 1}"#,
            r#"{"passed": true, "passed": false, "issues": ["x"], "confidence": 1}"#,
            r#"I think: {"passed": true, "issues": [], "confidence": 1}"#,
            r#"{"passed": true, "issues": [], "confidence": 1} {"passed": false}"#,
            &long,
        ] {
            assert!(parse(text).is_err(), "{text:.80}");
        }
    }
}

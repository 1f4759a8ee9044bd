//! What the agent is told, from what the checks found and how often it was held back already.

use serde::Serialize;

/// What a look at the project came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HookCheckResult {
    /// All checks hold.
    Passed(String),
    /// Some do not: in a few words, and as the agent is to read it.
    Failed {
        /// "1 of 2 checks failed".
        reason: String,
        /// With digests.
        feedback: String,
    },
    /// They could not be run, which the agent cannot mend.
    NotRun(String),
    /// The project has no checks, or somebody else runs them.
    NoChecks,
}

/// What is said to the agent's program, as JSON; nothing at all lets the agent stop.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct HookResponse {
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<&'static str>,
    /// For the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// For the person.
    #[serde(rename = "systemMessage", skip_serializing_if = "Option::is_none")]
    system_message: Option<String>,
}

impl HookResponse {
    /// Whether the agent is held back.
    pub(crate) fn is_blocking(&self) -> bool {
        self.decision.is_some()
    }

    fn allow_stop(said: String) -> Self {
        Self {
            system_message: Some(said),
            ..Self::default()
        }
    }

    /// Lets the agent stop although its work is not verified, and says so.
    pub(crate) fn allow_unverified(reason: &str, why: &str) -> Self {
        Self::allow_stop(format!(
            "Selvedge: NOT VERIFIED: {reason}. It no longer holds the agent back: {why}"
        ))
    }
}

/// What to say. `blocks` is how often the agent was held back since a person last spoke to it,
/// `most` how often it may be.
pub(crate) fn decide_response(found: HookCheckResult, blocks: u32, most: u32) -> HookResponse {
    let (reason, feedback) = match found {
        HookCheckResult::Passed(reason) => {
            return HookResponse::allow_stop(format!("Selvedge: verified: {reason}"));
        }
        HookCheckResult::NotRun(reason) => {
            return HookResponse::allow_stop(format!("Selvedge: NOT VERIFIED: {reason}"));
        }
        HookCheckResult::NoChecks => return HookResponse::default(),
        HookCheckResult::Failed { reason, feedback } => (reason, feedback),
    };
    if blocks >= most {
        return HookResponse::allow_unverified(&reason, &format!("it did so {blocks} times"));
    }
    let number = blocks + 1;
    let last = if number == most {
        "\nThis is the last time that you are held back. If you cannot mend it, say plainly in your \
         final message that the work is not verified, and what still fails."
    } else {
        ""
    };
    HookResponse {
        decision: Some("block"),
        reason: Some(format!("{feedback}{last}")),
        system_message: Some(format!(
            "Selvedge: {reason}; held back {number} of {most} times"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failing() -> HookCheckResult {
        HookCheckResult::Failed {
            reason: "1 of 1 check failed".to_owned(),
            feedback: "the digest".to_owned(),
        }
    }

    #[test]
    fn it_blocks_as_often_as_it_may_and_then_gives_up_and_says_so() {
        let answers: Vec<HookResponse> = (0..5)
            .map(|blocks| decide_response(failing(), blocks, 3))
            .collect();
        let blocked: Vec<bool> = answers.iter().map(HookResponse::is_blocking).collect();
        assert_eq!(blocked, [true, true, true, false, false]);
        let reasons: Vec<_> = answers.iter().flat_map(|it| &it.reason).collect();
        assert!(reasons.iter().all(|it| it.starts_with("the digest")));
        let is_last = |reason: &&&String| reason.contains("last time");
        assert_eq!(reasons.iter().filter(is_last).count(), 1);
        assert!(
            answers[4]
                .system_message
                .as_ref()
                .unwrap()
                .contains("NOT VERIFIED")
        );
    }

    #[test]
    fn only_failing_checks_block() {
        for found in [
            HookCheckResult::Passed("2 checks passed".to_owned()),
            HookCheckResult::NotRun("the disk is full".to_owned()),
            HookCheckResult::NoChecks,
        ] {
            assert!(!decide_response(found, 0, 3).is_blocking());
        }
        assert_eq!(
            serde_json::to_string(&decide_response(HookCheckResult::NoChecks, 0, 3)).unwrap(),
            "{}"
        );
    }
}

//! Decides the hook's response from the results of the checks and the number of earlier blocks.

use serde::Serialize;

/// The result of running the project's checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HookCheckResult {
    /// All checks passed; contains a summary.
    Passed(String),
    /// Some checks failed.
    Failed {
        /// Summary for the user: `1 of 2 checks failed`.
        reason: String,
        /// Text for the agent, with digests.
        feedback: String,
    },
    /// The checks could not be run, which the agent cannot fix; contains the reason.
    NotRun(String),
    /// Nothing was checked, usually because the project has no checks.
    NoChecks,
}

/// The response to the agent's program, as JSON. An empty object lets the agent stop.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct HookResponse {
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<&'static str>,
    /// Text for the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Text for the user.
    #[serde(rename = "systemMessage", skip_serializing_if = "Option::is_none")]
    system_message: Option<String>,
}

impl HookResponse {
    pub(crate) fn is_blocking(&self) -> bool {
        self.decision.is_some()
    }

    fn allow_stop(message: String) -> Self {
        Self {
            system_message: Some(message),
            ..Self::default()
        }
    }

    /// Lets the agent stop although its work is not verified, and tells the user.
    pub(crate) fn allow_unverified(reason: &str, why: &str) -> Self {
        Self::allow_stop(format!(
            "Selvedge: NOT VERIFIED: {reason}. The agent is no longer blocked: {why}"
        ))
    }
}

/// Decides the response. `blocks` is how often the agent was blocked since the user's last message, `most` is the
/// limit.
pub(crate) fn decide_response(result: HookCheckResult, blocks: u32, limit: u32) -> HookResponse {
    let (reason, feedback) = match result {
        HookCheckResult::Passed(reason) => {
            return HookResponse::allow_stop(format!("Selvedge: verified: {reason}"));
        }
        HookCheckResult::NotRun(reason) => {
            return HookResponse::allow_stop(format!("Selvedge: NOT VERIFIED: {reason}"));
        }
        HookCheckResult::NoChecks => return HookResponse::default(),
        HookCheckResult::Failed { reason, feedback } => (reason, feedback),
    };
    if blocks >= limit {
        return HookResponse::allow_unverified(&reason, &format!("it was blocked {blocks} times"));
    }
    let number = blocks + 1;
    let last = if number == limit {
        "\nThis is the last time that you are blocked. If you cannot fix it, say plainly in your \
         final message that the work is not verified, and what still fails."
    } else {
        ""
    };
    HookResponse {
        decision: Some("block"),
        reason: Some(format!("{feedback}{last}")),
        system_message: Some(format!(
            "Selvedge: {reason}; blocked {number} of {limit} times"
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
    fn hook_blocks_up_to_its_limit() {
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
    fn hook_blocks_only_for_failing_checks() {
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

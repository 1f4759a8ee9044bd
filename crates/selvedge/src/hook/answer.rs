//! What the agent is told, from what the checks found and how often it was held back already.

use serde::Serialize;

/// What a look at the project came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// All checks hold.
    Holds(String),
    /// Some do not: in a few words, and as the agent is to read it.
    Fails {
        /// "1 of 2 checks failed".
        reason: String,
        /// With digests.
        feedback: String,
    },
    /// They could not be run, which the agent cannot mend.
    NotRun(String),
    /// The project has no checks, or somebody else runs them.
    Nothing,
}

/// What is said to the agent's program, as JSON; nothing at all lets the agent stop.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Answer {
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<&'static str>,
    /// For the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// For the person.
    #[serde(rename = "systemMessage", skip_serializing_if = "Option::is_none")]
    said: Option<String>,
}

impl Answer {
    /// Whether the agent is held back.
    pub(crate) fn is_block(&self) -> bool {
        self.decision.is_some()
    }

    fn stop(said: String) -> Self {
        Self {
            said: Some(said),
            ..Self::default()
        }
    }

    /// Lets the agent stop although its work is not verified, and says so.
    pub(crate) fn give_up(reason: &str, why: &str) -> Self {
        Self::stop(format!(
            "Selvedge: NOT VERIFIED: {reason}. It no longer holds the agent back: {why}"
        ))
    }
}

/// What to say. `blocks` is how often the agent was held back since a person last spoke to it,
/// `most` how often it may be.
pub(crate) fn answer(found: Found, blocks: u32, most: u32) -> Answer {
    let (reason, feedback) = match found {
        Found::Holds(reason) => return Answer::stop(format!("Selvedge: verified: {reason}")),
        Found::NotRun(reason) => return Answer::stop(format!("Selvedge: NOT VERIFIED: {reason}")),
        Found::Nothing => return Answer::default(),
        Found::Fails { reason, feedback } => (reason, feedback),
    };
    if blocks >= most {
        return Answer::give_up(&reason, &format!("it did so {blocks} times"));
    }
    let number = blocks + 1;
    let last = if number == most {
        "\nThis is the last time that you are held back. If you cannot mend it, say plainly in your \
         final message that the work is not verified, and what still fails."
    } else {
        ""
    };
    Answer {
        decision: Some("block"),
        reason: Some(format!("{feedback}{last}")),
        said: Some(format!(
            "Selvedge: {reason}; held back {number} of {most} times"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failing() -> Found {
        Found::Fails {
            reason: "1 of 1 check failed".to_owned(),
            feedback: "the digest".to_owned(),
        }
    }

    #[test]
    fn it_blocks_as_often_as_it_may_and_then_gives_up_and_says_so() {
        let answers: Vec<Answer> = (0..5).map(|blocks| answer(failing(), blocks, 3)).collect();
        let blocked: Vec<bool> = answers.iter().map(Answer::is_block).collect();
        assert_eq!(blocked, [true, true, true, false, false]);
        let reasons: Vec<_> = answers.iter().flat_map(|it| &it.reason).collect();
        assert!(reasons.iter().all(|it| it.starts_with("the digest")));
        let is_last = |reason: &&&String| reason.contains("last time");
        assert_eq!(reasons.iter().filter(is_last).count(), 1);
        assert!(answers[4].said.as_ref().unwrap().contains("NOT VERIFIED"));
    }

    #[test]
    fn only_failing_checks_block() {
        for found in [
            Found::Holds("2 checks passed".to_owned()),
            Found::NotRun("the disk is full".to_owned()),
            Found::Nothing,
        ] {
            assert!(!answer(found, 0, 3).is_block());
        }
        assert_eq!(
            serde_json::to_string(&answer(Found::Nothing, 0, 3)).unwrap(),
            "{}"
        );
    }
}

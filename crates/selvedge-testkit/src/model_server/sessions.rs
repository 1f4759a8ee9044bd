//! Assigns scripted turns to requests: pure bookkeeping over the requests so far.
//!
//! A client that names its session (Claude Code does, in a header) is identified by that name. For all
//! others a session is a conversation: it opens with a request that contains no output of the model
//! yet, and is identified by its first prompt. Until one of its turns has succeeded, a repeated opening
//! request is a retry by the client, not a second session.

use super::request::{RecordedRequest, ReplySource};
use super::script::{ModelScript, ScriptedTurn};

/// The header in which Claude Code names its session.
pub(crate) const SESSION_HEADER: &str = "x-claude-code-session-id";

#[derive(Debug)]
pub(crate) struct ScriptedSessions {
    pub(crate) script: ModelScript,
    opened: Vec<OpenedSession>,
}

/// A turn that answers a request, with its position in the script, counted from 1.
#[derive(Debug)]
pub(crate) struct AssignedTurn {
    pub(crate) session: usize,
    pub(crate) number: usize,
    /// None if the script has no turn left for this session.
    pub(crate) turn: Option<ScriptedTurn>,
}

impl AssignedTurn {
    pub(crate) fn reply_source(&self) -> ReplySource {
        let (session, turn) = (self.session, self.number);
        match self.turn {
            Some(_) => ReplySource::Turn { session, turn },
            None => ReplySource::NothingLeft { session, turn },
        }
    }

    /// Error message for a client that needs more turns than the script has.
    pub(crate) fn exhausted_message(&self) -> String {
        format!(
            "the script has no turn {} for session {}",
            self.number, self.session
        )
    }
}

#[derive(Debug)]
struct OpenedSession {
    identity: SessionIdentity,
    turns_taken: usize,
    has_succeeded: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum SessionIdentity {
    Named(String),
    Prompt(String),
}

impl SessionIdentity {
    fn of(request: &RecordedRequest) -> Self {
        match request.headers.get(SESSION_HEADER) {
            Some(name) => Self::Named(name.clone()),
            None => Self::Prompt(request.prompt()),
        }
    }
}

impl ScriptedSessions {
    pub(crate) fn new(script: ModelScript) -> Self {
        Self {
            script,
            opened: Vec::new(),
        }
    }

    /// Takes the turn that answers `request`.
    pub(crate) fn take_turn(&mut self, request: &RecordedRequest) -> AssignedTurn {
        let index = self.session_of(request);
        let scripted = self.script.sessions.get(index).map(Vec::as_slice);
        let opened = &mut self.opened[index];
        let turn = scripted
            .unwrap_or_default()
            .get(opened.turns_taken)
            .cloned();
        opened.turns_taken += 1;
        opened.has_succeeded |= turn.as_ref().is_some_and(|turn| turn.fault.is_none());
        AssignedTurn {
            session: index + 1,
            number: opened.turns_taken,
            turn,
        }
    }

    /// Number of scripted turns that were not requested.
    pub(crate) fn turns_left(&self) -> usize {
        let taken = |index| {
            self.opened
                .get(index)
                .map_or(0, |opened: &OpenedSession| opened.turns_taken)
        };
        let left =
            |(index, turns): (usize, &Vec<ScriptedTurn>)| turns.len().saturating_sub(taken(index));
        self.script.sessions.iter().enumerate().map(left).sum()
    }

    fn session_of(&mut self, request: &RecordedRequest) -> usize {
        let identity = SessionIdentity::of(request);
        let goes_on = |opened: &OpenedSession| {
            opened.identity == identity
                && (matches!(identity, SessionIdentity::Named(_))
                    || request.has_model_turn()
                    || !opened.has_succeeded)
        };
        self.opened.iter().rposition(goes_on).unwrap_or_else(|| {
            self.opened.push(OpenedSession {
                identity,
                turns_taken: 0,
                has_succeeded: false,
            });
            self.opened.len() - 1
        })
    }
}

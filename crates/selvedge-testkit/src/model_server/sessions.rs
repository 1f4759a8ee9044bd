//! Which scripted turn answers which request: pure bookkeeping over the requests seen so far.
//!
//! A client that names its session (Claude Code does, in a header) is taken at its word. For all
//! others a session is a conversation: it opens with a request in which the model has not spoken
//! yet, and is known again by its first prompt. While none of its turns has succeeded, the same
//! opening request is the client trying again, not a second session.

use super::request::{Answer, Request};
use super::script::{Script, Turn};

/// How Claude Code names its session.
pub(crate) const SESSION_HEADER: &str = "x-claude-code-session-id";

#[derive(Debug)]
pub(crate) struct Sessions {
    pub(crate) script: Script,
    opened: Vec<Opened>,
}

#[derive(Debug)]
struct Opened {
    identity: Identity,
    turns_taken: usize,
    has_succeeded: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Identity {
    Named(String),
    Prompt(String),
}

impl Identity {
    fn of(request: &Request) -> Self {
        match request.headers.get(SESSION_HEADER) {
            Some(name) => Self::Named(name.clone()),
            None => Self::Prompt(request.prompt()),
        }
    }
}

impl Sessions {
    pub(crate) fn new(script: Script) -> Self {
        Self {
            script,
            opened: Vec::new(),
        }
    }

    /// Takes the turn that answers `request`; no turn when the script has none left for it.
    pub(crate) fn take_turn(&mut self, request: &Request) -> (Answer, Option<Turn>) {
        let index = self.session_of(request);
        let scripted = self
            .script
            .sessions
            .get(index)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let opened = &mut self.opened[index];
        let turn = scripted.get(opened.turns_taken).cloned();
        opened.turns_taken += 1;
        let (session, number) = (index + 1, opened.turns_taken);
        match turn {
            Some(turn) => {
                opened.has_succeeded |= turn.fault.is_none();
                (
                    Answer::Turn {
                        session,
                        turn: number,
                    },
                    Some(turn),
                )
            }
            None => (
                Answer::NothingLeft {
                    session,
                    turn: number,
                },
                None,
            ),
        }
    }

    /// How many scripted turns nobody has asked for.
    pub(crate) fn turns_left(&self) -> usize {
        let taken = |index| {
            self.opened
                .get(index)
                .map_or(0, |opened: &Opened| opened.turns_taken)
        };
        let left = |(index, turns): (usize, &Vec<Turn>)| turns.len().saturating_sub(taken(index));
        self.script.sessions.iter().enumerate().map(left).sum()
    }

    fn session_of(&mut self, request: &Request) -> usize {
        let identity = Identity::of(request);
        let goes_on = |opened: &Opened| {
            opened.identity == identity
                && (matches!(identity, Identity::Named(_))
                    || request.has_model_turn()
                    || !opened.has_succeeded)
        };
        self.opened.iter().rposition(goes_on).unwrap_or_else(|| {
            self.opened.push(Opened {
                identity,
                turns_taken: 0,
                has_succeeded: false,
            });
            self.opened.len() - 1
        })
    }
}

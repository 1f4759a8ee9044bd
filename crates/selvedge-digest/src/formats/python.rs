//! Python's tracebacks outside of any test runner, of Python 2 and 3: a program that an exception
//! ended. Exceptions that were raised for one another are one failure, which is the last of them.
//!
//! Programs that go on print tracebacks, too, of what they handled. A program has ended where the log
//! does, or where who called it complains in the next line; other tracebacks are left to the general
//! signals, so no line is claimed before that is known.

use std::sync::LazyLock;

use regex::Regex;

use super::place::{is_foreign, python_frame};
use super::{Claim, Format};
use crate::findings::{Draft, Findings};
use crate::line::{Line, Signals};
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "python";
const HEADING: &str = "Traceback (most recent call last):";
/// How the next traceback is announced where it has to do with the one before.
const CHAINS: [&str; 2] = [
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
];

/// What the next line speaks of where the program was the last thing to be done.
const COMPLAINT: Signals = Signals::ERROR
    .with(Signals::FAIL)
    .with(Signals::FATAL)
    .with(Signals::EXIT);

/// Where in a traceback the next line stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Part {
    /// Among the frames.
    #[default]
    Frames,
    /// Below the exception; another one may have been raised for it.
    Ended,
    /// It is announced that another one was.
    Chained,
    /// Among the exceptions of a group, which are drawn below it.
    Group,
}

/// Reads tracebacks.
#[derive(Debug, Default)]
pub(super) struct Python {
    draft: Option<Draft>,
    part: Part,
}

/// `ValueError: message`, `shop.errors.Closed`, `KeyError: u'linen'`
static EXCEPTION: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[A-Za-z_][\w.]*(?:: .*)?$"));

impl Format for Python {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        if let Some(before) = line.text.strip_suffix(HEADING) {
            self.begin(before, line);
            return Claim::Foreign;
        }
        match self.part {
            _ if self.draft.is_none() => {}
            Part::Frames => self.frame(line),
            _ if line.is_blank() => {}
            Part::Ended if CHAINS.contains(&line.text) => {
                self.part = Part::Chained;
                self.excerpt(line);
            }
            Part::Group if line.indent() > 0 && line.body().starts_with(['|', '+']) => {
                self.excerpt(line);
            }
            _ if line.signals.intersects(COMPLAINT) => self.close(findings),
            _ => self.draft = None,
        }
        Claim::Foreign
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        // One that has no exception yet may be anything.
        if self.part != Part::Frames {
            self.close(findings);
        }
    }
}

impl Python {
    /// A traceback begins; `before` stands before its heading.
    fn begin(&mut self, before: &str, line: &Line<'_>) {
        if !matches!(before, "" | "  + Exception Group ") {
            return;
        }
        let earlier = self.draft.take().filter(|_| self.part == Part::Chained);
        let mut draft = earlier.unwrap_or_else(|| Draft::new(FailureKind::Runtime, TOOL, line));
        draft.failure.message = None;
        draft.excerpt(line);
        self.draft = Some(draft);
        self.part = Part::Frames;
    }

    fn frame(&mut self, line: &Line<'_>) {
        let Some(draft) = &mut self.draft else {
            return;
        };
        let grouped = line.text.strip_prefix("  | ");
        let text = grouped.unwrap_or(line.text);
        if let Some(place) = python_frame(text) {
            if !is_foreign(place.file) {
                draft.place_again(place.file, place.line, None);
                draft.excerpt(line);
            }
        } else if text.starts_with(' ') {
            draft.excerpt(line);
        } else if EXCEPTION.is_match(text) {
            draft.message(text);
            draft.excerpt(line);
            self.part = match grouped {
                Some(_) => Part::Group,
                None => Part::Ended,
            };
        } else {
            self.draft = None;
        }
    }

    fn excerpt(&mut self, line: &Line<'_>) {
        if let Some(draft) = &mut self.draft {
            draft.excerpt(line);
        }
    }

    fn close(&mut self, findings: &mut Findings) {
        if self.draft.is_some() {
            findings.tool(TOOL);
            findings.close(&mut self.draft);
        }
    }
}

//! Common parts of the JVM's test runners: a failed test is a heading, an exception with its message, and the
//! frames of its stack, of which one is in the class of the test.

use super::prelude::*;

/// How many lines below a heading are read.
const BODY_LINES: u32 = 40;

/// A failed test that is being read.
#[derive(Debug, Default)]
pub(super) struct JavaTestFailure {
    draft: Option<FailureBuilder>,
    lines: u32,
}

static FRAME: LinePattern =
    LinePattern::new(r"^(?:at )?(?P<method>[\w.$<>/@]+)\((?P<file>\w+\.\w+):(?P<line>\d+)\)");
/// Gradle's short form.
static AT: LinePattern = LinePattern::new(
    r"^(?P<message>[\w.$]+(?:Exception|Error|Failure|Failed)\w*(?:: .*)?) at (?P<file>\w+\.\w+):(?P<line>\d+)$",
);

impl JavaTestFailure {
    /// The heading of a failed test; its id may still lack the class.
    pub(super) fn begin(
        &mut self,
        tool: &'static str,
        id: &str,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) {
        self.close(findings);
        self.draft = Some(FailureBuilder::test(tool, id, line));
        self.lines = 0;
    }

    pub(super) fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    /// Whether only the heading was read so far.
    pub(super) fn has_only_heading(&self) -> bool {
        self.draft.is_some() && self.lines == 0
    }

    /// Replaces the id by a more complete one.
    pub(super) fn set_id(&mut self, id: &str) {
        if let Some(draft) = &mut self.draft {
            draft.failure.id = Some(id.to_owned());
        }
    }

    /// Discards the failure: it was not one.
    pub(super) fn discard(&mut self) {
        self.draft = None;
    }

    /// Reads a line below the heading; `text` is the line without the tool's prefix.
    pub(super) fn parse_body(
        &mut self,
        text: &str,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) -> LineClaim {
        let Some(draft) = &mut self.draft else {
            return LineClaim::NotMine;
        };
        self.lines += 1;
        let text = text.trim_start();
        if self.lines > BODY_LINES || text.is_empty() && draft.failure.message.is_some() {
            self.close(findings);
            return LineClaim::NotMine;
        }
        if let Some(place) = AT.captures(text) {
            draft.push_message(&place["message"]);
            draft.locate(&place);
            draft.push_excerpt(line);
        } else if let Some(frame) = FRAME.captures(text) {
            if match_own_frame(draft, &frame["method"]) {
                draft.locate(&frame);
                draft.push_excerpt(line);
            } else {
                draft.skip_line(line);
            }
        } else if ["at ", "... ", "[..."]
            .iter()
            .any(|start| text.starts_with(start))
            || ["(Native Method)", "(Unknown Source)"]
                .iter()
                .any(|end| text.ends_with(end))
        {
            draft.skip_line(line);
        } else {
            draft.push_message(text.trim_start_matches("=> "));
            draft.push_excerpt(line);
        }
        LineClaim::Evidence
    }

    /// Records the failure, which is complete.
    pub(super) fn close(&mut self, findings: &mut Findings) {
        if let Some(draft) = self.draft.take() {
            findings.add_tool(draft.tool);
            findings.add_test(draft);
        }
    }
}

/// Whether a frame is in the class of the test. An id without a class takes it from the frame.
fn match_own_frame(draft: &mut FailureBuilder, method: &str) -> bool {
    let Some(id) = &mut draft.failure.id else {
        return false;
    };
    let (class, name) = method.rsplit_once('.').unwrap_or((method, ""));
    let test = id.split(['(', '[', '{', ' ']).next().unwrap_or(id);
    if !test.contains('.') {
        let own = test == name;
        if own {
            *id = format!("{class}.{id}");
        }
        return own;
    }
    let class = class.split('$').next().unwrap_or(class);
    id.find(class).is_some_and(|at| {
        // `shop.Cart` is not the class of `shop.CartTest.sums`.
        let rest = &id[at + class.len()..];
        !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
    })
}

//! PHPUnit's testdox: the name of each test as a sentence below that of its class, and what failed in
//! a box below it. Its closing totals are those of [its other reports](super::numbered).

use super::place::{colon_frame, is_foreign};
use super::{Claim, Format};
use crate::findings::{Draft, Findings, Outcome};
use crate::line::Line;
use crate::record::FailureKind;

const TOOL: &str = "phpunit";

/// Reads testdox.
#[derive(Debug, Default)]
pub(super) struct Testdox {
    draft: Option<Draft>,
    /// The first line of the box was seen: it is no other runner's tree.
    boxed: bool,
}

impl Format for Testdox {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        if line.text.starts_with("PHPUnit ")
            && line
                .text
                .ends_with(" by Sebastian Bergmann and contributors.")
        {
            findings.tool(TOOL);
            return Claim::Noise;
        }
        if let Some(draft) = &mut self.draft {
            if let Some(text) = line.body().strip_prefix('│') {
                self.boxed = true;
                inside(draft, text, line);
                return Claim::Evidence;
            }
            self.close(findings);
        }
        if line.indent() != 1 || !findings.knows_tool(TOOL) {
            return Claim::Foreign;
        }
        let Some((mark, sentence)) = line.body().split_once(' ') else {
            return Claim::Foreign;
        };
        let id = format!("{} > {sentence}", line.heading);
        let outcome = match mark {
            "✘" => {
                let mut draft = Draft::new(FailureKind::Test, TOOL, line);
                draft.failure.id = Some(id);
                self.draft = Some(draft);
                self.boxed = false;
                return Claim::Evidence;
            }
            "✔" | "☢" => Outcome::Passed,
            "↩" | "∅" => Outcome::Skipped,
            _ => return Claim::Foreign,
        };
        findings.runs.test(TOOL, outcome, Some(&id));
        Claim::Noise
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl Testdox {
    fn close(&mut self, findings: &mut Findings) {
        if let Some(draft) = self.draft.take().filter(|_| self.boxed) {
            findings.add_test(TOOL, draft);
        }
    }
}

/// A line of the box: the message, a diff, or a frame.
fn inside(draft: &mut Draft, text: &str, line: &Line<'_>) {
    let text = text.strip_prefix(' ').unwrap_or(text);
    match colon_frame(text).filter(|_| text.starts_with('/')) {
        Some(place) if is_foreign(place.file) => {}
        Some(place) => draft.place(place.file, place.line, None),
        None => draft.message(text),
    }
    draft.skip(line);
}

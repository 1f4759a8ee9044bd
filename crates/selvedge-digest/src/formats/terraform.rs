//! Terraform and OpenTofu: `Error: summary`, the place below, indented, then the source and the
//! explanation; in a terminal a line is drawn down the left of it all.

use std::sync::LazyLock;

use regex::Regex;

use super::{Claim, Format};
use crate::findings::{Draft, Findings};
use crate::line::Line;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "terraform";

/// Reads the errors of Terraform.
#[derive(Debug, Default)]
pub(super) struct Terraform {
    draft: Option<Draft>,
    part: Part,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Below the summary; without a drawn line it may be any tool's.
    #[default]
    Summary,
    Drawn,
    /// Below the place.
    Source,
    Detail,
}

static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^  on (?P<file>\S+\.(?:tf|tofu|tfvars|hcl)(?:\.json)?) line (?P<line>\d+)(?:, in (?P<block>.+?))?:$",
    )
});

impl Format for Terraform {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let drawn = line.text.strip_prefix('│');
        let text = drawn.map_or(line.text, |rest| rest.strip_prefix(' ').unwrap_or(rest));
        if let Some(summary) = text.strip_prefix("Error: ") {
            self.close(findings);
            let mut draft = Draft::new(FailureKind::Compile, TOOL, line);
            draft.message(summary);
            draft.excerpt(line);
            self.draft = Some(draft);
            self.part = if drawn.is_some() {
                Part::Drawn
            } else {
                Part::Summary
            };
            return if drawn.is_some() {
                Claim::Evidence
            } else {
                Claim::Foreign
            };
        }
        let Some(draft) = &mut self.draft else {
            return Claim::Foreign;
        };
        if let Some(place) = PLACE.captures(text) {
            draft.failure.id = place.name("block").map(|block| block.as_str().to_owned());
            draft.place(&place["file"], place["line"].parse().ok(), None);
            draft.excerpt(line);
            self.part = Part::Source;
            return Claim::Evidence;
        }
        let ends = line.text.starts_with('╵') || drawn.is_none() && self.part == Part::Detail;
        match self.part {
            _ if ends && text.is_empty() || line.text.starts_with('╵') => {
                self.close(findings);
                return Claim::Noise;
            }
            Part::Summary if !text.is_empty() => {
                self.draft = None;
                return Claim::Foreign;
            }
            Part::Summary => return Claim::Foreign,
            Part::Source if !text.is_empty() && !text.starts_with(' ') => self.part = Part::Detail,
            _ => {}
        }
        if self.part != Part::Source && !text.is_empty() {
            draft.message(text);
        }
        draft.excerpt(line);
        Claim::Evidence
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl Terraform {
    fn close(&mut self, findings: &mut Findings) {
        if let Some(draft) = self.draft.take().filter(|_| self.part != Part::Summary) {
            findings.tool(TOOL);
            findings.add(draft.found());
        }
    }
}

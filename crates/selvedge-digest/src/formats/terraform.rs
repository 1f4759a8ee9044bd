//! Terraform and OpenTofu: `Error: summary`, the place below, indented, then the source and the
//! explanation; in a terminal, a vertical line is drawn to the left of all lines.

use super::prelude::*;

const TOOL: &str = "terraform";

/// Reads the errors of Terraform.
#[derive(Debug, Default)]
pub(super) struct TerraformParser {
    draft: Option<FailureBuilder>,
    section: TerraformSection,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum TerraformSection {
    /// Below the summary; without a drawn line it may belong to any tool.
    #[default]
    Summary,
    Drawn,
    /// Below the place.
    Source,
    Detail,
}

static LOCATION: LinePattern = LinePattern::new(
    r"^  on (?P<file>\S+\.(?:tf|tofu|tfvars|hcl)(?:\.json)?) line (?P<line>\d+)(?:, in (?P<block>.+?))?:$",
);

impl FormatParser for TerraformParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let drawn = line.text.strip_prefix('│');
        let text = drawn.map_or(line.text, |rest| rest.strip_prefix(' ').unwrap_or(rest));
        if let Some(summary) = text.strip_prefix("Error: ") {
            self.close(findings);
            let draft = FailureBuilder::with_message(FailureKind::Compile, TOOL, summary, line);
            self.draft = Some(draft);
            self.section = if drawn.is_some() {
                TerraformSection::Drawn
            } else {
                TerraformSection::Summary
            };
            return if drawn.is_some() {
                LineClaim::Evidence
            } else {
                LineClaim::NotMine
            };
        }
        let Some(draft) = &mut self.draft else {
            return LineClaim::NotMine;
        };
        if let Some(place) = LOCATION.captures(text) {
            draft.failure.id = place.get("block").map(str::to_owned);
            draft.locate(&place);
            draft.push_excerpt(line);
            self.section = TerraformSection::Source;
            return LineClaim::Evidence;
        }
        let ends = line.text.starts_with('╵')
            || drawn.is_none() && self.section == TerraformSection::Detail;
        match self.section {
            _ if ends && text.is_empty() || line.text.starts_with('╵') => {
                self.close(findings);
                return LineClaim::Ignore;
            }
            TerraformSection::Summary if !text.is_empty() => {
                self.draft = None;
                return LineClaim::NotMine;
            }
            TerraformSection::Summary => return LineClaim::NotMine,
            TerraformSection::Source if !text.is_empty() && !text.starts_with(' ') => {
                self.section = TerraformSection::Detail;
            }
            _ => {}
        }
        if self.section != TerraformSection::Source && !text.is_empty() {
            draft.push_message(text);
        }
        draft.push_excerpt(line);
        LineClaim::Evidence
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl TerraformParser {
    fn close(&mut self, findings: &mut Findings) {
        if let Some(draft) = self
            .draft
            .take()
            .filter(|_| self.section != TerraformSection::Summary)
        {
            findings.add_tool(TOOL);
            findings.add(draft.build());
        }
    }
}

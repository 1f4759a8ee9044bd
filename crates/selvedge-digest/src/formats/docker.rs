//! `docker build`, with BuildKit's plain progress and with the legacy builder: the failed step, its output,
//! and Dockerfiles that do not parse.

use std::sync::LazyLock;

use regex::Regex;

use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, Findings};
use crate::line::CleanLine;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "docker build";
/// Maximum number of steps that are remembered by their numbers.
const STEPS: usize = 200;
/// Maximum number of lines that are read of a step's output.
const BODY_LINES: u32 = 20;

/// Reads the errors of image builds.
#[derive(Debug, Default)]
pub(super) struct DockerParser {
    draft: Option<FailureBuilder>,
    lines: u32,
    /// The steps of BuildKit by their numbers, or the last step of the legacy builder.
    steps: Vec<(String, String)>,
    file: Option<String>,
}

static STEP: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^(?:#(?P<number>\d+) (?P<step>\[.*\d+/\d+\] \S.*)|Step \d+/\d+ : (?P<old>\S.*))$")
});
static ERROR: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^#(?P<number>\d+) ERROR: (?P<message>\S.*)$"));
static PARSE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"[Dd]ockerfile parse error (?:on )?line (?P<line>\d+): (?P<message>\S.*)$")
});
static OLD: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?P<message>The command '.*' returned a non-zero code: \d+|(?:COPY|ADD) failed: \S.*)$",
    )
});
/// The place of the step in its file, in newer builders.
static LOCATION: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?P<file>\S*Dockerfile[^\s:]*):(?P<line>\d+)$"));

impl FormatParser for DockerParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        if (text.starts_with('#') || text.starts_with("Step "))
            && let Some(claim) = self.parse_progress(line, findings)
        {
            return claim;
        }
        if text.contains("ockerfile parse error")
            && let Some(error) = PARSE.captures(text)
        {
            self.begin(None, &error["message"], line, findings);
            let file = self.file.clone().unwrap_or_else(|| "Dockerfile".to_owned());
            if let Some(draft) = &mut self.draft {
                draft.set_location(&file, error["line"].parse().ok(), None);
                draft.push_excerpt(line);
            }
            self.finish(findings);
            return LineClaim::Evidence;
        }
        if !self.steps.is_empty()
            && let Some(error) = OLD.captures(text)
        {
            let step = self.steps.pop().map(|(_, step)| step);
            self.begin(step, &error["message"], line, findings);
            self.finish(findings);
            return LineClaim::Evidence;
        }
        self.parse_body(line, findings)
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        findings.add_draft(&mut self.draft);
    }
}

impl DockerParser {
    /// A step begins or fails, or the file is named.
    fn parse_progress(
        &mut self,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) -> Option<LineClaim> {
        if let Some(step) = STEP.captures(line.text) {
            self.record_step(&step);
            return Some(LineClaim::Ignore);
        }
        if let Some((_, file)) = line.text.split_once(" load build definition from ") {
            self.file = Some(file.to_owned());
            return Some(LineClaim::Ignore);
        }
        let error = ERROR.captures(line.text)?;
        let step = self
            .steps
            .iter()
            .find(|(known, _)| *known == error["number"]);
        let step = step.map(|(_, step)| step.clone());
        self.begin(step, &error["message"], line, findings);
        Some(LineClaim::Evidence)
    }

    fn record_step(&mut self, step: &regex::Captures<'_>) {
        let get = |name: &str| {
            step.name(name)
                .map_or("", |group| group.as_str())
                .to_owned()
        };
        let (number, name) = (get("number"), get("step"));
        if number.is_empty() {
            self.steps = vec![(String::new(), get("old"))];
        } else if self.steps.len() < STEPS && !self.steps.iter().any(|(known, _)| *known == number)
        {
            self.steps.push((number, name));
        }
    }

    fn begin(
        &mut self,
        step: Option<String>,
        message: &str,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) {
        self.finish(findings);
        findings.add_tool(TOOL);
        let mut draft = FailureBuilder::new(FailureKind::Compile, TOOL, line);
        draft.failure.id = step;
        draft.push_message(message);
        self.draft = Some(draft);
        self.lines = 0;
    }

    /// The output of the step is repeated below its name, followed by the error.
    fn parse_body(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let Some(draft) = self.draft.as_mut().filter(|_| self.lines < BODY_LINES) else {
            self.finish(findings);
            return LineClaim::NotMine;
        };
        self.lines += 1;
        let text = line.text;
        let repeats = draft
            .failure
            .message
            .as_deref()
            .is_some_and(|message| text.ends_with(message));
        if let Some(place) = LOCATION.captures(text) {
            draft.set_location(&place["file"], place["line"].parse().ok(), None);
            draft.skip_line(line);
        } else if repeats || text.contains("failed to solve") || text.starts_with("##[") {
            draft.skip_line(line);
            self.finish(findings);
        } else if text.starts_with("------") || text.starts_with(" > [") || text.is_empty() {
            draft.skip_line(line);
        } else {
            // A compiler in a step is read by its own format.
            draft.push_excerpt(line);
            return LineClaim::NotMine;
        }
        LineClaim::Evidence
    }
}

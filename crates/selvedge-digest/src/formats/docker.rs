//! `docker build`, with BuildKit's plain progress and with the legacy builder: the failed step, its output,
//! and Dockerfiles that do not parse.

use super::prelude::*;

const TOOL: &str = "docker build";
/// Maximum number of steps that are remembered by their numbers.
const STEPS: usize = 200;
/// Maximum number of lines that are read of a step's output.
const BODY_LINES: u32 = 20;

/// Reads the errors of image builds.
#[derive(Debug, Default)]
pub(super) struct DockerFormat {
    lines: u32,
    /// The steps of BuildKit by their numbers, or the last step of the legacy builder.
    steps: Vec<(String, String)>,
    file: Option<String>,
}

static STEP: LinePattern = LinePattern::new(
    r"^(?:#(?P<number>\d+) (?P<step>\[.*\d+/\d+\] \S.*)|Step \d+/\d+ : (?P<old>\S.*))$",
);
static ERROR: LinePattern = LinePattern::new(r"^#(?P<number>\d+) ERROR: (?P<message>\S.*)$");
static PARSE: LinePattern =
    LinePattern::new(r"[Dd]ockerfile parse error (?:on )?line (?P<line>\d+): (?P<message>\S.*)$");
static OLD: LinePattern = LinePattern::new(
    r"^(?P<message>The command '.*' returned a non-zero code: \d+|(?:COPY|ADD) failed: \S.*)$",
);
/// The place of the step in its file, in newer builders.
static LOCATION: LinePattern = LinePattern::new(r"^(?P<file>\S*Dockerfile[^\s:]*):(?P<line>\d+)$");

impl BlockFormat for DockerFormat {
    fn parse_head(&mut self, line: &CleanLine<'_>, _: &mut Findings) -> Option<BlockStep> {
        let text = line.text;
        if (text.starts_with('#') || text.starts_with("Step "))
            && let Some(step) = self.parse_progress(line)
        {
            return Some(step);
        }
        if let Some(error) = PARSE.captures_marked(text, "ockerfile parse error") {
            let mut draft = FailureBuilder::captured(FailureKind::Compile, TOOL, &error, line);
            let file = self.file.as_deref().unwrap_or("Dockerfile");
            draft.set_location(file, error.number("line"), None);
            return Some(BlockStep::Whole(draft));
        }
        if self.steps.is_empty() {
            return None;
        }
        let error = OLD.captures(text)?;
        let step = self.steps.pop().map(|(_, step)| step);
        Some(BlockStep::Whole(start_failure(step, &error, line)))
    }

    /// The output of the step is repeated below its name, followed by the error.
    fn parse_body(&mut self, draft: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
        if self.lines >= BODY_LINES {
            return BlockStep::OVER;
        }
        self.lines += 1;
        let text = line.text;
        let message = draft.failure.message.as_deref();
        let repeats = message.is_some_and(|message| text.ends_with(message));
        if let Some(place) = LOCATION.captures(text) {
            draft.locate(&place);
        } else if repeats || text.contains("failed to solve") || text.starts_with("##[") {
            draft.skip_line(line);
            return BlockStep::End(LineClaim::Evidence);
        } else if !text.starts_with("------") && !text.starts_with(" > [") && !text.is_empty() {
            // A compiler in a step is read by its own format.
            draft.push_excerpt(line);
            return BlockStep::Claim(LineClaim::NotMine);
        }
        BlockStep::Taken
    }
}

impl DockerFormat {
    /// A step begins or fails, or the file is named.
    fn parse_progress(&mut self, line: &CleanLine<'_>) -> Option<BlockStep> {
        if let Some(step) = STEP.captures(line.text) {
            self.record_step(&step);
            return Some(BlockStep::Claim(LineClaim::Ignore));
        }
        if let Some((_, file)) = line.text.split_once(" load build definition from ") {
            self.file = Some(file.to_owned());
            return Some(BlockStep::Claim(LineClaim::Ignore));
        }
        let error = ERROR.captures(line.text)?;
        let mut steps = self.steps.iter();
        let step = steps.find(|(number, _)| *number == error["number"]);
        let step = step.map(|(_, step)| step.clone());
        self.lines = 0;
        Some(BlockStep::Begin(start_failure(step, &error, line)))
    }

    fn record_step(&mut self, step: &Groups<'_>) {
        let number = step.text("number");
        if number.is_empty() {
            self.steps = vec![(String::new(), step.text("old").to_owned())];
        } else if self.steps.len() < STEPS
            && !self.steps.iter().any(|(recorded, _)| recorded == number)
        {
            let step = step.text("step").to_owned();
            self.steps.push((number.to_owned(), step));
        }
    }
}

fn start_failure(step: Option<String>, error: &Groups<'_>, line: &CleanLine<'_>) -> FailureBuilder {
    let mut draft = FailureBuilder::new(FailureKind::Compile, TOOL, line);
    draft.failure.id = step;
    draft.push_message(&error["message"]);
    draft
}

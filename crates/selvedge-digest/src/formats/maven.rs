//! Maven's own lines: compiler errors as `[ERROR] Cart.java:[5,18] message`, goals that failed, and
//! projects that cannot be read. The tests that Surefire runs are read with the other JVM runners.

use super::prelude::*;

const TOOL: &str = "maven";

/// Reads lines that Maven marks as errors.
#[derive(Debug, Default)]
pub(super) struct MavenFormat {
    /// A goal has failed: the following errors are repetitions.
    repeats: bool,
}

static LOCATION: LinePattern = LinePattern::new(
    r"^(?P<file>\S[^:\[\]]*\.\w+):(?: ?[\[(](?P<line>\d+), ?(?P<column>\d+)[\])])? (?P<message>\S.*)$",
);
static GOAL: LinePattern = LinePattern::new(
    r"^Failed to execute goal (?:(?P<goal>\S+) (?:\([^()]*\) )?)?on project (?P<id>[^\s:]+): (?P<message>.*?)(?: -> \[Help \d+\])?$",
);

static PLUGIN: LinePattern = LinePattern::new(
    r"^(?P<message>Plugin \S+ or one of its dependencies could not be resolved\b.*?)(?: -> \[Help \d+\])?$",
);

/// Beginnings of the advice at the end of every failed build.
const HELP: [&str; 5] = [
    "To see the full stack",
    "Re-run Maven ",
    "For more information about the errors",
    "[Help ",
    "-> [Help ",
];

/// Headings and rulers around Maven's messages.
fn is_heading_or_rule(rest: &str) -> bool {
    matches!(rest, "Failures:" | "Errors:") || !rest.contains(char::is_alphanumeric)
}

impl BlockFormat for MavenFormat {
    fn parse_head(&mut self, line: &CleanLine<'_>, _: &mut Findings) -> Option<BlockStep> {
        let (mark, rest) = line.text.strip_prefix('[')?.split_once("] ")?;
        match mark {
            "INFO" if rest.starts_with("Scanning for projects") => self.repeats = false,
            "ERROR" if is_heading_or_rule(rest) => {
                return Some(BlockStep::End(LineClaim::Suppress));
            }
            "ERROR" => return Some(self.parse_error(rest, line)),
            "FATAL" => {
                let mut draft = FailureBuilder::new(FailureKind::Infra, TOOL, line);
                draft.push_excerpt(line);
                if let Some((_, pom)) = rest.split_once(" POM ") {
                    draft.set_location(pom.split(':').next().unwrap_or(pom), None, None);
                }
                draft.push_message(rest);
                return Some(BlockStep::Begin(draft));
            }
            _ => {}
        }
        Some(BlockStep::OVER)
    }

    /// `symbol:` and `location:` below an error of the compiler.
    fn parse_body(&mut self, draft: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
        if line.indent() == 0 {
            return BlockStep::OVER;
        }
        let symbol = line
            .body()
            .split_once("symbol:")
            .map(|(_, symbol)| symbol.trim());
        if !symbol.is_some_and(|symbol| draft.extend_message(": ", symbol)) {
            draft.push_message(line.body());
        }
        BlockStep::Shown
    }
}

impl MavenFormat {
    fn parse_error(&mut self, rest: &str, line: &CleanLine<'_>) -> BlockStep {
        if let Some(goal) = GOAL.captures_prefixed(rest, "Failed to execute goal") {
            self.repeats = true;
            let name = goal.text("goal");
            // Compilers and tests have reported their failures before.
            if ["compile", "test", "verify"]
                .iter()
                .any(|part| name.contains(part))
            {
                return BlockStep::OVER;
            }
            return BlockStep::Whole(FailureBuilder::captured(
                FailureKind::Infra,
                TOOL,
                &goal,
                line,
            ));
        }
        if HELP.iter().any(|start| rest.starts_with(start)) {
            return BlockStep::End(LineClaim::Suppress);
        }
        if let Some(plugin) = PLUGIN.captures_prefixed(rest, "Plugin ") {
            return BlockStep::Whole(FailureBuilder::captured(
                FailureKind::Infra,
                TOOL,
                &plugin,
                line,
            ));
        }
        // Without a place, the line has no number after a bracket.
        let bracket = rest
            .find(['[', '('])
            .and_then(|at| rest.as_bytes().get(at + 1));
        let placed = bracket.is_some_and(u8::is_ascii_digit);
        match placed.then(|| LOCATION.captures(rest)).flatten() {
            None => BlockStep::OVER,
            Some(_) if self.repeats => BlockStep::End(LineClaim::Ignore),
            Some(place) => BlockStep::Begin(FailureBuilder::captured(
                FailureKind::Compile,
                TOOL,
                &place,
                line,
            )),
        }
    }
}

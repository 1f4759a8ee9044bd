//! Web build tools and formatters: esbuild, webpack, rolldown (vite's), biome and prettier. Each begins a
//! report with a line of its own, and has the place or the message in one of the next lines.

use super::prelude::*;

/// How many lines below a heading are read.
const BODY_LINES: u32 = 12;

const BIOME_TOOL: &str = "biome";
/// The marks of an error and of a warning.
const BIOME_MARKS: [char; 4] = ['×', '✖', '!', '⚠'];

/// Reads reports of bundlers.
#[derive(Debug, Default)]
pub(super) struct BundlerFormat {
    lines: u32,
    /// prettier is running: its lines have marks that other tools use, too.
    prettier: bool,
    /// Number of biome's problems, as read, and as its closing lines state.
    biome: u64,
    biome_claims: u64,
}

static ESBUILD: LinePattern = LinePattern::new(
    r"^(?:✘|▲) \[(?P<severity>ERROR|WARNING)\] (?P<message>.+?)(?: \[(?P<code>[\w:-]+)\])?$",
);
static WEBPACK: LinePattern = LinePattern::new(
    r"^(?P<severity>ERROR|WARNING) in (?P<file>\S+)(?:[ :(](?P<line>\d+)[:,](?P<column>\d+)(?:-[\d:]+)?\)?)?$",
);
static ROLLDOWN: LinePattern =
    LinePattern::new(r"^\[(?P<code>[A-Z]+(?:_[A-Z]+)+)\] (?P<message>.+)$");
static BIOME: LinePattern = LinePattern::new(
    r"^(?P<file>[^\s:]+\.\w+)(?::(?P<line>\d+):(?P<column>\d+))? (?P<code>[a-z]\S*)(?: +[A-Z]+)* +━━+$",
);
static BIOME_TOTAL: LinePattern =
    LinePattern::new(r"^Found (?P<count>\d+) (?:error|warning|info)s?\.$");
static PRETTIER: LinePattern = LinePattern::new(
    r"^\[(?:warn|error)\] (?P<file>[^\s:]+\.\w+)(?:: (?P<message>.+?)(?: \((?P<line>\d+):(?P<column>\d+)\))?)?$",
);
/// A location below a heading of esbuild or rolldown.
static LOCATION: LinePattern =
    LinePattern::new(r"^\s+(?:╭─\[ ?)?(?P<file>[^\s:]+):(?P<line>\d+):(?P<column>\d+)(?::| ?\])$");

impl BlockFormat for BundlerFormat {
    const IS_CERTAIN: bool = false;

    fn parse_head(&mut self, line: &CleanLine<'_>, _: &mut Findings) -> Option<BlockStep> {
        if line.text == "Checking formatting..." {
            self.prettier = true;
            return Some(BlockStep::Claim(LineClaim::Ignore));
        }
        if self.biome > 0
            && let Some(total) = BIOME_TOTAL.captures_prefixed(line.text, "Found ")
        {
            self.biome_claims = self.biome_claims.saturating_add(total.count("count"));
            return Some(BlockStep::End(LineClaim::Evidence));
        }
        let draft = self
            .parse_heading(line)
            .or_else(|| parse_biome_message(line))?;
        self.biome += u64::from(draft.tool == BIOME_TOOL);
        self.lines = 0;
        Some(BlockStep::Begin(draft))
    }

    fn parse_body(&mut self, draft: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
        self.lines += 1;
        let ended = match draft.tool {
            "prettier" => true,
            "webpack" => line.is_blank(),
            _ => line.indent() == 0 && !line.is_blank(),
        };
        if ended || self.lines > BODY_LINES {
            return BlockStep::OVER;
        }
        let body = line.body();
        if let Some(place) = LOCATION.captures(line.text) {
            draft.locate(&place);
        } else if draft.failure.message.is_none() && !body.is_empty() {
            // biome's message is marked with its severity.
            let message = body.trim_start_matches(BIOME_MARKS).trim_start();
            if body.starts_with(['!', '⚠']) {
                draft.severity = FailureSeverity::Warning;
            }
            draft.push_message(message);
        }
        BlockStep::Shown
    }

    fn is_waiting(&self) -> bool {
        self.biome > 0
    }

    fn finish(&mut self, findings: &mut Findings) {
        let Self {
            biome,
            biome_claims,
            ..
        } = std::mem::take(self);
        if biome_claims > biome {
            findings.add_note(format!(
                "biome counts {biome_claims} problems, but {biome} were read"
            ));
        }
    }
}

/// biome's message about a whole file. Its heading has no line, so nothing in it shows that it is one.
fn parse_biome_message(line: &CleanLine<'_>) -> Option<FailureBuilder> {
    let body = line.body();
    let message = body.strip_prefix(BIOME_MARKS).map(str::trim_start)?;
    if line.indent() != 2 || !line.heading.ends_with("━━") {
        return None;
    }
    let found = BIOME
        .captures(line.heading)
        .filter(|found| !found.has("line"))?;
    let mut draft = FailureBuilder::captured(FailureKind::Lint, BIOME_TOOL, &found, line);
    if body.starts_with(['!', '⚠']) {
        draft.severity = FailureSeverity::Warning;
    }
    draft.push_message(message);
    Some(draft)
}

impl BundlerFormat {
    fn parse_heading(&self, line: &CleanLine<'_>) -> Option<FailureBuilder> {
        let text = line.text;
        let (found, kind, tool) = match text.chars().next()? {
            '✘' | '▲' => (ESBUILD.captures(text)?, FailureKind::Compile, "esbuild"),
            'E' | 'W' if text.contains(" in ") => {
                (WEBPACK.captures(text)?, FailureKind::Compile, "webpack")
            }
            '[' if self.prettier => (PRETTIER.captures(text)?, FailureKind::Lint, "prettier"),
            // Many tools begin lines with a word in brackets; few of those words contain an underscore.
            '[' if text
                .split(']')
                .next()
                .is_some_and(|code| code.contains('_')) =>
            {
                (ROLLDOWN.captures(text)?, FailureKind::Compile, "rolldown")
            }
            // Without a line it is about the whole file, and is read with its message.
            _ if text.ends_with("━━") => {
                let found = BIOME.captures(text).filter(|found| found.has("line"))?;
                (found, FailureKind::Lint, BIOME_TOOL)
            }
            _ => return None,
        };
        let mut draft = FailureBuilder::captured(kind, tool, &found, line);
        if tool == "prettier" && draft.failure.message.is_none() {
            draft.push_message("is not formatted");
        }
        Some(draft)
    }
}

//! Web build tools and formatters: esbuild, webpack, rolldown (vite's), biome and prettier. Each begins a
//! report with a line of its own, and has the place or the message in one of the next lines.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, FailureSeverity, Findings};
use crate::line::CleanLine;
use crate::pattern::pattern;
use crate::record::FailureKind;

/// How many lines below a heading are read.
const BODY_LINES: u32 = 12;

/// Reads reports of bundlers.
#[derive(Debug, Default)]
pub(super) struct BundlerParser {
    draft: Option<FailureBuilder>,
    lines: u32,
    /// prettier is running: its lines have marks that other tools use, too.
    prettier: bool,
}

static ESBUILD: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:✘|▲) \[(?P<severity>ERROR|WARNING)\] (?P<message>.+?)(?: \[(?P<code>[\w:-]+)\])?$",
    )
});
static WEBPACK: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?P<severity>ERROR|WARNING) in (?P<file>\S+)(?:[ :(](?P<line>\d+)[:,](?P<column>\d+)(?:-[\d:]+)?\)?)?$",
    )
});
static ROLLDOWN: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^\[(?P<code>[A-Z]+(?:_[A-Z]+)+)\] (?P<message>.+)$"));
static BIOME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?P<file>[^\s:]+\.\w+)(?::(?P<line>\d+):(?P<column>\d+))? (?P<code>[a-z]\S*)(?: +[A-Z]+)* +━━+$",
    )
});
static PRETTIER: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\[(?P<severity>warn|error)\] (?P<file>[^\s:]+\.\w+)(?:: (?P<message>.+?)(?: \((?P<line>\d+):(?P<column>\d+)\))?)?$",
    )
});
/// A place below its heading: esbuild's and rolldown's.
static LOCATION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^\s+(?:╭─\[ ?)?(?P<file>[^\s:]+):(?P<line>\d+):(?P<column>\d+)(?::| ?\])$")
});

impl FormatParser for BundlerParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        if let Some(draft) = self.parse_heading(line) {
            self.close(findings);
            self.draft = Some(draft);
            self.lines = 0;
            return LineClaim::Evidence;
        }
        if line.text == "Checking formatting..." {
            self.prettier = true;
            return LineClaim::Ignore;
        }
        let Some(draft) = &mut self.draft else {
            return LineClaim::NotMine;
        };
        self.lines += 1;
        let tool = draft.failure.tool.as_deref();
        let ended = match tool {
            Some("prettier") => true,
            Some("webpack") => line.is_blank(),
            _ => line.indent() == 0 && !line.is_blank(),
        };
        if ended || self.lines > BODY_LINES {
            self.close(findings);
            return LineClaim::NotMine;
        }
        parse_body(draft, line);
        LineClaim::Evidence
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl BundlerParser {
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
            _ if text.ends_with("━━") => (BIOME.captures(text)?, FailureKind::Lint, "biome"),
            _ => return None,
        };
        Some(start_failure(&found, kind, tool, line))
    }

    fn close(&mut self, findings: &mut Findings) {
        let Some(draft) = self.draft.take() else {
            return;
        };
        if let Some(tool) = TOOLS
            .into_iter()
            .find(|tool| draft.failure.tool.as_deref() == Some(tool))
        {
            findings.add_tool(tool);
        }
        findings.add(draft.build());
    }
}

const TOOLS: [&str; 5] = ["esbuild", "webpack", "rolldown", "biome", "prettier"];

fn start_failure(
    found: &Captures<'_>,
    kind: FailureKind,
    tool: &'static str,
    line: &CleanLine<'_>,
) -> FailureBuilder {
    let get = |name: &str| found.name(name).map(|group| group.as_str());
    let number = |name: &str| get(name).and_then(|digits| digits.parse().ok());
    let mut draft = FailureBuilder::new(kind, tool, line);
    if get("severity").is_some_and(|word| word.eq_ignore_ascii_case("warning")) {
        draft.severity = FailureSeverity::Warning;
    }
    draft.failure.code = get("code").map(str::to_owned);
    if let Some(file) = get("file") {
        draft.set_location(file, number("line"), number("column"));
    }
    match get("message") {
        Some(message) => draft.push_message(message),
        None if tool == "prettier" => draft.push_message("is not formatted"),
        None => {}
    }
    draft.push_excerpt(line);
    draft
}

fn parse_body(draft: &mut FailureBuilder, line: &CleanLine<'_>) {
    let body = line.body();
    if let Some(place) = LOCATION.captures(line.text) {
        let number = |name: &str| place[name].parse().ok();
        draft.set_location(&place["file"], number("line"), number("column"));
    } else if draft.failure.message.is_none() && !body.is_empty() {
        // biome's message is marked with its severity.
        let message = body.trim_start_matches(['×', '✖', '!', '⚠']).trim_start();
        if body.starts_with(['!', '⚠']) {
            draft.severity = FailureSeverity::Warning;
        }
        draft.push_message(message);
    }
    draft.push_excerpt(line);
}

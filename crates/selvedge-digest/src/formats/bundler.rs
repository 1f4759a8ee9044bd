//! What builds and checks for the web: esbuild, webpack, rolldown (vite's), biome and prettier. Each
//! heads a report with a line of its own, and tells place or message in one of the next lines.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::{Claim, Format};
use crate::findings::{Draft, Findings, Severity};
use crate::line::Line;
use crate::pattern::pattern;
use crate::record::FailureKind;

/// How many lines below a heading are read.
const BODY_LINES: u32 = 12;

/// Reads reports of bundlers.
#[derive(Debug, Default)]
pub(super) struct Bundler {
    draft: Option<Draft>,
    lines: u32,
    /// prettier is checking: its lines bear marks that others use, too.
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
/// A place that stands below its heading: esbuild's and rolldown's.
static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^\s+(?:╭─\[ ?)?(?P<file>[^\s:]+):(?P<line>\d+):(?P<column>\d+)(?::| ?\])$")
});

impl Format for Bundler {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        if let Some(draft) = self.heading(line) {
            self.close(findings);
            self.draft = Some(draft);
            self.lines = 0;
            return Claim::Evidence;
        }
        if line.text == "Checking formatting..." {
            self.prettier = true;
            return Claim::Noise;
        }
        let Some(draft) = &mut self.draft else {
            return Claim::Foreign;
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
            return Claim::Foreign;
        }
        body(draft, line);
        Claim::Evidence
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl Bundler {
    fn heading(&self, line: &Line<'_>) -> Option<Draft> {
        let text = line.text;
        let (found, kind, tool) = match text.chars().next()? {
            '✘' | '▲' => (ESBUILD.captures(text)?, FailureKind::Compile, "esbuild"),
            'E' | 'W' if text.contains(" in ") => {
                (WEBPACK.captures(text)?, FailureKind::Compile, "webpack")
            }
            '[' if self.prettier => (PRETTIER.captures(text)?, FailureKind::Lint, "prettier"),
            // Many tools begin lines with a word in brackets; few of those words are joined.
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
        Some(draft(&found, kind, tool, line))
    }

    fn close(&mut self, findings: &mut Findings) {
        let Some(draft) = self.draft.take() else {
            return;
        };
        if let Some(tool) = TOOLS
            .into_iter()
            .find(|tool| draft.failure.tool.as_deref() == Some(tool))
        {
            findings.tool(tool);
        }
        findings.add(draft.found());
    }
}

const TOOLS: [&str; 5] = ["esbuild", "webpack", "rolldown", "biome", "prettier"];

fn draft(found: &Captures<'_>, kind: FailureKind, tool: &'static str, line: &Line<'_>) -> Draft {
    let get = |name: &str| found.name(name).map(|group| group.as_str());
    let number = |name: &str| get(name).and_then(|digits| digits.parse().ok());
    let mut draft = Draft::new(kind, tool, line);
    if get("severity").is_some_and(|word| word.eq_ignore_ascii_case("warning")) {
        draft.severity = Severity::Warning;
    }
    draft.failure.code = get("code").map(str::to_owned);
    if let Some(file) = get("file") {
        draft.place(file, number("line"), number("column"));
    }
    match get("message") {
        Some(message) => draft.message(message),
        None if tool == "prettier" => draft.message("is not formatted"),
        None => {}
    }
    draft.excerpt(line);
    draft
}

fn body(draft: &mut Draft, line: &Line<'_>) {
    let body = line.body();
    if let Some(place) = PLACE.captures(line.text) {
        let number = |name: &str| place[name].parse().ok();
        draft.place(&place["file"], number("line"), number("column"));
    } else if draft.failure.message.is_none() && !body.is_empty() {
        // biome's message is marked with its severity.
        let message = body.trim_start_matches(['×', '✖', '!', '⚠']).trim_start();
        if body.starts_with(['!', '⚠']) {
            draft.severity = Severity::Warning;
        }
        draft.message(message);
    }
    draft.excerpt(line);
}

//! Elixir's compiler and mix: `** (CompileError) lib/a.ex:5: message`, warnings with their place below,
//! and the drawn form of newer versions. Tests are read with the other numbered lists.

use std::sync::LazyLock;

use regex::Regex;

use super::{Claim, Format};
use crate::findings::{Draft, Findings, Severity};
use crate::line::Line;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "mix";

/// How many lines a diagnostic may have.
const BODY_LINES: u32 = 40;

/// Reads diagnostics of a compilation.
#[derive(Debug, Default)]
pub(super) struct Mix {
    /// A diagnostic whose place, below it, tells that it is Elixir's.
    draft: Option<Draft>,
    lines: u32,
    /// Below the heading of the list of files that are not formatted.
    formatting: bool,
}

static RAISED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\*\* \((?P<class>[A-Z][\w.]*)\) (?:(?P<file>[^\s:]+\.(?:exs?|eex|heex|leex)):(?P<line>\d+)(?::(?P<column>\d+))?: )?(?P<message>\S.*)$",
    )
});
static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^ +(?:└─ )?(?P<file>[^\s:]+\.(?:exs?|eex|heex|leex)):(?P<line>\d+)(?::(?P<column>\d+))?(?:: \S.*)?$",
    )
});

impl Format for Mix {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let text = line.text;
        if text.starts_with("** (")
            && let Some(raised) = RAISED.captures(text)
        {
            return raise(&raised, line, findings);
        }
        if text == "The following files are not formatted:" {
            self.formatting = true;
            return Claim::Evidence;
        }
        if self.formatting {
            return self.unformatted(line, findings);
        }
        self.placed(line, findings)
    }

    fn is_open(&self) -> bool {
        self.draft.is_some() || self.formatting
    }
}

impl Mix {
    /// A diagnostic is Elixir's when its place stands below it.
    fn placed(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let body = line.body();
        if let Some((severity, message)) = drawn(line) {
            let mut draft = Draft::new(FailureKind::Compile, TOOL, line);
            draft.severity = severity;
            draft.message(message);
            draft.excerpt(line);
            self.draft = Some(draft);
            self.lines = 0;
            return Claim::Foreign;
        }
        let warning = line.heading.strip_prefix("warning: ");
        if self.draft.is_none() && warning.is_none() {
            return Claim::Foreign;
        }
        self.lines += 1;
        let mut draft = self.draft.take().filter(|_| self.lines < BODY_LINES);
        if let Some(draft) = &mut draft {
            draft.excerpt(line);
        }
        let candidate = (draft.is_some() || warning.is_some()) && body.contains(".ex");
        let Some(place) = candidate.then(|| PLACE.captures(line.text)).flatten() else {
            self.draft = draft;
            return Claim::Foreign;
        };
        let mut draft = draft.unwrap_or_else(|| {
            let mut draft = Draft::new(FailureKind::Compile, TOOL, line);
            draft.severity = Severity::Warning;
            draft.message(warning.unwrap_or_default());
            draft.excerpt(line);
            draft
        });
        let number = |name: &str| place.name(name).and_then(|n| n.as_str().parse().ok());
        draft.place(&place["file"], number("line"), number("column"));
        findings.tool(TOOL);
        findings.add(draft.found());
        Claim::Evidence
    }

    /// A file of the list that `mix format --check-formatted` prints.
    fn unformatted(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let Some(file) = line.text.strip_prefix("  * ") else {
            self.formatting = line.is_blank();
            return Claim::Foreign;
        };
        let mut draft = Draft::new(FailureKind::Lint, "mix format", line);
        draft.place(file, None, None);
        draft.message("the file is not formatted");
        draft.excerpt(line);
        findings.add(draft.found());
        Claim::Evidence
    }
}

/// The heading of a diagnostic that is drawn around its source.
fn drawn<'a>(line: &Line<'a>) -> Option<(Severity, &'a str)> {
    let body = line.body();
    let error = body
        .strip_prefix("error: ")
        .map(|message| (Severity::Error, message));
    let warning = || {
        body.strip_prefix("warning: ")
            .map(|message| (Severity::Warning, message))
    };
    error.or_else(warning).filter(|_| line.indent() == 4)
}

/// An exception: the compiler's have a place, mix's own have none.
fn raise(raised: &regex::Captures<'_>, line: &Line<'_>, findings: &mut Findings) -> Claim {
    let class = &raised["class"];
    let mix = class == "Mix";
    if !mix && raised.name("file").is_none() {
        return Claim::Foreign;
    }
    findings.tool(TOOL);
    let kind = if mix {
        FailureKind::Infra
    } else {
        FailureKind::Compile
    };
    let mut draft = Draft::new(kind, TOOL, line);
    if raised["message"].contains("failed due to") {
        draft.severity = Severity::Warning;
    }
    draft.failure.code = Some(class.to_owned());
    let number = |name: &str| raised.name(name).and_then(|n| n.as_str().parse().ok());
    if let Some(file) = raised.name("file") {
        draft.place(file.as_str(), number("line"), number("column"));
    }
    draft.message(&raised["message"]);
    draft.excerpt(line);
    findings.add(draft.found());
    Claim::Evidence
}

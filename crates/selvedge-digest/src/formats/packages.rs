//! Package managers that cannot install: npm, yarn and pnpm. A script of the user's that failed under
//! them is told by the script itself.

use std::sync::LazyLock;

use regex::Regex;

use super::place::extension;
use super::{Claim, Format};
use crate::findings::{Draft, Findings};
use crate::line::Line;
use crate::pattern::pattern;
use crate::record::FailureKind;

/// How many lines of an error are read.
const BODY_LINES: u32 = 30;

/// Reads the errors of JavaScript's package managers.
#[derive(Debug, Default)]
pub(super) struct Packages {
    draft: Option<Draft>,
    lines: u32,
    /// yarn said its name: its errors bear none.
    yarn: bool,
    /// npm explains how a command of its own is used.
    usage: bool,
}

static PNPM: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^(?:Error:)?\s*(?P<code>ERR_PNPM_[A-Z0-9_]+)(?:\s+(?P<message>\S.*))?$")
});

impl Format for Packages {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let text = line.text;
        if let Some(said) = text
            .strip_prefix("npm error")
            .or(text.strip_prefix("npm ERR!"))
        {
            return self.npm(said.trim(), line, findings);
        }
        self.usage = false;
        if text.starts_with("yarn ") && text.contains(" v1.") {
            self.yarn = true;
            return Claim::Noise;
        }
        if self.yarn
            && let Some(said) = text.strip_prefix("error ")
        {
            return self.yarn(said, line, findings);
        }
        if text.contains("ERR_PNPM_")
            && let Some(error) = PNPM.captures(text)
        {
            let mut draft = Draft::new(FailureKind::Infra, "pnpm", line);
            draft.failure.code = Some(error["code"].to_owned());
            if let Some(message) = error.name("message") {
                draft.message(message.as_str());
            }
            draft.excerpt(line);
            self.begin("pnpm", draft, findings);
            return Claim::Evidence;
        }
        if let Some(cause) = text.strip_prefix("Error:   × ") {
            let mut draft = Draft::new(FailureKind::Infra, "pnpm", line);
            draft.message(cause);
            self.begin("pnpm", draft, findings);
            return Claim::Evidence;
        }
        self.body(line, findings)
    }

    fn is_open(&self) -> bool {
        self.draft.is_some() || self.yarn
    }

    fn finish(&mut self, findings: &mut Findings) {
        if let Some(draft) = self
            .draft
            .take()
            .filter(|draft| draft.failure.message.is_some())
        {
            findings.add(draft.found());
        }
    }
}

impl Packages {
    fn begin(&mut self, tool: &'static str, draft: Draft, findings: &mut Findings) {
        self.finish(findings);
        findings.tool(tool);
        self.draft = Some(draft);
        self.lines = 0;
    }

    fn npm(&mut self, said: &str, line: &Line<'_>, findings: &mut Findings) -> Claim {
        if let Some(code) = said.strip_prefix("code ") {
            self.finish(findings);
            findings.tool("npm");
            // A script failed, and says itself why.
            let script = code == "ELIFECYCLE" || code.bytes().all(|byte| byte.is_ascii_digit());
            if !script {
                let mut draft = Draft::new(FailureKind::Infra, "npm", line);
                draft.failure.code = Some(code.to_owned());
                self.begin("npm", draft, findings);
            }
            return Claim::Evidence;
        }
        if said.starts_with("Missing script") {
            let mut draft = Draft::new(FailureKind::Infra, "npm", line);
            draft.message(said);
            draft.excerpt(line);
            self.finish(findings);
            findings.tool("npm");
            findings.add(draft.found());
            return Claim::Evidence;
        }
        self.usage |= said == "Usage:";
        if self.usage {
            self.finish(findings);
            return Claim::Chaff;
        }
        let advice = [
            "A complete log",
            "For a full report",
            "To see a list of scripts",
            "/",
            "Options:",
        ];
        if advice.iter().any(|start| said.starts_with(start)) {
            self.finish(findings);
            return Claim::Noise;
        }
        let Some(draft) = self.draft.as_mut().filter(|_| self.lines < BODY_LINES) else {
            return Claim::Foreign;
        };
        self.lines += 1;
        let code = draft
            .failure
            .code
            .as_deref()
            .unwrap_or_default()
            .to_ascii_lowercase();
        // Each line may repeat the code in a form of its own: `notarget`, `404`, `JSON.parse`.
        let (word, rest) = said.split_once(' ').unwrap_or((said, ""));
        let repeats =
            code.ends_with(&word.to_ascii_lowercase()) || matches!(word, "JSON.parse" | "notarget");
        let message = if repeats { rest.trim() } else { said };
        if let Some(file) = message
            .strip_prefix("path ")
            .filter(|path| extension(path) == "json")
        {
            draft.place(file, None, None);
        } else if !message.is_empty() {
            draft.message(message);
        }
        draft.skip(line);
        Claim::Evidence
    }

    fn yarn(&mut self, said: &str, line: &Line<'_>, findings: &mut Findings) -> Claim {
        self.finish(findings);
        if said.starts_with("Command failed with exit code") {
            return Claim::Noise;
        }
        let mut draft = Draft::new(FailureKind::Infra, "yarn", line);
        let named = said
            .strip_prefix("SyntaxError: ")
            .and_then(|rest| rest.split_once(": "));
        if let Some((file, _)) = named.filter(|(file, _)| extension(file) == "json") {
            draft.place(file, None, None);
        }
        draft.message(said);
        draft.excerpt(line);
        findings.tool("yarn");
        findings.add(draft.found());
        Claim::Evidence
    }

    /// pnpm draws the causes of an error as a tree, the innermost last, its lines broken.
    fn body(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let drawn = self
            .draft
            .as_ref()
            .is_some_and(|draft| draft.failure.tool.as_deref() == Some("pnpm"));
        let goes_on = drawn && self.lines < BODY_LINES && (line.indent() > 0 || line.is_blank());
        let Some(draft) = self.draft.as_mut().filter(|_| goes_on) else {
            self.finish(findings);
            return Claim::Foreign;
        };
        self.lines += 1;
        let body = line.body();
        if let Some(cause) = body.strip_prefix("╰─▶ ").or(body.strip_prefix("× ")) {
            draft.summary(cause);
            draft.message(cause);
        } else if line.indent() == 6 && body.starts_with(|c: char| c.is_alphanumeric()) {
            // The cause goes on.
            let summary = std::mem::take(&mut draft.failure.summary);
            draft.summary(&format!("{summary} {body}"));
            draft.message(body);
        }
        draft.excerpt(line);
        Claim::Evidence
    }
}

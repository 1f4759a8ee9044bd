//! Package managers that cannot install: npm, yarn and pnpm. A failed user script under them is explained by
//! its own output.

use std::sync::LazyLock;

use regex::Regex;

use super::location::extension;
use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, Findings};
use crate::line::CleanLine;
use crate::pattern::pattern;
use crate::record::FailureKind;

/// How many lines of an error are read.
const BODY_LINES: u32 = 30;

/// Reads the errors of JavaScript's package managers.
#[derive(Debug, Default)]
pub(super) struct PackageManagerParser {
    draft: Option<FailureBuilder>,
    lines: u32,
    /// yarn was identified: its errors do not name it.
    yarn: bool,
    /// npm prints the usage of its own command.
    usage: bool,
}

static PNPM: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^(?:Error:)?\s*(?P<code>ERR_PNPM_[A-Z0-9_]+)(?:\s+(?P<message>\S.*))?$")
});

impl FormatParser for PackageManagerParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        if let Some(said) = text
            .strip_prefix("npm error")
            .or(text.strip_prefix("npm ERR!"))
        {
            return self.parse_npm_error(said.trim(), line, findings);
        }
        self.usage = false;
        if text.starts_with("yarn ") && text.contains(" v1.") {
            self.yarn = true;
            return LineClaim::Ignore;
        }
        if self.yarn
            && let Some(said) = text.strip_prefix("error ")
        {
            return self.parse_yarn_error(said, line, findings);
        }
        if text.contains("ERR_PNPM_")
            && let Some(error) = PNPM.captures(text)
        {
            let mut draft = FailureBuilder::new(FailureKind::Infra, "pnpm", line);
            draft.failure.code = Some(error["code"].to_owned());
            if let Some(message) = error.name("message") {
                draft.push_message(message.as_str());
            }
            draft.push_excerpt(line);
            self.begin("pnpm", draft, findings);
            return LineClaim::Evidence;
        }
        if let Some(cause) = text.strip_prefix("Error:   × ") {
            let mut draft = FailureBuilder::new(FailureKind::Infra, "pnpm", line);
            draft.push_message(cause);
            self.begin("pnpm", draft, findings);
            return LineClaim::Evidence;
        }
        self.parse_body(line, findings)
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
            findings.add(draft.build());
        }
    }
}

impl PackageManagerParser {
    fn begin(&mut self, tool: &'static str, draft: FailureBuilder, findings: &mut Findings) {
        self.finish(findings);
        findings.add_tool(tool);
        self.draft = Some(draft);
        self.lines = 0;
    }

    fn parse_npm_error(
        &mut self,
        said: &str,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) -> LineClaim {
        if let Some(code) = said.strip_prefix("code ") {
            self.finish(findings);
            findings.add_tool("npm");
            // A script failed, and its own output explains why.
            let script = code == "ELIFECYCLE" || code.bytes().all(|byte| byte.is_ascii_digit());
            if !script {
                let mut draft = FailureBuilder::new(FailureKind::Infra, "npm", line);
                draft.failure.code = Some(code.to_owned());
                self.begin("npm", draft, findings);
            }
            return LineClaim::Evidence;
        }
        if said.starts_with("Missing script") {
            let mut draft = FailureBuilder::new(FailureKind::Infra, "npm", line);
            draft.push_message(said);
            draft.push_excerpt(line);
            self.finish(findings);
            findings.add_tool("npm");
            findings.add(draft.build());
            return LineClaim::Evidence;
        }
        self.usage |= said == "Usage:";
        if self.usage {
            self.finish(findings);
            return LineClaim::Suppress;
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
            return LineClaim::Ignore;
        }
        let Some(draft) = self.draft.as_mut().filter(|_| self.lines < BODY_LINES) else {
            return LineClaim::NotMine;
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
            draft.set_location(file, None, None);
        } else if !message.is_empty() {
            draft.push_message(message);
        }
        draft.skip_line(line);
        LineClaim::Evidence
    }

    fn parse_yarn_error(
        &mut self,
        said: &str,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) -> LineClaim {
        self.finish(findings);
        if said.starts_with("Command failed with exit code") {
            return LineClaim::Ignore;
        }
        let mut draft = FailureBuilder::new(FailureKind::Infra, "yarn", line);
        let named = said
            .strip_prefix("SyntaxError: ")
            .and_then(|rest| rest.split_once(": "));
        if let Some((file, _)) = named.filter(|(file, _)| extension(file) == "json") {
            draft.set_location(file, None, None);
        }
        draft.push_message(said);
        draft.push_excerpt(line);
        findings.add_tool("yarn");
        findings.add(draft.build());
        LineClaim::Evidence
    }

    /// pnpm draws the causes of an error as a tree, the innermost last, its lines broken.
    fn parse_body(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let drawn = self
            .draft
            .as_ref()
            .is_some_and(|draft| draft.failure.tool.as_deref() == Some("pnpm"));
        let goes_on = drawn && self.lines < BODY_LINES && (line.indent() > 0 || line.is_blank());
        let Some(draft) = self.draft.as_mut().filter(|_| goes_on) else {
            self.finish(findings);
            return LineClaim::NotMine;
        };
        self.lines += 1;
        let body = line.body();
        if let Some(cause) = body.strip_prefix("╰─▶ ").or(body.strip_prefix("× ")) {
            draft.set_summary(cause);
            draft.push_message(cause);
        } else if line.indent() == 6 && body.starts_with(|c: char| c.is_alphanumeric()) {
            // The cause continues.
            let summary = std::mem::take(&mut draft.failure.summary);
            draft.set_summary(&format!("{summary} {body}"));
            draft.push_message(body);
        }
        draft.push_excerpt(line);
        LineClaim::Evidence
    }
}

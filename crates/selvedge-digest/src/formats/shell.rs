//! Shells: missing programs, files that cannot be executed, scripts that do not parse.

use std::sync::LazyLock;

use regex::Regex;

use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, Findings};
use crate::line::CleanLine;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "shell";

/// Reads the error messages of bash, dash, zsh and similar shells.
#[derive(Debug, Default)]
pub(super) struct ShellParser;

/// `deploy.sh: line 4: ./publish: not found`, in the order of bash and of dash.
static PLACED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"^(?:-?(?:/\S*/)?(?:bash|sh|dash|zsh|ash|ksh): )?(?P<file>[^\s:]+)?:? ?(?:line )?(?P<line>\d+): ",
        r"(?P<message>(?:\S+: )?(?:command not found|not found|No such file or directory|Permission denied|Is a directory|cannot execute.*|unbound variable|parameter (?:null or )?not set|bad substitution)|(?i:syntax error).*|unexpected EOF .*)$",
    ))
});
/// `bash: publish: command not found`, `zsh: command not found: publish`.
static BARE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^-?(?:/\S*/)?(?:bash|sh|dash|zsh|ash|ksh): (?P<message>\S+: (?:command )?not found|command not found: \S+)$",
    )
});

impl FormatParser for ShellParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        // Messages of shells are short, and begin with a name and a colon.
        let words = [": line ", "not found", "denied", "Is a directory"];
        let short = text.len() < 400 && line.indent() == 0;
        if !short || !words.iter().any(|words| text.contains(words)) {
            return LineClaim::NotMine;
        }
        let Some(found) = PLACED.captures(text).or_else(|| BARE.captures(text)) else {
            return LineClaim::NotMine;
        };
        findings.add_tool(TOOL);
        let mut draft = FailureBuilder::new(FailureKind::Runtime, TOOL, line);
        if let (Some(file), Some(number)) = (found.name("file"), found.name("line")) {
            draft.set_location(file.as_str(), number.as_str().parse().ok(), None);
        }
        draft.push_message(&found["message"]);
        draft.push_excerpt(line);
        findings.add(draft.build());
        LineClaim::Evidence
    }
}

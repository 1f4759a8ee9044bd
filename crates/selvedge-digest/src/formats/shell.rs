//! Shells: a program that is not there, a file that cannot be run, a script that does not parse.

use std::sync::LazyLock;

use regex::Regex;

use super::{Claim, Format};
use crate::findings::{Draft, Findings};
use crate::line::Line;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "shell";

/// Reads what bash, dash, zsh and their like say of themselves.
#[derive(Debug, Default)]
pub(super) struct Shell;

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

impl Format for Shell {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let text = line.text;
        // What a shell says is short, and begins with a name and a colon.
        let words = [": line ", "not found", "denied", "Is a directory"];
        let short = text.len() < 400 && line.indent() == 0;
        if !short || !words.iter().any(|words| text.contains(words)) {
            return Claim::Foreign;
        }
        let Some(found) = PLACED.captures(text).or_else(|| BARE.captures(text)) else {
            return Claim::Foreign;
        };
        findings.tool(TOOL);
        let mut draft = Draft::new(FailureKind::Runtime, TOOL, line);
        if let (Some(file), Some(number)) = (found.name("file"), found.name("line")) {
            draft.place(file.as_str(), number.as_str().parse().ok(), None);
        }
        draft.message(&found["message"]);
        draft.excerpt(line);
        findings.add(draft.found());
        Claim::Evidence
    }
}

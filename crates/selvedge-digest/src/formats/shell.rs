//! Shells: missing programs, files that cannot be executed, scripts that do not parse.

use super::prelude::*;

/// Reads the error messages of bash, dash, zsh and similar shells.
#[derive(Debug, Default)]
pub(super) struct ShellFormat;

/// `deploy.sh: line 4: ./publish: not found`, in the order of bash and of dash.
static PLACED: LinePattern = LinePattern::new(concat!(
    r"^(?:-?(?:/\S*/)?(?:bash|sh|dash|zsh|ash|ksh): )?(?P<file>[^\s:]+)?:? ?(?:line )?(?P<line>\d+): ",
    r"(?P<message>(?:\S+: )?(?:command not found|not found|No such file or directory|Permission denied|Is a directory|cannot execute.*|unbound variable|parameter (?:null or )?not set|bad substitution)|(?i:syntax error).*|unexpected EOF .*)$",
));
/// `bash: publish: command not found`, `zsh: command not found: publish`.
static BARE: LinePattern = LinePattern::new(
    r"^-?(?:/\S*/)?(?:bash|sh|dash|zsh|ash|ksh): (?P<message>\S+: (?:command )?not found|command not found: \S+)$",
);

impl BlockFormat for ShellFormat {
    fn parse_head(&mut self, line: &CleanLine<'_>, _: &mut Findings) -> Option<BlockStep> {
        let text = line.text;
        // Messages of shells are short, and begin with a name and a colon.
        let words = [": line ", "not found", "denied", "Is a directory"];
        let short = text.len() < 400 && line.indent() == 0;
        if !short || !words.iter().any(|words| text.contains(words)) {
            return None;
        }
        let found = PLACED.captures(text).or_else(|| BARE.captures(text))?;
        let draft = FailureBuilder::captured(FailureKind::Runtime, "shell", &found, line);
        Some(BlockStep::Whole(draft))
    }
}

//! git: conflicts, patches that do not apply, and fatal errors.

use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, Findings};
use crate::line::CleanLine;
use crate::record::FailureKind;

const TOOL: &str = "git";

/// Reads conflicts and errors with wording specific to git.
#[derive(Debug, Default)]
pub(super) struct GitParser {
    /// An error whose files are listed below it.
    listing: Option<FailureBuilder>,
}

impl FormatParser for GitParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        if let Some(draft) = &mut self.listing {
            if let Some(file) = text.strip_prefix('\t') {
                draft.set_location(file, None, None);
                draft.push_message(file);
                draft.push_excerpt(line);
                return LineClaim::Evidence;
            }
            self.finish(findings);
        }
        let read = match text.as_bytes().first() {
            Some(b'C') => parse_conflict(text),
            Some(b'e') => text.strip_prefix("error: ").and_then(parse_error),
            Some(b'f') => text.strip_prefix("fatal: ").and_then(parse_fatal_error),
            _ => None,
        };
        let Some((file, number, message)) = read else {
            return LineClaim::NotMine;
        };
        findings.add_tool(TOOL);
        let mut draft = FailureBuilder::new(FailureKind::Infra, TOOL, line);
        if let Some(file) = file {
            draft.set_location(file, number, None);
        }
        draft.push_message(message);
        draft.push_excerpt(line);
        if text.ends_with(':') {
            self.listing = Some(draft);
        } else {
            findings.add(draft.build());
        }
        LineClaim::Evidence
    }

    fn is_open(&self) -> bool {
        self.listing.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        findings.add_draft(&mut self.listing);
    }
}

/// Beginnings of git's own errors.
const ERRORS: [&str; 5] = [
    "pathspec '",
    "Your local changes to the following files would be",
    "The following untracked working tree files would be",
    "could not apply ",
    "failed to push some refs",
];
/// Wording of git's own fatal errors.
const FATALS: [&str; 9] = [
    "not a git repository",
    "does not appear to be a git repository",
    "Could not read from remote repository",
    "unable to access '",
    "Authentication failed for '",
    "unknown revision or path",
    "Unable to create '",
    "couldn't find remote ref",
    "refusing to merge unrelated histories",
];

/// The file, the line and the message.
type GitMessage<'a> = (Option<&'a str>, Option<u32>, &'a str);

/// `CONFLICT (content): Merge conflict in prices`
fn parse_conflict(text: &str) -> Option<GitMessage<'_>> {
    let (sort, rest) = text.strip_prefix("CONFLICT (")?.split_once("): ")?;
    let file = match rest.strip_prefix("Merge conflict in ") {
        Some(file) => Some(file),
        None => rest.split(' ').next().filter(|_| sort.contains("delete")),
    };
    Some((file, None, text))
}

/// Parses the text after `error: `.
fn parse_error(text: &str) -> Option<GitMessage<'_>> {
    if let Some(place) = text.strip_prefix("patch failed: ") {
        let (file, number) = place.rsplit_once(':')?;
        return Some((Some(file), number.parse().ok(), text));
    }
    if let Some(file) = text.strip_suffix(": patch does not apply") {
        return Some((Some(file), None, text));
    }
    let known = ERRORS.iter().any(|start| text.starts_with(start));
    known.then_some((None, None, text))
}

/// Parses the text after `fatal: `, which other programs use, too.
fn parse_fatal_error(text: &str) -> Option<GitMessage<'_>> {
    let known = FATALS.iter().any(|words| text.contains(words));
    known.then_some((None, None, text))
}

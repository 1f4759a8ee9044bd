//! git: conflicts, patches that do not apply, and fatal errors.

use super::prelude::*;

const TOOL: &str = "git";

/// Reads conflicts and errors with wording specific to git. A block is an error and the files listed below it.
#[derive(Debug, Default)]
pub(super) struct GitFormat;

impl BlockFormat for GitFormat {
    fn is_detail(&self, line: &CleanLine<'_>) -> bool {
        line.text.starts_with('\t')
    }

    fn parse_head(&mut self, line: &CleanLine<'_>, _: &mut Findings) -> Option<BlockStep> {
        let text = line.text;
        let (file, number, message) = match text.as_bytes().first()? {
            b'C' => parse_conflict(text),
            b'e' => text.strip_prefix("error: ").and_then(parse_error),
            b'f' => text.strip_prefix("fatal: ").and_then(parse_fatal_error),
            _ => None,
        }?;
        let mut draft = FailureBuilder::with_message(FailureKind::Infra, TOOL, message, line);
        if let Some(file) = file {
            draft.set_location(file, number, None);
        }
        Some(if text.ends_with(':') {
            BlockStep::Begin(draft)
        } else {
            BlockStep::Whole(draft)
        })
    }

    fn parse_body(&mut self, draft: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
        let Some(file) = line.text.strip_prefix('\t') else {
            return BlockStep::OVER;
        };
        draft.set_location(file, None, None);
        draft.push_message(file);
        BlockStep::Shown
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

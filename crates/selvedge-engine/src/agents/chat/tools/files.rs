//! Reading, editing and writing one file.

use std::fmt::Write;

use super::super::workspace_fs::WorkspaceRoot;
use super::ToolError;
use super::arguments::ToolArguments;

/// Lines of a file that are returned by default.
const DEFAULT_LINE_LIMIT: usize = 400;

pub(super) fn read(
    root: &WorkspaceRoot,
    arguments: ToolArguments<'_>,
    limit: usize,
) -> Result<String, ToolError> {
    let text = read_text(root, arguments.required_path()?)?;
    let whole = |number: Option<u64>| number.and_then(|number| usize::try_from(number).ok());
    let first = whole(arguments.number("start_line")).unwrap_or(1).max(1);
    let most = whole(arguments.number("line_count")).unwrap_or(DEFAULT_LINE_LIMIT);
    let total = text.lines().count();
    let mut output = String::new();
    let mut last = first - 1;
    for line in text.lines().skip(first - 1).take(most) {
        if output.len() + line.len() > limit && last >= first {
            break;
        }
        output.push_str(&super::head_and_tail(line, limit));
        output.push('\n');
        last += 1;
    }
    if first > 1 || last < total {
        let _ = writeln!(output, "[lines {first} to {last} of {total}]");
    }
    Ok(if text.is_empty() {
        "[the file is empty]".to_owned()
    } else {
        output
    })
}

pub(super) fn edit(
    root: &WorkspaceRoot,
    arguments: ToolArguments<'_>,
) -> Result<String, ToolError> {
    let (path, old, new) = (
        arguments.required_path()?,
        arguments.old_text()?,
        arguments.new_text()?,
    );
    let text = read_text(root, path)?;
    if old.is_empty() {
        return Err(ToolError::EmptyOldText);
    }
    match text.matches(old).count() {
        1 => {}
        0 => return Err(ToolError::OldTextMissing(path.to_owned())),
        count => {
            let path = path.to_owned();
            return Err(ToolError::OldTextAmbiguous { path, count });
        }
    }
    let changed = text.replacen(old, new, 1);
    root.write(path, changed.as_bytes())?;
    Ok(format!("changed `{path}`"))
}

pub(super) fn write(
    root: &WorkspaceRoot,
    arguments: ToolArguments<'_>,
) -> Result<String, ToolError> {
    let (path, content) = (arguments.required_path()?, arguments.content()?);
    root.write(path, content.as_bytes())?;
    Ok(format!("wrote {} bytes to `{path}`", content.len()))
}

fn read_text(root: &WorkspaceRoot, path: &str) -> Result<String, ToolError> {
    let bytes = root.read(path)?;
    // Editing a file that is not text would change bytes unintentionally.
    String::from_utf8(bytes).map_err(|_| ToolError::NotText(path.to_owned()))
}

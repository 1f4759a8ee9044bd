//! Lists and searches files, except those that git ignores and git's own.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use regex::{Regex, RegexBuilder};

use super::super::workspace_fs::WorkspaceRoot;
use super::ToolError;
use super::arguments::ToolArguments;
use crate::agents::final_message::shorten;

/// Maximum files listed.
const MAX_LISTED_FILES: usize = 500;
/// Maximum files searched.
const MAX_SEARCHED_FILES: usize = 20_000;
/// Maximum bytes of a searched file; larger ones are skipped.
const MAX_SEARCHED_FILE_BYTES: usize = 1 << 20;
/// Maximum matching lines returned.
const MAX_MATCHES: usize = 100;
/// Maximum characters of a returned line.
const MAX_LINE_CHARS: usize = 200;
/// Maximum bytes of memory of a regular expression.
const REGEX_MEMORY_LIMIT: usize = 1 << 20;

pub(super) fn list(
    root: &WorkspaceRoot,
    arguments: ToolArguments<'_>,
    limit: usize,
) -> Result<String, ToolError> {
    let directory = root.directory(arguments.path().unwrap_or("."))?;
    let mut output = String::new();
    let mut listed = 0;
    let mut left_out = 0;
    for file in files_below(&directory) {
        let name = relative_name(root, &file);
        if listed >= MAX_LISTED_FILES || output.len() + name.len() > limit {
            left_out += 1;
            continue;
        }
        output.push_str(&name);
        output.push('\n');
        listed += 1;
    }
    if left_out > 0 {
        let _ = writeln!(
            output,
            "[{left_out} more files; list a directory to see them]"
        );
    }
    Ok(if output.is_empty() {
        "[no files]".to_owned()
    } else {
        output
    })
}

pub(super) fn search(
    root: &WorkspaceRoot,
    arguments: ToolArguments<'_>,
    limit: usize,
) -> Result<String, ToolError> {
    let pattern = compile_pattern(arguments.required_pattern()?)?;
    let path = arguments.path().unwrap_or(".");
    let files: Vec<PathBuf> = if let Ok(directory) = root.directory(path) {
        files_below(&directory).take(MAX_SEARCHED_FILES).collect()
    } else {
        root.read(path)?;
        vec![root.resolve(path)?]
    };
    let mut output = String::new();
    let mut matches = 0;
    for file in files {
        let name = relative_name(root, &file);
        let Ok(bytes) = root.read(&name) else {
            continue;
        };
        if bytes.len() > MAX_SEARCHED_FILE_BYTES || bytes.contains(&0) {
            continue;
        }
        let text = String::from_utf8_lossy(&bytes);
        for (number, line) in text
            .lines()
            .enumerate()
            .filter(|(_, line)| pattern.is_match(line))
        {
            if matches >= MAX_MATCHES || output.len() > limit {
                output.push_str("[more matches omitted; use a more specific pattern]\n");
                return Ok(output);
            }
            let line = shorten(line.trim(), MAX_LINE_CHARS);
            let _ = writeln!(output, "{name}:{}: {line}", number + 1);
            matches += 1;
        }
    }
    Ok(if output.is_empty() {
        "[no matches]".to_owned()
    } else {
        output
    })
}

/// Compiles the pattern as a regular expression; taken literally if it is invalid.
fn compile_pattern(pattern: &str) -> Result<Regex, ToolError> {
    let build = |text: &str| {
        RegexBuilder::new(text)
            .size_limit(REGEX_MEMORY_LIMIT)
            .build()
    };
    build(pattern)
        .or_else(|_| build(&regex::escape(pattern)))
        .map_err(ToolError::InvalidPattern)
}

/// Every file below a directory that git does not ignore, in order; symbolic links are not
/// followed.
fn files_below(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let walk = WalkBuilder::new(directory)
        .hidden(false)
        .require_git(false)
        .git_global(false)
        .follow_links(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .sort_by_file_name(Ord::cmp)
        .build();
    walk.filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .map(ignore::DirEntry::into_path)
}

fn relative_name(root: &WorkspaceRoot, file: &Path) -> String {
    root.relative_path(file).to_string_lossy().into_owned()
}

//! Build files that list sources: a list that gains, loses or renames sources of the work is not a change of how the
//! checks run.

use imara_diff::{Algorithm, Diff, InternedInput};

use super::config_files::side_of_config;
use super::manifest::MergeResult;
use super::references::{folder_of, join, name_of};
use super::sides::ProjectSide;
use crate::guard::{ChangedFile, Pattern};

/// Build files whose lists of compiled sources are merged.
static LISTS_SOURCES: Pattern = Pattern::new(
    r"(?i)^(?:cmakelists\.txt|[^/]*\.cmake|(?:gnu)?makefile(?:\.\w+)?|[^/]*\.mk|meson\.build|build(?:\.bazel)?|sources(?:\.\w+)?)$",
);
/// Larger files are not read.
const MAX_BYTES: usize = 1 << 20;

/// The base's build file with the attempt's changes of lists of sources, and of options that only concern the work
/// (`is_option_of_work`). `None` if the file does not list sources, was added or removed, or no such list changed.
pub(super) fn merge_build_sources(
    change: &ChangedFile<'_>,
    is_work: &dyn Fn(&str) -> bool,
    is_option_of_work: &dyn Fn(&str) -> bool,
) -> Option<MergeResult> {
    let is_build = side_of_config(change.path) == Some(ProjectSide::Shared);
    if !is_build || !LISTS_SOURCES.is_match(name_of(change.path)) {
        return None;
    }
    let text = |bytes: Option<&'_ [u8]>| {
        let text = std::str::from_utf8(bytes?).ok()?;
        (text.len() <= MAX_BYTES).then(|| text.to_owned())
    };
    let (before, after) = (text(change.before)?, text(change.after)?);
    let folder = folder_of(change.path);
    // Objects are compiled from sources of the same name.
    let is_source = |word: &str| {
        if word.starts_with('-') {
            return is_option_of_work(word);
        }
        let path = word.strip_suffix(".o").map(|stem| format!("{stem}.c"));
        let path = join(folder, path.as_deref().unwrap_or(word));
        path.is_some_and(|path| is_work(&path))
    };
    let merged = merge_words(&before, &after, &is_source)?;
    Some(if merged == after {
        MergeResult::Same
    } else {
        MergeResult::Merged(merged.into_bytes())
    })
}

/// Applies those differences to `before` that only add, remove or replace words that are sources.
fn merge_words(before: &str, after: &str, is_source: &dyn Fn(&str) -> bool) -> Option<String> {
    let (old, new) = (words(before), words(after));
    let mut input: InternedInput<&str> = InternedInput::default();
    input.update_before(old.iter().copied());
    input.update_after(new.iter().copied());
    let diff = Diff::compute(Algorithm::Histogram, &input);
    let range = |it: std::ops::Range<u32>| it.start as usize..it.end as usize;
    let mut merged = String::new();
    let mut at = 0;
    let mut is_changed = false;
    for hunk in diff.hunks() {
        let (removed, added) = (range(hunk.before), range(hunk.after));
        merged.extend(old.get(at..removed.start)?.iter().copied());
        let changed = || old[removed.clone()].iter().chain(&new[added.clone()]);
        let is_blank = |word: &str| word.trim().is_empty() || word == "\\";
        let is_list = changed().all(|word| is_blank(word) || is_source(word))
            && changed().any(|word| is_source(word))
            // A line that ends elsewhere moves what follows to another command.
            && ends_lines_alike(&old[removed.clone()], &new[added.clone()]);
        let taken = if is_list {
            &new[added]
        } else {
            &old[removed.clone()]
        };
        is_changed |= is_list;
        merged.extend(taken.iter().copied());
        at = removed.end;
    }
    merged.extend(old.get(at..)?.iter().copied());
    is_changed.then_some(merged)
}

/// Whether both have continued lines only, or none.
fn ends_lines_alike(old: &[&str], new: &[&str]) -> bool {
    let plain_ends = |words: &[&str]| {
        let text = words.concat();
        text.matches('\n').count() - text.matches("\\\n").count()
    };
    // Within parentheses lines may end anywhere; in a makefile a line ends its list.
    plain_ends(old) == plain_ends(new)
        || !new.concat().contains('\t') && !old.concat().contains('\t')
}

/// The words of a text, and what is between them.
fn words(text: &str) -> Vec<&str> {
    let is_word = |it: char| it.is_alphanumeric() || "_./-+$".contains(it);
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = if is_word(first) {
            rest.find(|it| !is_word(it)).unwrap_or(rest.len())
        } else if first == ' ' || first == '\t' {
            rest.find(|it| it != ' ' && it != '\t')
                .unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (word, behind) = rest.split_at(end);
        words.push(word);
        rest = behind;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merge(path: &str, before: &str, after: &str) -> Option<String> {
        let change = ChangedFile {
            path,
            before: Some(before.as_bytes()),
            after: Some(after.as_bytes()),
        };
        let is_work = |path: &str| {
            std::path::Path::new(path)
                .extension()
                .is_some_and(|it| it == "c")
                && !path.contains("test")
        };
        match merge_build_sources(&change, &is_work, &|word| word == "-lm")? {
            MergeResult::Same => Some("same".to_owned()),
            MergeResult::Merged(bytes) => Some(String::from_utf8(bytes).unwrap()),
            MergeResult::Unreadable => None,
        }
    }

    #[test]
    fn build_sources_are_those_of_the_attempt() {
        let cmake = "add_library(sum sum.c)\nadd_executable(test_sum test_sum.c)\n";
        for (path, before, after) in [
            (
                "CMakeLists.txt",
                cmake,
                "add_library(sum sum.c util.c)\nadd_executable(test_sum test_sum.c)\n",
            ),
            (
                "CMakeLists.txt",
                cmake,
                "add_library(sum\n  src/total.c\n  util.c)\nadd_executable(test_sum test_sum.c)\n",
            ),
            (
                "Makefile",
                "OBJS = sum.o\n",
                "OBJS = sum.o \\\n    util.o\n",
            ),
            ("Makefile", "SRC = sum.c util.c\n", "SRC = sum.c\n"),
            ("Makefile", "LDLIBS = -lz\n", "LDLIBS = -lz -lm\n"),
        ] {
            assert_eq!(
                merge(path, before, after).as_deref(),
                Some("same"),
                "{after}"
            );
        }
        let both = "add_library(sum sum.c util.c)\nadd_executable(test_sum test_none.c)\n";
        assert_eq!(
            merge("CMakeLists.txt", cmake, both).as_deref(),
            Some("add_library(sum sum.c util.c)\nadd_executable(test_sum test_sum.c)\n")
        );
        for after in [
            "add_library(sum sum.c)\n",
            "add_library(sum sum.c)\nadd_executable(test_sum)\n",
            "add_library(sum sum.c)\nadd_executable(test_sum test_sum.c -DNDEBUG)\n",
        ] {
            assert_eq!(merge("CMakeLists.txt", cmake, after), None, "{after}");
        }
        assert_eq!(merge("Makefile", "LDLIBS =\n", "LDLIBS = -lfake\n"), None);
        let check = "test: all\n\t./test_sum\n";
        assert_eq!(
            merge("Makefile", check, "test: all\n\techo ./test_sum\n"),
            None
        );
    }
}

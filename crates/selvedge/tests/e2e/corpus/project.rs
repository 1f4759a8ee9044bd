//! The format of the corpus: a project, and the changes that agents make to it.

use std::collections::BTreeMap;
use std::path::Path;

use selvedge_testkit::{TestEnv, is_available};
use serde::Deserialize;

use crate::tools::with_tools;

/// Files of a project: path to text. A text that begins with `#!` is executable.
pub(super) type Files = BTreeMap<String, String>;

/// Keeps out of the commit what runners leave behind; a project may have its own.
const GITIGNORE: &str =
    "__pycache__/\n.pytest_cache/\n.mypy_cache/\n.ruff_cache/\nnode_modules/\ntarget/\n";

/// A small project with a task to be done, and what agents made of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Project {
    /// The runner as people call it, perhaps with the layout: `pytest, src layout`.
    pub(super) runner: String,
    /// Shell commands that succeed where the project can be checked: `python3 -m pytest --version`.
    #[serde(default)]
    needs: Vec<String>,
    /// Packages of npm that the project has in its `node_modules`: of those that the suite installs.
    #[serde(default)]
    pub(super) npm: Vec<String>,
    /// The check, for a shell.
    run: String,
    /// Succeeds only if the work is done, whatever happened to the tests: a shell command that must not depend on
    /// anything that a cheat in the project changes.
    truth: String,
    /// What the agent is asked for.
    task: String,
    /// The files that the agent finds.
    base: Files,
    /// The work, done right: every honest change begins with it.
    #[serde(default)]
    fix: Files,
    /// Files that are in the project only while `truth` runs.
    #[serde(default)]
    hidden: Files,
    /// What agents made of it.
    #[serde(rename = "change")]
    pub(super) changes: Vec<Change>,
}

/// What one agent did.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Change {
    /// What was done.
    pub(super) name: String,
    /// Whether the work is done.
    pub(super) kind: Kind,
    /// The way of a cheat, or the sort of honest work: the same words for cases of the same class.
    pub(super) mechanism: String,
    /// Instead of the project's.
    task: Option<String>,
    /// Instead of the project's.
    run: Option<String>,
    /// Instead of the project's.
    truth: Option<String>,
    /// Files that the agent finds beside the project's, or instead of them.
    #[serde(default)]
    base: Files,
    /// Files of the project that this agent does not find.
    #[serde(default)]
    without: Vec<String>,
    /// Files that are in the project only while `truth` runs, beside the project's.
    #[serde(default)]
    hidden: Files,
    /// Whether the agent finds the project with its `fix`: for tasks of their own, where nothing fails before.
    #[serde(default)]
    pub(super) starts_fixed: bool,
    /// Files or folders that got other names. Done first, then `remove`, `write`, `edit`, `link`, `script`.
    #[serde(default)]
    rename: Vec<Rename>,
    /// Files or folders that were removed.
    #[serde(default)]
    remove: Vec<String>,
    /// Files that were written.
    #[serde(default)]
    write: Files,
    /// Texts in files that were replaced.
    #[serde(default)]
    edit: Vec<Edit>,
    /// Symbolic links that were made.
    #[serde(default)]
    link: Vec<Link>,
    /// Shell commands that the agent ran in the end.
    #[serde(default)]
    pub(super) script: String,
    /// What the task declares of its changes to tests.
    #[serde(default)]
    pub(super) expect_test_changes: Vec<String>,
    /// Why a cheat leaves nothing to be seen.
    pub(super) undetectable: Option<String>,
    /// Why a person is rightly asked about an honest change.
    pub(super) review: Option<String>,
}

/// Whether the work is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Cheat,
    Honest,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rename {
    from: String,
    to: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    path: String,
    /// Is in the file exactly once, unless `all` is set.
    from: String,
    to: String,
    #[serde(default)]
    all: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Link {
    path: String,
    target: String,
}

/// A project's files after a change, and its links.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tree {
    pub(super) files: Files,
    /// Path to target.
    pub(super) links: Files,
}

/// Loads every project of the corpus, in the order of their files' names.
pub(super) fn load_all() -> Vec<Project> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let entries = std::fs::read_dir(&folder).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|it| it == "toml"));
    paths.sort();
    let load = |path: &std::path::PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    paths.iter().map(load).collect()
}

impl Project {
    /// Whether the programs that the project needs are there; says so if not.
    pub(super) fn is_available(&self) -> bool {
        self.needs.iter().all(|need| {
            let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
            let output = with_tools(env.command("sh").args(["-c", need]), &env).run();
            let found = match output.code {
                0 => Ok(()),
                _ => Err(format!("`{need}` failed\n{output}")),
            };
            is_available(&self.runner, &found)
        })
    }

    /// What the agent is asked for.
    pub(super) fn task<'a>(&'a self, change: &'a Change) -> &'a str {
        change.task.as_deref().unwrap_or(&self.task)
    }

    /// The check, for a shell.
    pub(super) fn run<'a>(&'a self, change: &'a Change) -> &'a str {
        change.run.as_deref().unwrap_or(&self.run)
    }

    /// The command that succeeds only if the work is done.
    pub(super) fn truth<'a>(&'a self, change: &'a Change) -> &'a str {
        change.truth.as_deref().unwrap_or(&self.truth)
    }

    /// The files that `truth` needs beside the project's.
    pub(super) fn hidden(&self, change: &Change) -> Files {
        let mut files = self.hidden.clone();
        files.extend(change.hidden.clone());
        files
    }

    /// The files that the agent finds.
    pub(super) fn before(&self, change: &Change) -> Files {
        let mut files = Files::from([(".gitignore".to_owned(), GITIGNORE.to_owned())]);
        files.extend(self.base.clone());
        if change.starts_fixed {
            files.extend(self.fix.clone());
        }
        files.extend(change.base.clone());
        files.retain(|path, _| !change.without.contains(path));
        files
    }

    /// The files that the agent leaves.
    pub(super) fn after(&self, change: &Change) -> Tree {
        let mut files = self.before(change);
        if change.kind == Kind::Honest && !change.starts_fixed {
            files.extend(self.fix.clone());
        }
        for Rename { from, to } in &change.rename {
            let moved = files.extract_if(.., |path, _| is_below(path, from));
            let renamed: Files = moved
                .map(|(path, text)| (format!("{to}{}", &path[from.len()..]), text))
                .collect();
            assert!(!renamed.is_empty(), "{from} is not there to be renamed");
            files.extend(renamed);
        }
        for removed in &change.remove {
            let count = files
                .extract_if(.., |path, _| is_below(path, removed))
                .count();
            assert!(count > 0, "{removed} is not there to be removed");
        }
        files.extend(change.write.clone());
        for edit in &change.edit {
            let text = files.get_mut(&edit.path);
            let text = text.unwrap_or_else(|| panic!("{} is not there to be edited", edit.path));
            let count = text.matches(&edit.from).count();
            let fits = count == 1 || (edit.all && count > 0);
            assert!(fits, "`{}` is in {} {count} times", edit.from, edit.path);
            *text = text.replace(&edit.from, &edit.to);
        }
        let links = change.link.iter();
        let links: Files = links
            .map(|link| (link.path.clone(), link.target.clone()))
            .collect();
        files.retain(|path, _| !links.keys().any(|link| is_below(path, link)));
        Tree { files, links }
    }
}

/// Whether a path is `folder` or below it.
pub(super) fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

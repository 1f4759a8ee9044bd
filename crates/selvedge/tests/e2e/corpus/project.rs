//! The format of the corpus: a project, and the changes that agents make to it.

use std::collections::BTreeMap;
use std::path::Path;

use selvedge_testkit::{TestEnv, is_available};
use serde::Deserialize;

use crate::tools::with_tools;

/// Files of a project: path to text. A text that begins with `#!` is executable.
pub(super) type Files = BTreeMap<String, String>;

/// Excludes the files that runners leave from the commit; a project may have its own.
const GITIGNORE: &str =
    "__pycache__/\n.pytest_cache/\n.mypy_cache/\n.ruff_cache/\nnode_modules/\ntarget/\n";

/// A small project with a task, and the changes that agents make for it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Project {
    /// The runner's usual name, optionally with the layout: `pytest, src layout`.
    pub(super) runner: String,
    /// Shell commands that succeed if the project can be checked: `python3 -m pytest --version`.
    #[serde(default)]
    needs: Vec<String>,
    /// npm packages in the project's `node_modules`, from those that the suite installs.
    #[serde(default)]
    pub(super) npm: Vec<String>,
    /// The check, a shell command.
    run: String,
    /// A shell command that succeeds only if the work is done. It must not depend on anything that a cheat in
    /// the project changes.
    truth: String,
    /// The task of the agent.
    task: String,
    /// The files before the agent runs.
    base: Files,
    /// The correct work; every honest change begins with it.
    #[serde(default)]
    fix: Files,
    /// Files that are in the project only while `truth` runs.
    #[serde(default)]
    hidden: Files,
    /// The changes that agents make.
    #[serde(rename = "change")]
    pub(super) changes: Vec<Change>,
}

/// The change that one agent makes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Change {
    pub(super) name: String,
    /// Whether the work is done.
    pub(super) kind: Kind,
    /// The kind of cheat or of honest work; the same for all cases of one class.
    pub(super) mechanism: String,
    /// Replaces the project's task.
    task: Option<String>,
    /// Replaces the project's check.
    run: Option<String>,
    /// Replaces the project's `truth`.
    truth: Option<String>,
    /// Files before the agent runs, in addition to the project's or replacing them.
    #[serde(default)]
    base: Files,
    /// Files of the project that are removed before this agent runs.
    #[serde(default)]
    without: Vec<String>,
    /// More files that are in the project only while `truth` runs.
    #[serde(default)]
    hidden: Files,
    /// Whether `fix` is applied before the agent runs: for other tasks, in which nothing fails before.
    #[serde(default)]
    pub(super) starts_fixed: bool,
    /// Renamed files or folders. The order is: `rename`, `remove`, `write`, `edit`, `link`, `script`.
    #[serde(default)]
    rename: Vec<Rename>,
    /// Removed files or folders.
    #[serde(default)]
    remove: Vec<String>,
    /// Written files.
    #[serde(default)]
    write: Files,
    /// Replaced texts in files.
    #[serde(default)]
    edit: Vec<Edit>,
    /// Created symbolic links.
    #[serde(default)]
    link: Vec<Link>,
    /// Shell commands that the agent runs last.
    #[serde(default)]
    pub(super) script: String,
    /// The changes of tests that the task declares.
    #[serde(default)]
    pub(super) expect_test_changes: Vec<String>,
    /// Why a cheat cannot be detected.
    pub(super) undetectable: Option<String>,
    /// Why an honest change rightly needs a review.
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
    /// Occurs in the file exactly once, unless `all` is set.
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

/// A project's files and links after a change.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tree {
    pub(super) files: Files,
    /// Path to target.
    pub(super) links: Files,
}

/// Loads all projects of the corpus, sorted by file name.
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
    /// Returns whether the programs that the project needs are installed; reports it if not.
    pub(super) fn is_available(&self) -> bool {
        self.needs.iter().all(|need| {
            let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
            let output = with_tools(env.command("sh").args(["-c", need]), &env).run();
            let availability = match output.code {
                0 => Ok(()),
                _ => Err(format!("`{need}` failed\n{output}")),
            };
            is_available(&self.runner, &availability)
        })
    }

    /// Returns the task of the agent.
    pub(super) fn task<'a>(&'a self, change: &'a Change) -> &'a str {
        change.task.as_deref().unwrap_or(&self.task)
    }

    /// Returns the check, a shell command.
    pub(super) fn run<'a>(&'a self, change: &'a Change) -> &'a str {
        change.run.as_deref().unwrap_or(&self.run)
    }

    /// Returns the command that succeeds only if the work is done.
    pub(super) fn truth<'a>(&'a self, change: &'a Change) -> &'a str {
        change.truth.as_deref().unwrap_or(&self.truth)
    }

    /// Returns the additional files of `truth`.
    pub(super) fn hidden(&self, change: &Change) -> Files {
        let mut files = self.hidden.clone();
        files.extend(change.hidden.clone());
        files
    }

    /// Returns the files before the agent runs.
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

    /// Returns the files after the agent has run.
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

/// Returns whether a path is `folder` or below it.
pub(super) fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

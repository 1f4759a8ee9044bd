//! The corpus of tricks and honest changes: what stood there, what an agent made of it, and what is
//! expected of the guard. Used by the guard's own test, by the end-to-end control that runs each
//! trick on its real runner.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Files of a project: path to text.
pub(crate) type Files = BTreeMap<String, String>;

/// The cases of one runner.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Group {
    /// As people call it.
    pub(crate) runner: String,
    /// What every case starts from.
    pub(crate) project: Files,
    /// The check, for a shell; only tricks have one.
    #[serde(default)]
    pub(crate) run: String,
    /// What the agent is asked for.
    pub(crate) task: String,
    /// Files of work that is right, which a run must call verified; only tricks have some.
    #[serde(default)]
    pub(crate) mended: Files,
    /// Changes that pass without being right.
    #[serde(default)]
    pub(crate) trick: Vec<Case>,
    /// Changes that are honest work.
    #[serde(default)]
    pub(crate) honest: Vec<Case>,
}

/// One change.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    /// What was done.
    pub(crate) name: String,
    /// Instead of the group's.
    pub(crate) task: Option<String>,
    /// Instead of the group's.
    pub(crate) run: Option<String>,
    /// Files of the start beside the group's, or instead of them.
    #[serde(default)]
    pub(crate) start: Files,
    /// Files that the agent wrote.
    #[serde(default)]
    pub(crate) work: Files,
    /// Files that the agent removed.
    #[serde(default)]
    pub(crate) removed: Vec<String>,
    /// Globs that the task allows.
    #[serde(default)]
    pub(crate) allow: Vec<String>,
    /// The strongest thing that the guard says: `offence`, `strong`, or `clean` (weak flags are
    /// shown and weigh nothing).
    #[serde(default = "clean")]
    pub(crate) guard: String,
    /// What the evidence rule sees of it in a machine report, if anything.
    pub(crate) evidence: Option<String>,
}

fn clean() -> String {
    "clean".to_owned()
}

/// All groups, tricks first.
pub(crate) fn groups() -> Result<Vec<Group>, toml::de::Error> {
    let texts = [
        include_str!("cases/pytest.toml"),
        include_str!("cases/node.toml"),
        include_str!("cases/jest.toml"),
        include_str!("cases/cargo.toml"),
        include_str!("cases/go.toml"),
        include_str!("cases/shell.toml"),
        include_str!("cases/honest_python.toml"),
        include_str!("cases/honest_node.toml"),
        include_str!("cases/honest_compiled.toml"),
        include_str!("cases/honest_shell.toml"),
    ];
    texts.iter().map(|text| toml::from_str(text)).collect()
}

impl Group {
    /// The project as the agent finds it.
    pub(crate) fn before(&self, case: &Case) -> Files {
        let mut files = self.project.clone();
        files.extend(case.start.clone());
        // An empty text says that the case starts without the group's file.
        files.retain(|_, text| !text.is_empty());
        files
    }

    /// The project as the agent leaves it.
    pub(crate) fn after(&self, case: &Case) -> Files {
        let mut files = self.before(case);
        files.extend(case.work.clone());
        files.retain(|path, _| !case.removed.contains(path));
        files
    }

    /// What the agent is asked for.
    pub(crate) fn task<'a>(&'a self, case: &'a Case) -> &'a str {
        case.task.as_deref().unwrap_or(&self.task)
    }

    /// The check, for a shell.
    pub(crate) fn run<'a>(&'a self, case: &'a Case) -> &'a str {
        case.run.as_deref().unwrap_or(&self.run)
    }
}

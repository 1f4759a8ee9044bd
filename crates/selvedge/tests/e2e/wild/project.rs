//! A project, its seeded bug, and its repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use selvedge_testkit::{CommandOutput, Invocation, TestEnv};
use serde::Deserialize;

use crate::archives::{Archive, Registry, write};
use crate::tools::{with_homes, with_registries};

/// Excluded from commits, in addition to what the project itself ignores.
const GITIGNORE: &str = "\n__pycache__/\n.pytest_cache/\n*.egg-info/\n.venv/\nnode_modules/\n/target/\n/build/\n\
                         /vendor/\n*.o\n*.a\n";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Project {
    /// The name of its file.
    #[serde(skip)]
    pub(super) name: String,
    pub(super) ecosystem: String,
    pub(super) runner: String,
    registry: Registry,
    /// Its name in the registry, if that is another one.
    package: Option<String>,
    pub(super) version: String,
    sha256: String,
    /// Programs of the machine that it needs.
    #[serde(default)]
    needs: Vec<String>,
    /// A script that installs its dependencies, as its maintainers do.
    #[serde(default)]
    install: String,
    pub(super) task: String,
    /// A part of the command of the check that must find the bug.
    pub(super) check: String,
    /// A part of the name of a test that fails because of the bug.
    pub(super) test: String,
    /// Tests that fail on current platforms.
    #[serde(default)]
    pub(super) known_failures: Vec<String>,
    bug: Edit,
    wrong: Edit,
    cheat: Edit,
}

/// Replaces a text that a file contains once. An empty text means a new file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Edit {
    pub(super) file: String,
    from: String,
    to: String,
}

/// How the agent handles the bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    Wrong,
    Fix,
    Cheat,
}

impl Work {
    pub(super) const ALL: [Self; 3] = [Self::Wrong, Self::Fix, Self::Cheat];

    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Wrong => "wrong edit",
            Self::Fix => "fix",
            Self::Cheat => "cheat",
        }
    }
}

impl Project {
    pub(super) fn load_all() -> Vec<Self> {
        let entries = fs::read_dir(data()).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let mut projects: Vec<Self> = paths.map(|path| Self::read(&path)).collect();
        projects.sort_by(|one, other| {
            (&one.ecosystem, &one.name).cmp(&(&other.ecosystem, &other.name))
        });
        projects
    }

    pub(super) fn load(name: &str) -> Self {
        Self::read(&data().join(format!("{name}.toml")))
    }

    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let mut project: Self =
            toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let name = path.file_stem().unwrap().to_str().unwrap();
        name.clone_into(&mut project.name);
        project
    }

    /// A program that the project needs and that the machine does not have.
    pub(super) fn missing_program(&self) -> Option<&str> {
        let is_missing = |program: &&String| {
            let mut search = Command::new("sh");
            search.args(["-c", "command -v \"$1\"", "sh", program]);
            !search.output().unwrap().status.success()
        };
        self.needs.iter().find(is_missing).map(String::as_str)
    }

    /// Creates the project's repository with the bug and installs its dependencies.
    pub(super) fn prepare(&self) -> TestEnv {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        // With the default sandbox, as for a user.
        let env = TestEnv::new_in(folder, program()).with_sandbox("auto");
        let archive = Archive {
            registry: self.registry,
            package: self.package.as_ref().unwrap_or(&self.name),
            version: &self.version,
            sha256: &self.sha256,
        };
        for (path, file) in archive.files(GITIGNORE) {
            write(&env.work_dir(), &path, &file);
        }
        let seeded = self.bug.apply(&env);
        env.write(&self.bug.file, seeded);
        if !self.install.is_empty() {
            let install = format!("set -e\n{}", self.install);
            shell(&env, &install).assert_code(0);
        }
        env.create_repo();
        env
    }

    pub(super) fn edit(&self, work: Work) -> Edit {
        match work {
            Work::Wrong => self.wrong.clone(),
            Work::Fix => Edit {
                from: self.bug.to.clone(),
                to: self.bug.from.clone(),
                ..self.bug.clone()
            },
            Work::Cheat => self.cheat.clone(),
        }
    }
}

impl Edit {
    /// The new content of the file.
    pub(super) fn apply(&self, env: &TestEnv) -> String {
        if self.from.is_empty() {
            return self.to.clone();
        }
        let text = env.read(&self.file);
        let found = text.matches(&self.from).count();
        assert_eq!(
            found, 1,
            "{} contains it {found} times: {}",
            self.file, self.from
        );
        text.replace(&self.from, &self.to)
    }
}

/// The program to try: another build if the variable names one.
fn program() -> PathBuf {
    let other = std::env::var_os("SELVEDGE_WILD_PROGRAM");
    other.map_or_else(|| env!("CARGO_BIN_EXE_selvedge").into(), PathBuf::from)
}

/// The folder with the projects.
fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wild")
}

/// Runs a command line outside of Selvedge, with the tools of the machine.
pub(super) fn shell(env: &TestEnv, command: &str) -> CommandOutput {
    with_machine(env.command("sh").args(["-c", command]), env).run()
}

/// The homes of toolchains and the registries.
pub(super) fn with_machine(run: Invocation, env: &TestEnv) -> Invocation {
    with_registries(with_homes(run), env)
}

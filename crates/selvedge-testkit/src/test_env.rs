//! A hermetic environment for a test of the real binary: home, state, configuration, caches, scratch
//! files and git identity are all in one temporary directory, and only `PATH` is taken from the
//! caller's environment. When it is dropped, all processes that live in it are killed.

mod child;
mod invocation;
mod normalise;
mod output;
mod probe_results;
mod process_tree;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

pub use child::SpawnedProgram;
pub use invocation::Invocation;
pub use output::{CommandOutput, assert_contains};
pub use process_tree::RunningProcess;

/// Author and date are fixed, so that the same files result in the same commit everywhere.
const GIT_CONFIG: &str = "\
[user]
\tname = Test Person
\temail = person@example.org
[init]
\tdefaultBranch = main
[commit]
\tgpgsign = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
";
const COMMIT_DATE: &str = "2000-01-01T00:00:00Z";

/// The hermetic environment.
#[derive(Debug)]
pub struct TestEnv {
    binary: PathBuf,
    root: PathBuf,
    sandbox: &'static str,
    sandbox_profile: Option<&'static str>,
    _directory: TempDir,
}

impl TestEnv {
    /// Creates an environment for the program `binary`: `TestEnv::new(env!("CARGO_BIN_EXE_selvedge"))`.
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        Self::new_in(&std::env::temp_dir(), binary)
    }

    /// Creates an environment below `folder`, for programs that reject files below a world-writable
    /// folder, such as the one for temporary files.
    pub fn new_in(folder: &Path, binary: impl Into<PathBuf>) -> Self {
        let directory = tempfile::Builder::new()
            .prefix("selvedge-test-")
            .tempdir_in(folder)
            .expect("a temporary directory");
        let root = directory
            .path()
            .canonicalize()
            .expect("the temporary directory's real path");
        for name in ["home", "work", "state", "config", "cache", "data", "tmp"] {
            fs::create_dir(root.join(name)).expect("a directory of the environment");
        }
        fs::write(root.join("gitconfig"), GIT_CONFIG).expect("the git configuration");
        probe_results::write_known(&root.join("state")).expect("the results of probes");
        Self {
            binary: binary.into(),
            root,
            sandbox: "none",
            sandbox_profile: None,
            _directory: directory,
        }
    }

    /// Sets the sandbox backend. The default is `none`, because most tests inspect files that agents
    /// and checks write outside the workspace.
    #[must_use]
    pub fn with_sandbox(mut self, backend: &'static str) -> Self {
        self.sandbox = backend;
        self
    }

    /// Sets the profile of the sandbox, for agents and checks.
    #[must_use]
    pub fn with_sandbox_profile(mut self, profile: &'static str) -> Self {
        self.sandbox_profile = Some(profile);
        self
    }

    /// The directory that contains all the others.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The default working directory of commands: empty until [`TestEnv::create_repo`] or
    /// [`TestEnv::write`] fills it.
    pub fn work_dir(&self) -> PathBuf {
        self.root.join("work")
    }

    /// `HOME`.
    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// `XDG_STATE_HOME`.
    pub fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    /// `XDG_CONFIG_HOME`.
    pub fn config(&self) -> PathBuf {
        self.root.join("config")
    }

    /// Makes the work directory a git repository with one commit: a README and everything that was
    /// written there before.
    pub fn create_repo(&self) -> PathBuf {
        self.write("README", "A small repository.\n");
        self.git(["init", "--quiet"]);
        self.commit("Begin");
        self.work_dir()
    }

    /// Commits everything in the work directory.
    pub fn commit(&self, message: &str) {
        self.git(["add", "--all"]);
        self.git(["commit", "--quiet", "--allow-empty", "--message", message]);
    }

    /// Runs git in the work directory and returns what it printed.
    #[track_caller]
    pub fn git<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> String {
        let git = self.command("git").args(args);
        let git = git
            .env("GIT_AUTHOR_DATE", COMMIT_DATE)
            .env("GIT_COMMITTER_DATE", COMMIT_DATE);
        git.run().assert_success().stdout.clone()
    }

    /// Writes a file, with the directories above it; relative paths start in the work directory.
    pub fn write(&self, path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.work_dir().join(path);
        fs::create_dir_all(path.parent().expect("a path to a file"))
            .expect("the directories above");
        fs::write(&path, contents).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }

    /// Reads a file as text; relative paths start in the work directory.
    #[track_caller]
    pub fn read(&self, path: impl AsRef<Path>) -> String {
        let path = self.work_dir().join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Returns an invocation of the program under test with these arguments; it is not started yet.
    pub fn selvedge<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Invocation {
        self.command(&self.binary).args(args)
    }

    /// Starts the program under test in the background.
    pub fn spawn<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> SpawnedProgram {
        self.selvedge(args).spawn()
    }

    /// Returns an invocation of another program in the same environment.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Invocation {
        let mut command = Command::new(program);
        command
            .env_clear()
            .current_dir(self.work_dir())
            .stdin(Stdio::null());
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.envs([
            ("TZ", "UTC"),
            ("LANG", "C.UTF-8"),
            ("NO_COLOR", "1"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("SELVEDGE_SANDBOX_BACKEND", self.sandbox),
        ]);
        for variable in ["SELVEDGE_SANDBOX_AGENTS", "SELVEDGE_SANDBOX_CHECKS"] {
            command.envs(self.sandbox_profile.map(|profile| (variable, profile)));
        }
        for (name, directory) in [
            ("HOME", "home"),
            ("XDG_STATE_HOME", "state"),
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_CACHE_HOME", "cache"),
            ("XDG_DATA_HOME", "data"),
            ("TMPDIR", "tmp"),
            ("GIT_CONFIG_GLOBAL", "gitconfig"),
        ] {
            command.env(name, self.root.join(directory));
        }
        Invocation::new(command, &self.root)
    }

    /// Returns the processes that live in this environment, whichever process started them: those whose
    /// working directory or environment variables refer to it. Linux only; empty elsewhere.
    pub fn processes(&self) -> Vec<RunningProcess> {
        process_tree::processes_in(&self.root)
    }

    /// Makes output identical on every machine and in every run, for snapshots: paths of the
    /// environment, ids, times, durations, hashes and ports become placeholders.
    pub fn normalise(&self, text: &str) -> String {
        normalise::normalise(text, &self.root, &self.binary)
    }
}

impl Drop for TestEnv {
    fn drop(&mut self) {
        process_tree::kill_all_in(&self.root);
        probe_results::learn(&self.state());
    }
}

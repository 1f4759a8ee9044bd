//! The optimized program and the directories that it works in.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::XtaskResult;
use crate::program;

/// The program, with its own home and state directory.
pub(super) struct BenchProgram {
    program: PathBuf,
    scratch: PathBuf,
}

impl BenchProgram {
    pub(super) fn build(scratch: &Path) -> XtaskResult<Self> {
        Self::with_program(&program::build_optimized()?, scratch)
    }

    pub(super) fn with_program(program: &Path, scratch: &Path) -> XtaskResult<Self> {
        Ok(Self {
            program: program.canonicalize()?,
            scratch: scratch.to_owned(),
        })
    }

    /// A command in a clean environment, with its output discarded.
    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(args)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.scratch.join("home"))
            .env("XDG_STATE_HOME", self.scratch.join("state"))
            // The cost of the sandbox is measured separately.
            .env("SELVEDGE_SANDBOX_BACKEND", "none")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// A `selvedge run` in a directory. The task's text does not matter: the agents here ignore it.
    pub(super) fn run(&self, dir: &Path, agent: &str, check: &str, retries: u32) -> Command {
        let retries = retries.to_string();
        let mut command = self.command(&["run", "anything", "--retries", &retries]);
        // The check runs once per attempt, as in the bare loop.
        command
            .env("SELVEDGE_VERIFICATION_RERUN_FAILED", "false")
            .env("SELVEDGE_VERIFICATION_BASELINE", "off")
            .args(["--agent-cmd", agent, "--check", check])
            .arg("--dir")
            .arg(dir);
        command
    }

    /// A directory without snapshots. They are turned off explicitly, because the scratch directory may
    /// be inside a repository.
    pub(super) fn plain_directory(&self) -> XtaskResult<PathBuf> {
        let directory = self.directory("plain")?;
        std::fs::write(
            directory.join("selvedge.toml"),
            "[workspace]\nsnapshots = false\n",
        )?;
        Ok(directory)
    }

    /// Creates an empty directory.
    pub(super) fn directory(&self, name: &str) -> XtaskResult<PathBuf> {
        let directory = self.scratch.join(name);
        std::fs::create_dir_all(&directory)?;
        Ok(directory)
    }

    /// Creates a repository with this many committed files of about 2 KB.
    pub(super) fn repository(&self, name: &str, files: u32) -> XtaskResult<PathBuf> {
        let root = self.directory(name)?;
        for number in 0..files {
            let folder = root.join(format!("src/part{}", number % 40));
            std::fs::create_dir_all(&folder)?;
            let line = format!("pub fn number_{number}() -> u32 {{ {number} }}\n");
            std::fs::write(folder.join(format!("file{number}.rs")), line.repeat(50))?;
        }
        let git = |args: &[&str]| {
            let mut git = Command::new("git");
            git.args([
                "-c",
                "user.name=bench",
                "-c",
                "user.email=bench@example.invalid",
            ]);
            program::run(git.args(args).current_dir(&root))
        };
        git(&["init", "--quiet"])?;
        git(&["add", "--all"])?;
        git(&["commit", "--quiet", "--allow-empty", "--message", "Begin"])?;
        Ok(root)
    }
}

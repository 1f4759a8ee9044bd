//! Files that workers need: their settings, and a repository to clone.

use std::path::Path;

use super::{ChaosError, ScriptedProvider};

/// Writes a worker's settings, which select the scripted agent.
pub(super) fn write_worker_config(
    root: &Path,
    name: &str,
    provider: &ScriptedProvider,
) -> Result<(), ChaosError> {
    let own = std::env::current_exe()?;
    let folder = root.join(format!("config-{name}/selvedge"));
    std::fs::create_dir_all(&folder)?;
    let config = format!(
        "agent = \"scripted\"\n[agents.scripted]\nkind = \"command\"\n\
         program = [\"{}\", \"agent\", \"{}\", \"{}\"]\n\
         [verification]\nbaseline = \"off\"\nrerun_failed = false\n[sandbox]\nbackend = \"none\"\n",
        own.display(),
        provider.address(),
        root.display()
    );
    Ok(std::fs::write(folder.join("config.toml"), config)?)
}

/// Creates a repository with one commit.
pub(super) fn create_repository(folder: &Path) -> Result<(), ChaosError> {
    std::fs::write(folder.join("README"), "A small repository.\n")?;
    let identity = [
        "-c",
        "user.name=Test Person",
        "-c",
        "user.email=person@example.org",
    ];
    for args in [
        &["init", "--quiet"][..],
        &["add", "--all"],
        &["commit", "--quiet", "--message", "Begin"],
    ] {
        let mut git = std::process::Command::new("git");
        git.args(identity)
            .args(args)
            .current_dir(folder)
            .env("GIT_CONFIG_NOSYSTEM", "1");
        let done = git.output()?;
        if !done.status.success() {
            return Err(String::from_utf8_lossy(&done.stderr).into_owned().into());
        }
    }
    Ok(())
}

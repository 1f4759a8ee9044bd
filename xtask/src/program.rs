//! Runs other programs; an exit code other than 0 is an error that names the command.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::XtaskResult;
use crate::workspace;

/// The cargo that runs xtask, in the root of the workspace.
pub(crate) fn cargo<I: AsRef<OsStr>>(args: impl IntoIterator<Item = I>) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(args).current_dir(workspace::root());
    // Remove the variables that cargo set for xtask. Build scripts depend on them, so that ring and its
    // dependents would be rebuilt whenever cargo runs from here and then by hand.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(name);
        }
    }
    command
}

/// Runs a command with xtask's own output and without input.
pub(crate) fn run(command: &mut Command) -> XtaskResult {
    let status = command
        .stdin(Stdio::null())
        .status()
        .map_err(|error| format!("cannot run {}: {error}", display_command(command)))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{}: {status}", display_command(command)).into())
    }
}

/// Builds the program with the profile for measurements; returns its path.
pub(crate) fn build_optimized() -> XtaskResult<PathBuf> {
    let build = ["build", "--profile", "optimized", "--package", "selvedge"];
    run(&mut cargo(build))?;
    let target = workspace::CargoMetadata::workspace_only()?.target_directory;
    Ok(target.join("optimized/selvedge"))
}

/// Runs a command and returns its standard output.
pub(crate) fn capture_output(command: &mut Command) -> XtaskResult<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot run {}: {error}", display_command(command)))?;
    if !output.status.success() {
        let error_output = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "{}: {}\n{error_output}",
            display_command(command),
            output.status
        )
        .into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Formats the command as a user would type it.
fn display_command(command: &Command) -> String {
    let program = command.get_program().to_string_lossy();
    let name = program.rsplit('/').next().unwrap_or_default();
    let args = command.get_args().map(OsStr::to_string_lossy);
    std::iter::once(name.into())
        .chain(args)
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_failure_names_command_and_output() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo 'no such thing' >&2; exit 3"]);
        let error = capture_output(&mut command).unwrap_err().to_string();
        assert!(error.starts_with("sh -c echo"), "{error}");
        assert!(error.contains("exit status: 3"), "{error}");
        assert!(error.contains("no such thing"), "{error}");
    }
}

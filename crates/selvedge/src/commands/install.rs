//! `selvedge install` and `selvedge uninstall`: set up an agent that its user starts.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use selvedge_core::model::exit_code;
use selvedge_engine::process::find_program;

use super::{canonical_directory, environment};
use crate::cli::InstallArgs;
use crate::error::CliError;
use crate::install::{
    AgentDirectories, InstallChange, InstallItem, InstallScope, apply, install_items, plan_install,
    plan_uninstall,
};
use crate::output::print_notice;
use crate::settings::{find_repository_file, git_root};

pub(super) fn install(args: &InstallArgs) -> Result<u8, CliError> {
    let target = Target::from_args(args)?;
    let changes = plan_install(&target.items)?;
    let title = args.agent.title();
    target.carry_out(
        &changes,
        args.dry_run,
        &format!("already set up in {title}"),
    )?;
    if let (InstallScope::Project(dir), false) = (&target.scope, args.dry_run)
        && find_repository_file(dir).is_none()
    {
        print_notice(
            "this directory has no selvedge.toml, so there is nothing to check yet: selvedge init",
        );
    }
    Ok(exit_code::VERIFIED)
}

pub(super) fn uninstall(args: &InstallArgs) -> Result<u8, CliError> {
    let target = Target::from_args(args)?;
    let changes = plan_uninstall(&target.items)?;
    let title = args.agent.title();
    target.carry_out(&changes, args.dry_run, &format!("not set up in {title}"))?;
    Ok(exit_code::VERIFIED)
}

/// The items to install, and where.
struct Target {
    scope: InstallScope,
    items: Vec<InstallItem>,
    /// The directory below which empty directories are removed.
    root: PathBuf,
}

impl Target {
    fn from_args(args: &InstallArgs) -> Result<Self, CliError> {
        let environment = environment();
        let variable = |name: &str| {
            let found = environment.iter().find(|(it, _)| it == name);
            found
                .map(|(_, value)| value.clone())
                .filter(|it| !it.is_empty())
        };
        let home = variable("HOME").map(PathBuf::from);
        let home = home.ok_or_else(|| CliError::usage("HOME is not set"))?;
        let data = variable("XDG_DATA_HOME");
        let data = data.map_or_else(|| home.join(".local/share"), PathBuf::from);
        let scope = if args.user {
            InstallScope::User
        } else {
            let dir = canonical_directory(args.dir.as_deref())?;
            let root = git_root(&dir).filter(|_| args.dir.is_none());
            InstallScope::Project(root.map_or_else(|| dir.clone(), Path::to_owned))
        };
        let root = match &scope {
            InstallScope::Project(dir) => dir.clone(),
            InstallScope::User => home.clone(),
        };
        let directories = AgentDirectories {
            home,
            environment,
            data,
        };
        let items = install_items(args.agent, &scope, &directories, &program_command()?);
        Ok(Self { scope, items, root })
    }

    fn carry_out(
        &self,
        changes: &[InstallChange],
        is_dry_run: bool,
        nothing: &str,
    ) -> Result<(), CliError> {
        if changes.is_empty() {
            outln!("{nothing}");
        }
        for change in changes {
            outln!("{}", describe(change, is_dry_run));
            if !is_dry_run {
                apply(change, &self.root)?;
            }
        }
        Ok(())
    }
}

fn describe(change: &InstallChange, is_dry_run: bool) -> String {
    let (verb, what) = match change {
        InstallChange::Write { path, .. } => (["write", "wrote"], path.display().to_string()),
        InstallChange::Remove { path } => (["remove", "removed"], path.display().to_string()),
        InstallChange::Run { argv } => (["run", "running"], argv.join(" ")),
        InstallChange::Keep { path } => (
            ["keep", "kept"],
            format!("{}: it was changed since", path.display()),
        ),
    };
    let [intended, done] = verb;
    if is_dry_run {
        format!("would {intended} {what}")
    } else {
        format!("{done} {what}")
    }
}

/// The command that starts this program: its name if the search path leads to it, else its path, quoted for a shell.
fn program_command() -> Result<String, CliError> {
    let program = std::env::current_exe().map_err(CliError::infrastructure)?;
    let name = "selvedge";
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = find_program(name, &path, Path::new("/"));
    let same = |found: &Path| found.canonicalize().ok() == program.canonicalize().ok();
    if program.file_name() == Some(OsStr::new(name)) && found.as_deref().is_some_and(same) {
        return Ok(name.to_owned());
    }
    let program = program.to_str().ok_or_else(|| {
        CliError::usage("the path of this program is not UTF-8, so no settings can name it")
            .hint("put a link to it into a directory of PATH")
    })?;
    Ok(format!("'{}'", program.replace('\'', "'\\''")))
}

//! `selvedge restore`: reverts the workspace to any tree of a run. The current state is snapshotted first, so that a
//! restore can be undone.

use selvedge_core::model::{TreeId, exit_code};
use selvedge_core::plan::Plan;
use selvedge_core::run::Run;
use selvedge_engine::workspace::WorkspaceError;
use selvedge_store::SqliteJournal;

use super::{environment, resolve_run};
use crate::cli::RestoreArgs;
use crate::error::CliError;
use crate::launch;
use crate::local::StateDir;
use selvedge_core::format::counted;

pub(super) fn run(args: &RestoreArgs) -> Result<u8, CliError> {
    let home = StateDir::from_environment(&environment())?;
    let journal = home.open_journal_read_only()?;
    let run_id = resolve_run(&home, &journal, args.run.as_deref())?;
    let state = home.replay(&journal, run_id)?;
    let (dir, tree) = match (&state.run, &state.plan) {
        (Some(run), _) => (&run.spec.workspace, resolve_tree(args, run)?),
        (None, Some(plan)) => (
            &plan.spec.workspace,
            resolve_plan_tree(args, &home, &journal, plan)?,
        ),
        (None, None) => return Err(CliError::usage("the run's journal is empty")),
    };
    let _lock = launch::lock_workspace(&home, dir, run_id)?;
    let workspace = home.open_workspace(dir).map_err(workspace_cli_error)?;
    let restored = workspace.restore(&tree).map_err(workspace_cli_error)?;
    let (changed, removed) = (restored.changed.len(), restored.removed.len());
    if changed + removed == 0 {
        outln!("{} already has that tree", dir.display());
        return Ok(exit_code::VERIFIED);
    }
    outln!(
        "{}: {} restored, {} removed",
        dir.display(),
        counted(changed as u64, "file"),
        counted(removed as u64, "file"),
    );
    outln!(
        "undo: selvedge restore {} --tree {}",
        run_id.short(),
        restored.backup_tree.as_str()
    );
    Ok(exit_code::VERIFIED)
}

fn resolve_tree(args: &RestoreArgs, run: &Run) -> Result<TreeId, CliError> {
    if let Some(tree) = &args.tree {
        return Ok(tree.clone());
    }
    let (tree, what) = match args.attempt {
        None => (run.start_tree.clone(), "the start of the run".to_owned()),
        Some(number) => {
            let attempt = run.attempt(number).ok_or_else(|| {
                let count = run.attempts.len();
                CliError::usage(format!(
                    "attempt {number} does not exist: the run has {count}"
                ))
            })?;
            (attempt.tree.clone(), format!("attempt {number}"))
        }
    };
    tree.ok_or_else(|| {
        CliError::usage(format!("no snapshot of {what} is stored"))
            .hint("snapshots need a git repository and a completed attempt")
    })
}

/// The tree to restore for a plan: the one that its first subtask began from.
fn resolve_plan_tree(
    args: &RestoreArgs,
    home: &StateDir,
    journal: &SqliteJournal,
    plan: &Plan,
) -> Result<TreeId, CliError> {
    if let Some(tree) = &args.tree {
        return Ok(tree.clone());
    }
    let short = plan.run_id.short();
    if args.attempt.is_some() {
        return Err(
            CliError::usage("a plan has subtasks, not attempts").hint(format!(
                "restore an attempt of a subtask's run; `selvedge show {short}` lists the runs"
            )),
        );
    }
    let first = plan
        .subtask_states
        .iter()
        .filter_map(|part| part.run_id)
        .min();
    let first = first
        .map(|run_id| home.replay(journal, run_id))
        .transpose()?;
    let tree = first.and_then(|state| state.run?.start_tree);
    tree.ok_or_else(|| {
        CliError::usage("no snapshot from before the plan is stored")
            .hint("snapshots need a git repository and a started subtask")
    })
}

fn workspace_cli_error(error: WorkspaceError) -> CliError {
    if error.is_disk_or_permission() {
        CliError::infrastructure(error)
    } else {
        CliError::usage(error)
    }
}

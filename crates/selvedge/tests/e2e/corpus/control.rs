//! The control: checks what a change achieves without Selvedge.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use selvedge_testkit::{CommandOutput, TestEnv};

use super::case::{Case, lay_out};
use super::packages;
use super::project::{Files, Kind};
use crate::tools::shell;

/// Cached results of the checks on the trees from which changes begin; most cases of a project share one.
#[derive(Default)]
pub(super) struct Controls {
    baselines: Mutex<HashMap<(Files, String), CommandOutput>>,
}

impl Controls {
    /// Verifies the case's claims: for a cheat, the check fails before the change and exits with 0 after it,
    /// and the work is still undone; after an honest change the work is done.
    pub(super) fn prove(&self, case: &Case<'_>) -> Result<(), String> {
        let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
        let Case { project, change } = case;
        lay_out(&env, &project.before(change));
        packages::install(&project.npm, &env.work_dir());
        env.create_repo();
        let agent = case.write_agent(&env);
        let changed = shell(&env, &agent);
        if changed.code != 0 {
            return Err(format!("the agent failed\n{changed}"));
        }
        let check = shell(&env, project.run(change));
        if check.code != 0 {
            return Err(format!("the check fails after the change\n{check}"));
        }
        // `truth` may use files that the check has left or built; this is intended.
        lay_out(&env, &project.hidden(change));
        let truth = shell(&env, project.truth(change));
        match (change.kind, truth.code) {
            (Kind::Honest, 0) => Ok(()),
            (Kind::Honest, _) => Err(format!("the work is not done\n{truth}")),
            (Kind::Cheat, 0) => Err(format!("the work is done, so this is no cheat\n{truth}")),
            (Kind::Cheat, _) if change.starts_fixed => Ok(()),
            (Kind::Cheat, _) => self.fails_before(case),
        }
    }

    fn fails_before(&self, case: &Case<'_>) -> Result<(), String> {
        let Case { project, change } = case;
        let (files, run) = (project.before(change), project.run(change).to_owned());
        let key = (files, run);
        let cached = self.baselines().get(&key).cloned();
        let output = cached.unwrap_or_else(|| {
            let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
            lay_out(&env, &key.0);
            packages::install(&project.npm, &env.work_dir());
            env.create_repo();
            let output = shell(&env, &key.1);
            self.baselines().insert(key, output.clone());
            output
        });
        // 126 and 127: the runner could not be started.
        match output.code {
            1..126 => Ok(()),
            _ => Err(format!(
                "the check does not fail before the change\n{output}"
            )),
        }
    }

    fn baselines(&self) -> MutexGuard<'_, HashMap<(Files, String), CommandOutput>> {
        self.baselines
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

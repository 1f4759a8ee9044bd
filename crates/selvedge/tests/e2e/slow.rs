//! A repository with a command that never ends and writes a heartbeat file, to test that it ends with its
//! agent.

use std::path::PathBuf;
use std::time::Duration;

use selvedge_testkit::{TestEnv, wait_until};

use crate::fixtures::env_with_repo;

pub(crate) struct EndlessCommand {
    pub(crate) env: TestEnv,
    heartbeat: PathBuf,
}

impl EndlessCommand {
    /// The command that an agent runs.
    pub(crate) const COMMAND: &str = "sh slow.sh";

    pub(crate) fn new() -> Self {
        let env = env_with_repo();
        // In the workspace: an agent's own sandbox may allow writes nowhere else.
        let heartbeat = env.work_dir().join("heartbeat");
        let file = heartbeat.display();
        let slow = format!("while :; do date +%N >> '{file}'; sleep 0.02; done\n");
        env.write("slow.sh", slow);
        env.write(".gitignore", "heartbeat\n");
        env.commit("Add something slow");
        Self { env, heartbeat }
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.heartbeat.exists()
    }

    pub(crate) fn wait_for_start(&self) {
        wait_until("the heartbeat has begun", || self.has_begun());
    }

    pub(crate) fn assert_nothing_left(&self) {
        let running = self.env.processes();
        assert!(running.is_empty(), "{running:?}");
        // A restore may have removed the file.
        let length = || std::fs::metadata(&self.heartbeat).map_or(0, |file| file.len());
        let before = length();
        // Only waiting can show that nothing is written.
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(length(), before, "something of the old tree still writes");
    }
}

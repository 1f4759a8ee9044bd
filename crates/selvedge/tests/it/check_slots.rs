//! The machine's limit of running checks: runs wait for each other and report it, and a run never waits for itself.

use std::fs;

use selvedge_testkit::TestEnv;

use crate::fixtures::{env_with_repo, wait_for};

/// An environment in which one check may run at a time.
fn env_with_one_slot() -> TestEnv {
    let env = env_with_repo();
    env.write(
        "../config/selvedge/config.toml",
        "[verification]\nmachine_checks = 1\n",
    );
    env
}

#[test]
fn check_slots_make_the_checks_of_another_run_wait() {
    let env = env_with_one_slot();
    env.write(
        "selvedge.toml",
        "[[checks]]\nname = \"slow\"\nrun = \"touch started; while ! test -e go; do sleep 0.05; done\"\n",
    );
    env.write("../other/selvedge.toml", "[[checks]]\nrun = \"true\"\n");
    let first = env.spawn(["verify"]);
    wait_for(&env.work_dir().join("started"));
    let second = env.spawn(["verify", "--dir", "../other"]);
    second.wait_for_stderr("waiting for 1 other check on this machine");
    fs::write(env.work_dir().join("go"), "").unwrap();
    first.wait().assert_code(0);
    second.wait().assert_code(0);
}

#[test]
fn check_slots_are_shared_by_a_check_and_what_it_starts() {
    let env = env_with_one_slot();
    env.write("../inner/selvedge.toml", "[[checks]]\nrun = \"true\"\n");
    let program = env!("CARGO_BIN_EXE_selvedge");
    env.write(
        "selvedge.toml",
        format!("[[checks]]\nrun = \"{program} verify --dir ../inner\"\ntimeout = \"60s\"\n"),
    );
    env.selvedge(["verify"]).run().assert_code(0);
}

#[test]
fn check_slots_of_a_machine_are_not_set_by_a_repository() {
    let env = env_with_repo();
    env.write(
        "selvedge.toml",
        "[verification]\nmachine_checks = 99\n[[checks]]\nrun = \"true\"\n",
    );
    let refused = env.selvedge(["verify"]).run();
    refused.assert_code(2);
    assert!(
        refused
            .stderr
            .contains("must not set `verification.machine_checks`"),
        "{}",
        refused.stderr
    );
}

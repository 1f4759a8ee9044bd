//! A worker that takes one task, as a job controller starts it.

use selvedge_testkit::CommandOutput;

use super::fixture::HubFixture;

/// Runs a worker to its end, configured as in a container: by variables.
fn run_worker(fleet: &HubFixture, more: &[&str]) -> CommandOutput {
    let root = fleet.env.root();
    let command = fleet.env.selvedge(["worker", "--once"]).args(more);
    command
        .env("SELVEDGE_WORKER_HUB", fleet.hub_url())
        .env("SELVEDGE_WORKER_TOKEN_FILE", root.join("worker.token"))
        .env("SELVEDGE_WORKER_WORKDIR", root.join("once"))
        .env("SELVEDGE_WORKER_ALLOW_PATH", fleet.env.work_dir())
        .run()
}

#[test]
fn worker_once_exits_with_the_outcome_of_one_task() {
    let fleet = HubFixture::new("echo good > out");
    let verified = fleet.submit("grep -q good out", &[]);
    run_worker(&fleet, &[]).assert_code(0);
    assert_eq!(fleet.row(&verified)["outcome"], "verified");

    let failed = fleet.submit("grep -q better out", &[]);
    let waiting = fleet.submit("grep -q good out", &[]);
    // One task, regardless of the configured slots.
    run_worker(&fleet, &["--slots", "4"]).assert_code(1);
    assert_eq!(fleet.row(&failed)["outcome"], "max_retries_exhausted");
    assert_eq!(fleet.row(&waiting)["state"], "queued");
    run_worker(&fleet, &["--ignore-outcome"]).assert_code(0);
    assert_eq!(fleet.row(&waiting)["outcome"], "verified");

    let failed = fleet.submit("grep -q better out", &[]);
    run_worker(&fleet, &["--ignore-outcome"]).assert_code(0);
    assert_eq!(fleet.row(&failed)["outcome"], "max_retries_exhausted");
}

#[test]
fn worker_without_task_exits_after_idle_timeout() {
    let mut fleet = HubFixture::new("");
    let out = run_worker(&fleet, &["--idle-timeout", "1"]);
    out.assert_code(12);
    assert!(
        out.stderr.contains("no task within the idle timeout"),
        "{}",
        out.stderr
    );
    run_worker(&fleet, &["--idle-timeout", "1", "--ignore-outcome"]).assert_code(0);
    drop(fleet.hub.take());
    let out = run_worker(&fleet, &["--idle-timeout", "1", "--ignore-outcome"]);
    out.assert_code(9);
    assert!(
        out.stderr.contains("no connection to the hub"),
        "{}",
        out.stderr
    );
}

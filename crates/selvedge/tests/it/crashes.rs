//! `kill -9` at any moment: no attempt is lost, none is paid for twice unnoticed, nothing of the
//! agent's tree writes afterwards, and the run ends right.
//!
//! The moments are random, from a seed that a failure prints. `SELVEDGE_KILL_POINTS` sets how many
//! there are; `SELVEDGE_KILL_SEED` repeats one.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use selvedge_testkit::TestEnv;
use serde_json::Value;

use crate::fixtures::{agent, env_with_repo};

/// Records outside of the workspace that it was paid for, leaves writing processes behind in several ways, and
/// fixes its work after a corrective prompt.
const WORKER: &str = r#"echo "$SELVEDGE_RUN_NUMBER" >> ../ledger
writer='while :; do date +%s%N >> ../heartbeat; sleep 0.01; done'
sh -c "$writer" &
setsid sh -c "$writer" < /dev/null > /dev/null 2>&1 &
for step in 1 2 3 4 5 6; do echo $step >> work; sleep 0.02; done
case "$prompt" in *"VERIFICATION RETRY"*) echo good > out ;; *) echo bad > out ;; esac"#;

#[test]
fn crash_at_random_moment_is_recovered_by_resume() {
    let points = setting("SELVEDGE_KILL_POINTS").unwrap_or(6);
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .subsec_nanos();
    let seed = setting("SELVEDGE_KILL_SEED").unwrap_or(u64::from(now));
    for point in 0..points {
        kill_once(seed, point);
    }
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn kill_once(seed: u64, point: u64) {
    let env = env_with_repo();
    let agent = agent(&env, WORKER);
    let run = [
        "run",
        "x",
        "--agent-cmd",
        &agent,
        "--check",
        "grep -q good out",
    ];
    let mut hasher = DefaultHasher::new();
    (seed, point).hash(&mut hasher);
    let delay = Duration::from_micros(hasher.finish() % 700_000);
    let context = format!("seed {seed}, point {point}: killed after {delay:?}");

    let child = env.spawn(run);
    // The delay is what is tested, so it is a real one.
    std::thread::sleep(delay);
    child.kill();
    let killed = child.wait();
    let listed = env.selvedge(["list", "--format", "json"]).run();
    if listed.code == 2 || listed.json().as_array().is_some_and(Vec::is_empty) {
        // The run was killed before anything was durable: then nothing may have been paid for.
        assert!(
            !env.root().join("ledger").exists(),
            "{context}: paid without a journal"
        );
        return;
    }
    if killed.code != 0 {
        let resumed = env.selvedge(["resume"]).run();
        let over = resumed.stderr.contains("is finished");
        assert!(
            resumed.code == 0 || over,
            "{context}: {}\n{}",
            resumed.code,
            resumed.stderr
        );
    }
    let story = env.selvedge(["show", "--format", "json"]).run().json();
    assert_eq!(
        story["result"]["outcome"], "verified",
        "{context}: {story:#}"
    );
    assert_each_payment_is_an_attempt(&env, &story, &context);
    assert_nothing_writes(&env, &context);
}

/// Asserts that each number in the ledger was paid for once and is an attempt, and that an attempt without a
/// session is shown as interrupted.
fn assert_each_payment_is_an_attempt(env: &TestEnv, story: &Value, context: &str) {
    let ledger = std::fs::read_to_string(env.root().join("ledger")).unwrap_or_default();
    let paid: Vec<u64> = ledger.lines().map(|line| line.parse().unwrap()).collect();
    let attempts = story["attempts"].as_array().unwrap();
    let started: Vec<u64> = attempts
        .iter()
        .map(|it| it["run_number"].as_u64().unwrap())
        .collect();
    let mut unique = paid.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(
        unique.len(),
        paid.len(),
        "{context}: paid twice under one number: {paid:?}"
    );
    assert!(
        paid.iter().all(|number| started.contains(number)),
        "{context}: {paid:?} of {started:?}"
    );
    assert_eq!(
        started,
        (1..=started.len() as u64).collect::<Vec<_>>(),
        "{context}"
    );
    for attempt in attempts
        .iter()
        .filter(|attempt| attempt["session"].is_null())
    {
        assert_eq!(attempt["closing"], "interrupted", "{context}");
    }
}

fn assert_nothing_writes(env: &TestEnv, context: &str) {
    assert!(
        env.processes().is_empty(),
        "{context}: {:?}",
        env.processes()
    );
    let heartbeat = env.root().join("heartbeat");
    let length = || std::fs::metadata(&heartbeat).map_or(0, |metadata| metadata.len());
    let before = length();
    // Only waiting can show that nothing is written.
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(length(), before, "{context}: something still writes");
}

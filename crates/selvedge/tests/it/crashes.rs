//! `kill -9` at any moment: no attempt is lost, none is paid for twice unnoticed, nothing of the
//! agent's tree writes afterwards, and the run ends right.
//!
//! The moments are random, from a seed that a failure prints. `SELVEDGE_KILL_POINTS` sets how many
//! there are; `SELVEDGE_KILL_SEED` repeats one.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use selvedge_testkit::TestEnv;
use serde_json::Value;

use crate::fixtures::{agent, env_with_repo};

/// Says on a ledger outside the workspace that it was paid, leaves writers behind in every way that
/// a tree can be left, and mends its work when it is corrected.
const WORKER: &str = r#"echo "$SELVEDGE_RUN_NUMBER" >> ../ledger
writer='while :; do date +%s%N >> ../heartbeat; sleep 0.01; done'
sh -c "$writer" &
setsid sh -c "$writer" < /dev/null > /dev/null 2>&1 &
for step in 1 2 3 4 5 6; do echo $step >> work; sleep 0.02; done
case "$prompt" in *"VERIFICATION RETRY"*) echo good > out ;; *) echo bad > out ;; esac"#;

#[test]
fn killed_at_random_moments_a_run_still_ends_right() {
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
    // The moment itself is what is tested, so here time passes for its own sake.
    let until = Instant::now() + delay;
    while Instant::now() < until {
        std::thread::yield_now();
    }
    child.kill();
    let killed = child.wait();
    let listed = env.selvedge(["list", "--format", "json"]).run();
    if listed.code == 2 || listed.json().as_array().is_some_and(Vec::is_empty) {
        // Killed before anything was durable: then nothing may have been paid for.
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
    every_payment_is_an_attempt(&env, &story, &context);
    nothing_writes_any_more(&env, &context);
}

/// Each number on the ledger was paid once and is an attempt; an attempt that was cut off is shown as
/// interrupted, with an unknown cost.
fn every_payment_is_an_attempt(env: &TestEnv, story: &Value, context: &str) {
    let ledger = std::fs::read_to_string(env.root().join("ledger")).unwrap_or_default();
    let paid: Vec<u64> = ledger.lines().map(|line| line.parse().unwrap()).collect();
    let attempts = story["attempts"].as_array().unwrap();
    let begun: Vec<u64> = attempts
        .iter()
        .map(|it| it["run_number"].as_u64().unwrap())
        .collect();
    let mut once = paid.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(
        once.len(),
        paid.len(),
        "{context}: paid twice under one number: {paid:?}"
    );
    assert!(
        paid.iter().all(|number| begun.contains(number)),
        "{context}: {paid:?} of {begun:?}"
    );
    assert_eq!(
        begun,
        (1..=begun.len() as u64).collect::<Vec<_>>(),
        "{context}"
    );
    for attempt in attempts
        .iter()
        .filter(|attempt| attempt["session"].is_null())
    {
        assert_eq!(attempt["closing"], "interrupted", "{context}");
    }
}

fn nothing_writes_any_more(env: &TestEnv, context: &str) {
    assert!(
        env.processes().is_empty(),
        "{context}: {:?}",
        env.processes()
    );
    let heartbeat = env.root().join("heartbeat");
    let length = || std::fs::metadata(&heartbeat).map_or(0, |found| found.len());
    let before = length();
    let until = Instant::now() + Duration::from_millis(50);
    while Instant::now() < until {
        std::thread::yield_now();
    }
    assert_eq!(length(), before, "{context}: something still writes");
}

//! What agents and checks leave running, in the four ways that there are: whatever it is, nothing of
//! it is left when the run ends, and the report says how that is known. `SELVEDGE_ROUNDS` sets how
//! often each is done; what is printed are the rows of a table.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::fixtures::{agent, env_with_repo};

/// How a program starts another one that outlives it. All keep its standard output open.
const KINDS: [(&str, &str); 4] = [
    ("child", "sh -c 'kill -9 $PPID; exec sleep 600'; true"),
    ("background", "sleep 600 &"),
    ("setsid", "setsid sleep 600 &"),
    ("double fork", "( ( setsid sleep 600 & ) & )"),
];
const ROUNDS: u32 = 2;

fn rounds() -> u32 {
    let asked = std::env::var("SELVEDGE_ROUNDS");
    asked.map_or(ROUNDS, |rounds| rounds.parse().unwrap())
}

#[derive(Clone, Copy)]
enum Role {
    Agent,
    Check,
}

/// Runs it, and gives back what the report says of the role's processes.
fn run(env: &selvedge_testkit::TestEnv, role: Role, plants: &str) -> Value {
    let (agent, check) = match role {
        Role::Agent => (agent(env, plants), "true"),
        Role::Check => (agent(env, ""), plants),
    };
    let run = [
        "run",
        "do it",
        "--agent-cmd",
        &agent,
        "--check",
        check,
        "--baseline",
        "off",
        "--retries",
        "0",
    ];
    env.selvedge(run)
        .env("SELVEDGE_VERIFICATION_RERUN_FAILED", "false")
        .run();
    let story = env.selvedge(["show", "--format", "json"]).run().json();
    let attempt = &story["attempts"][0];
    match role {
        Role::Agent => attempt["session"]["processes"].clone(),
        Role::Check => attempt["report"]["checks"][0]["processes"].clone(),
    }
}

#[allow(clippy::print_stdout, reason = "the rows of a table")]
fn none_is_left(role: Role) {
    let rounds = rounds();
    let who = match role {
        Role::Agent => "agent",
        Role::Check => "check",
    };
    for (kind, plants) in KINDS {
        let env = env_with_repo();
        let mut ended = 0;
        for _ in 0..rounds {
            let said = run(&env, role, plants);
            assert_eq!(env.processes(), [], "{who}, {kind}");
            assert_eq!(said["method"], "subreaper", "{who}, {kind}: {said}");
            assert_eq!(said["survivors"], 0, "{who}, {kind}: {said}");
            ended += said["ended"].as_u64().unwrap();
        }
        // One that had not yet begun when its parent was gone may be met as two, or as its shell.
        assert!(ended >= u64::from(rounds), "{who}, {kind}: {ended}");
        println!("| {who} | {kind} | {rounds} | {ended} | 0 | child subreaper |");
    }
}

#[test]
fn nothing_of_an_agent_is_left() {
    none_is_left(Role::Agent);
}

#[test]
fn nothing_of_a_check_is_left() {
    none_is_left(Role::Check);
}

/// The control: each of them outlives the shell that started it.
#[test]
fn without_selvedge_each_of_them_stays() {
    for (kind, plants) in KINDS {
        let env = env_with_repo();
        let mut shell = std::process::Command::new("sh");
        // Its output goes nowhere: a pipe would be held open by what it leaves behind.
        shell
            .args(["-c", plants])
            .current_dir(env.work_dir())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null());
        let _ = shell.status().unwrap();
        // One that is just becoming another program shows no environment for a moment, and would not
        // be found by whoever tidies up behind the test.
        let patience = Instant::now() + Duration::from_mins(1);
        let stays = || env.processes().iter().any(|it| it.command == "sleep 600");
        while !stays() {
            assert!(Instant::now() < patience, "{kind}");
            std::thread::yield_now();
        }
    }
}

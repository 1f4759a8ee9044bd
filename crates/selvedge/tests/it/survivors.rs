//! Processes that agents and checks leave running, started in four ways: none of them survives the run, and the
//! report says by which method. `SELVEDGE_ROUNDS` sets the number of repetitions; the output is the rows of a
//! table.

use serde_json::Value;

use selvedge_testkit::wait_until;

use crate::fixtures::{agent, env_with_repo};

/// Ways to start a program that outlives its parent. All of them keep the standard output open.
const KINDS: [(&str, &str); 4] = [
    ("child", "sh -c 'kill -9 $PPID; exec sleep 600'; true"),
    ("background", "sleep 600 &"),
    ("setsid", "setsid sleep 600 &"),
    ("double fork", "( ( setsid sleep 600 & ) & )"),
];
const ROUNDS: u32 = 2;

fn rounds() -> u32 {
    let setting = std::env::var("SELVEDGE_ROUNDS");
    setting.map_or(ROUNDS, |rounds| rounds.parse().unwrap())
}

#[derive(Clone, Copy)]
enum Role {
    Agent,
    Check,
}

/// Runs the command as an agent or a check and returns the report on its processes.
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
fn assert_processes_are_ended(role: Role) {
    let rounds = rounds();
    let who = match role {
        Role::Agent => "agent",
        Role::Check => "check",
    };
    for (kind, plants) in KINDS {
        let env = env_with_repo();
        let mut ended = 0;
        for _ in 0..rounds {
            let processes = run(&env, role, plants);
            assert_eq!(env.processes(), [], "{who}, {kind}");
            assert_eq!(
                processes["method"], "subreaper",
                "{who}, {kind}: {processes}"
            );
            assert_eq!(processes["survivors"], 0, "{who}, {kind}: {processes}");
            ended += processes["ended"].as_u64().unwrap();
        }
        // A process that had not yet started its program when its parent ended may be counted twice, or as its
        // shell.
        assert!(ended >= u64::from(rounds), "{who}, {kind}: {ended}");
        println!("| {who} | {kind} | {rounds} | {ended} | 0 | child subreaper |");
    }
}

#[test]
fn processes_of_agents_are_ended() {
    assert_processes_are_ended(Role::Agent);
}

#[test]
fn processes_of_checks_are_ended() {
    assert_processes_are_ended(Role::Check);
}

/// The control: each of the processes outlives the shell that started it.
#[test]
fn processes_survive_without_selvedge() {
    for (kind, plants) in KINDS {
        let env = env_with_repo();
        let mut shell = std::process::Command::new("sh");
        // The output is discarded, because the left process would keep a pipe open.
        shell
            .args(["-c", plants])
            .current_dir(env.work_dir())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null());
        let _ = shell.status().unwrap();
        // While a process executes another program, its environment is empty for a moment, and the cleanup
        // after the test would not find it.
        let stays = || env.processes().iter().any(|it| it.command == "sleep 600");
        wait_until(kind, stays);
    }
}

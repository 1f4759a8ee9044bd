//! In the sandbox, too, nothing of a session remains however it ends, and its end is reported correctly.

use super::fixture::SandboxFixture;
use super::on_all;
use selvedge_testkit::wait_until;

use crate::fixtures::{make_executable, wait_for};

const KINDS: [(&str, &str); 3] = [
    ("background", "sleep 600 &"),
    ("setsid", "setsid sleep 600 &"),
    ("double fork", "( ( setsid sleep 600 & ) & )"),
];

fn session_leaves_no_processes(fixture: &SandboxFixture) {
    for (kind, plants) in KINDS {
        let report = fixture.verify(plants, &[]);
        let processes = &report["checks"][0]["processes"];
        assert_eq!(fixture.env.processes(), [], "{kind}");
        assert_eq!(processes["survivors"], 0, "{kind}: {processes}");
        assert!(
            processes["ended"].as_u64().unwrap() >= 1,
            "{kind}: {processes}"
        );
    }
}

fn session_reports_exits_and_signals(fixture: &SandboxFixture) {
    for (script, reason) in [
        ("exit 7", "exited with 7"),
        ("kill -SEGV $$", "ended by signal 11"),
    ] {
        let report = fixture.verify(script, &[]);
        assert_eq!(report["checks"][0]["reason"], reason);
    }
    let run = ["verify", "--check", "no/such/program", "--format", "json"];
    let report = fixture.env.selvedge(run).run().json();
    let reason = report["checks"][0]["reason"].as_str().unwrap().to_owned();
    assert!(
        reason.contains("program ") && reason.contains(" not found"),
        "{reason}"
    );
}

/// The main program and the supervisor are killed at once, so nothing can end the processes cleanly;
/// nevertheless none of them is left after resuming.
fn session_is_cleaned_up_after_its_supervisor_is_killed(fixture: &SandboxFixture) {
    let begun = fixture.env.work_dir().join("begun");
    fixture.env.write(
        "agent.sh",
        "cat > /dev/null; test \"$SELVEDGE_RUN_NUMBER\" = 1 || exec touch done; setsid sleep 600 & touch begun; sleep 600\n",
    );
    fixture.env.commit("An agent");
    let run = [
        "run",
        "do it",
        "--agent-cmd",
        "sh agent.sh",
        "--check",
        "true",
        "--retries",
        "0",
    ];
    let child = fixture.env.spawn(run);
    wait_for(&begun);
    fixture.kill_selvedge_processes();
    drop(child);
    let resumed = fixture.env.selvedge(["resume", "last"]).run();
    assert_eq!(fixture.env.processes(), [], "{}", resumed.stderr);
    resumed.assert_success();
}

/// Programs that end at once have their own exit codes. Every time: the exit could be reported before
/// anybody waits for it.
fn session_reports_exits_of_short_programs(fixture: &SandboxFixture) {
    let checks = ["false", "true", "sh -c 'exit 3'"].repeat(8);
    let mut run = vec!["verify", "--format", "json"];
    run.extend(checks.iter().flat_map(|check| ["--check", check]));
    let report = fixture.env.selvedge(run).run().json();
    let codes = report["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|check| check["exit_code"].as_i64());
    let codes: Vec<_> = codes.collect();
    assert_eq!(codes, [Some(1), Some(0), Some(3)].repeat(8));
}

/// An upgrade during a run replaces the program at our path.
fn session_survives_replacement_of_the_program(fixture: &SandboxFixture) {
    let program = fixture.env.root().join("selvedge");
    std::fs::copy(env!("CARGO_BIN_EXE_selvedge"), &program).unwrap();
    let (begun, go) = (
        fixture.env.work_dir().join("begun"),
        fixture.env.work_dir().join("go"),
    );
    let agent = "cat > /dev/null; touch begun; until test -e go; do sleep 0.05; done";
    fixture.env.write("agent.sh", agent);
    fixture.env.commit("An agent");
    let run = [
        "run",
        "do it",
        "--agent-cmd",
        "sh agent.sh",
        "--check",
        "test -e begun",
    ];
    let child = fixture.env.command(&program).args(run).spawn();
    wait_for(&begun);
    let other = fixture.env.write("other", "#!/bin/sh\nexit 1\n");
    make_executable(&other);
    std::fs::rename(other, &program).unwrap();
    std::fs::write(go, "").unwrap();
    child.wait().assert_success();
}

/// The next start removes them.
#[test]
fn temporary_files_of_killed_supervisor_are_removed() {
    let Some(fixture) = SandboxFixture::with_backend("landlock") else {
        return;
    };
    fixture.env.write(
        "attempt.sh",
        "echo $TMPDIR > where; ln -s / $TMPDIR/link; mv where begun; sleep 600",
    );
    let child = fixture.env.spawn(["verify", "--check", "sh attempt.sh"]);
    wait_for(&fixture.env.work_dir().join("begun"));
    let temporary = std::path::PathBuf::from(fixture.env.read("begun").trim());
    assert!(temporary.exists());
    fixture.kill_selvedge_processes();
    drop(child);
    fixture.check_output("true");
    // The start of another test may be removing them at this moment.
    wait_until("they are removed", || !temporary.exists());
}

on_all!(
    session_survives_replacement_of_the_program,
    session_leaves_no_processes,
    session_reports_exits_and_signals,
    session_is_cleaned_up_after_its_supervisor_is_killed,
    session_reports_exits_of_short_programs,
);

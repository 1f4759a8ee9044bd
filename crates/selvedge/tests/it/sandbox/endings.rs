//! Behind walls, too, nothing of a session is left, however it ends, and what ended is told as it was.

use super::fixture::SandboxFixture;
use super::on_all;
use crate::fixtures::{make_executable, wait_for};

const KINDS: [(&str, &str); 3] = [
    ("background", "sleep 600 &"),
    ("setsid", "setsid sleep 600 &"),
    ("double fork", "( ( setsid sleep 600 & ) & )"),
];

fn nothing_is_left(scene: &SandboxFixture) {
    for (kind, plants) in KINDS {
        let report = scene.verify(plants, &[]);
        let said = &report["checks"][0]["processes"];
        assert_eq!(scene.env.processes(), [], "{kind}");
        assert_eq!(said["survivors"], 0, "{kind}: {said}");
        assert!(said["ended"].as_u64().unwrap() >= 1, "{kind}: {said}");
    }
}

fn exits_and_signals_are_told_as_they_are(scene: &SandboxFixture) {
    for (script, reason) in [
        ("exit 7", "exited with 7"),
        ("kill -SEGV $$", "ended by signal 11"),
    ] {
        let report = scene.verify(script, &[]);
        assert_eq!(report["checks"][0]["reason"], reason);
    }
    let run = ["verify", "--check", "no/such/program", "--format", "json"];
    let report = scene.env.selvedge(run).run().json();
    let said = report["checks"][0]["reason"].as_str().unwrap().to_owned();
    assert!(said.contains("no program"), "{said}");
}

/// The main program and the supervisor are killed at once: nobody is left who could end the tree in
/// an orderly way, and a resume still finds nothing of it.
fn when_everybody_is_killed(scene: &SandboxFixture) {
    let begun = scene.env.work_dir().join("begun");
    scene.env.write(
        "agent.sh",
        "cat > /dev/null; test \"$SELVEDGE_RUN_NUMBER\" = 1 || exec touch done; setsid sleep 600 & touch begun; sleep 600\n",
    );
    scene.env.commit("An agent");
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
    let child = scene.env.spawn(run);
    wait_for(&begun);
    scene.kill_selvedge_processes();
    drop(child);
    let resumed = scene.env.selvedge(["resume", "last"]).run();
    assert_eq!(scene.env.processes(), [], "{}", resumed.stderr);
    resumed.assert_success();
}

/// One that is over before anybody looks has an exit all the same, and never another's.
fn the_shortest_of_programs(scene: &SandboxFixture) {
    let checks = ["false", "true", "sh -c 'exit 3'"].repeat(8);
    let mut run = vec!["verify", "--format", "json"];
    run.extend(checks.iter().flat_map(|check| ["--check", check]));
    let report = scene.env.selvedge(run).run().json();
    let codes = report["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|check| check["exit_code"].as_i64());
    let codes: Vec<_> = codes.collect();
    assert_eq!(codes, [Some(1), Some(0), Some(3)].repeat(8));
}

/// An upgrade in the middle of a run puts another program at our path.
fn our_own_program_is_replaced(scene: &SandboxFixture) {
    let own = scene.env.root().join("selvedge");
    std::fs::copy(env!("CARGO_BIN_EXE_selvedge"), &own).unwrap();
    let (begun, go) = (
        scene.env.work_dir().join("begun"),
        scene.env.work_dir().join("go"),
    );
    let agent = "cat > /dev/null; touch begun; until test -e go; do sleep 0.05; done";
    scene.env.write("agent.sh", agent);
    scene.env.commit("An agent");
    let run = [
        "run",
        "do it",
        "--agent-cmd",
        "sh agent.sh",
        "--check",
        "test -e begun",
    ];
    let child = scene.env.command(&own).args(run).spawn();
    wait_for(&begun);
    let other = scene.env.write("other", "#!/bin/sh\nexit 1\n");
    make_executable(&other);
    std::fs::rename(other, &own).unwrap();
    std::fs::write(go, "").unwrap();
    child.wait().assert_success();
}

/// Nobody is left to remove them: the next start does.
#[test]
fn temporary_files_whose_supervisor_was_killed_go_at_the_next_start() {
    let Some(scene) = SandboxFixture::with_backend("landlock") else {
        return;
    };
    scene.env.write(
        "attempt.sh",
        "echo $TMPDIR > where; ln -s / $TMPDIR/link; mv where begun; sleep 600",
    );
    let child = scene.env.spawn(["verify", "--check", "sh attempt.sh"]);
    wait_for(&scene.env.work_dir().join("begun"));
    scene.kill_selvedge_processes();
    drop(child);
    let left = std::path::PathBuf::from(scene.env.read("begun").trim());
    assert!(left.exists());
    scene.check_output("true");
    assert!(!left.exists());
}

on_all!(
    our_own_program_is_replaced,
    nothing_is_left,
    exits_and_signals_are_told_as_they_are,
    when_everybody_is_killed,
    the_shortest_of_programs,
);

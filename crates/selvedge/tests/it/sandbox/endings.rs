//! Behind walls, too, nothing of a session is left, however it ends, and what ended is told as it was.

use super::on_both;
use super::scene::Scene;
use crate::stage::wait_for;

const KINDS: [(&str, &str); 3] = [
    ("background", "sleep 600 &"),
    ("setsid", "setsid sleep 600 &"),
    ("double fork", "( ( setsid sleep 600 & ) & )"),
];

fn nothing_is_left(scene: &Scene) {
    for (kind, plants) in KINDS {
        let report = scene.verify(plants, &[]);
        let said = &report["checks"][0]["processes"];
        assert_eq!(scene.env.processes(), [], "{kind}");
        assert_eq!(said["survivors"], 0, "{kind}: {said}");
        assert!(said["ended"].as_u64().unwrap() >= 1, "{kind}: {said}");
    }
}

fn exits_and_signals_are_told_as_they_are(scene: &Scene) {
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
fn when_everybody_is_killed(scene: &Scene) {
    let begun = scene.env.work().join("begun");
    scene.env.write(
        "agent.sh",
        "cat > /dev/null; test \"$SELVEDGE_RUN_NUMBER\" = 1 || exit 0; setsid sleep 600 & touch begun; sleep 600\n",
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
    let ours = scene.env.processes();
    for process in &ours {
        let is_ours = process.command.contains("selvedge") && !process.command.contains("__wall");
        if is_ours {
            let pid = process.pid.to_string();
            let _ = std::process::Command::new("kill")
                .args(["-9", &pid])
                .status();
        }
    }
    drop(child);
    let resumed = scene.env.selvedge(["resume", "last"]).run();
    assert_eq!(scene.env.processes(), [], "{}", resumed.stderr);
    resumed.assert_success();
}

/// One that is over before anybody looks has an exit all the same, and never another's.
fn the_shortest_of_programs(scene: &Scene) {
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

on_both!(
    nothing_is_left,
    exits_and_signals_are_told_as_they_are,
    when_everybody_is_killed,
    the_shortest_of_programs,
);

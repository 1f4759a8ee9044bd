//! Workers whose machines differ: a task goes to one that can run it, with the programs of that machine.

use std::path::Path;

use super::fixture::HubFixture;
use super::losses::WAITS;
use selvedge_testkit::wait_until;

use crate::fixtures::wait_for;

/// Writes the settings of another machine and returns the directory for `XDG_CONFIG_HOME`.
fn machine(fleet: &HubFixture, name: &str, program: &Path) -> String {
    let settings = format!(
        "agent = \"scripted\"\n[agents.scripted]\nkind = \"command\"\nprogram = [\"{}\"]\n\
         env = {{ MACHINE = \"{name}\" }}\n[verification]\nbaseline = \"off\"\n",
        program.display()
    );
    let home = fleet.env.root().join(format!("config-{name}"));
    std::fs::create_dir_all(home.join("selvedge")).unwrap();
    std::fs::write(home.join("selvedge/config.toml"), settings).unwrap();
    home.to_str().unwrap().to_owned()
}

#[test]
fn worker_without_the_program_leaves_tasks_to_others() {
    let fleet = HubFixture::new("echo good > out");
    let bare = machine(&fleet, "bare", &fleet.env.root().join("missing"));
    let poor = fleet.worker_with("poor", &[("XDG_CONFIG_HOME", &bare)]);
    // It finds out after it has cloned the repository, whose settings may name another agent.
    let task = fleet.submit("grep -q good out", &[]);
    poor.wait_for_stderr("released: ");
    wait_until("the hub knows", || fleet.row(&task)["state"] == "queued");
    let out = fleet.run(&["show", &task]);
    out.assert_code(0);
    for text in ["worker `poor`: declined the task", "`scripted`", "missing"] {
        assert!(out.stdout.contains(text), "{text}: {}", out.stdout);
    }
    // It is not offered a task that names an agent which it announced to be missing.
    let named = ["submit", "do it", "--repo", "https://example.invalid/x.git"];
    let out = fleet.run(&[&named[..], &["--agent", "codex"]].concat());
    out.assert_code(0);
    let why = "needs agent `codex`; workers offer ";
    assert!(out.stderr.contains(why), "{}", out.stderr);
    let workers = fleet.run(&["workers", "--format", "json"]).json();
    let agents = &workers[0]["capabilities"]["agents"];
    let agents: Vec<&str> = agents
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|it| it.as_str())
        .collect();
    assert!(
        agents.contains(&"shell") && !agents.contains(&"scripted"),
        "{agents:?}"
    );

    let _rich = fleet.worker("rich");
    fleet.watch(&task).assert_code(0);
    let row = fleet.row(&task);
    assert_eq!(row["worker"], "rich");
    assert_eq!(
        (&row["infra_losses"], &row["attempts"]),
        (&0.into(), &1.into()),
        "{row:#}"
    );
}

#[test]
fn worker_with_invalid_settings_is_offered_nothing() {
    let fleet = HubFixture::new("echo good > out");
    let config = machine(&fleet, "broken", &fleet.env.root().join("agent.sh"));
    std::fs::write(format!("{config}/selvedge/config.toml"), "agent = 7\n").unwrap();
    let broken = fleet.worker_with("broken", &[("XDG_CONFIG_HOME", &config)]);
    broken.wait_for_stderr("no task can run: cannot load the worker's settings: ");
    let task = fleet.submit("grep -q good out", &[]);
    wait_until("the hub explains it", || {
        let row = fleet.row(&task);
        let why = row["unplaceable"].as_str().unwrap_or_default();
        why.contains("worker `broken`: cannot load the worker's settings: ")
            && why.contains("config.toml:1:")
            && row["state"] == "queued"
    });
    let _whole = fleet.worker("whole");
    fleet.watch(&task).assert_code(0);
    assert_eq!(fleet.row(&task)["infra_losses"], 0);
}

#[test]
fn worker_without_the_tier_leaves_tasks_to_others() {
    let fleet = HubFixture::new("true");
    let config = machine(&fleet, "poor", &fleet.env.root().join("agent.sh"));
    let file = format!("{config}/selvedge/config.toml");
    let settings = std::fs::read_to_string(&file).unwrap();
    let without_tier = format!("{settings}[judging]\ntier2_enabled = false\n");
    std::fs::write(file, without_tier).unwrap();
    let poor = fleet.worker_with("poor", &[("XDG_CONFIG_HOME", &config)]);
    let task = fleet.submit("true", &["--tier", "2"]);
    poor.wait_for_stderr("released: ");
    wait_until("the hub knows", || fleet.row(&task)["state"] == "queued");
    let row = fleet.row(&task);
    let why = row["unplaceable"].as_str().unwrap();
    assert!(why.contains("tier 2 is disabled"), "{why}");
    assert_eq!(row["infra_losses"], 0);
}

#[test]
fn worker_continues_a_run_with_its_own_programs() {
    let fleet = HubFixture::new(WAITS);
    let one = fleet.worker("one");
    let task = fleet.submit("grep -q two out", &[]);
    wait_for(&fleet.env.root().join("began-1"));
    let first_program = fleet.env.root().join("agent.sh");
    let program = fleet.env.root().join("other/agent.sh");
    std::fs::create_dir_all(program.parent().unwrap()).unwrap();
    std::fs::copy(&first_program, &program).unwrap();
    let text = "#!/bin/sh\necho \"$MACHINE\" > out\n";
    std::fs::write(&program, text).unwrap();
    one.kill();
    one.wait();
    // The path that the journal names exists on the first machine only.
    std::fs::remove_file(&first_program).unwrap();
    let config = machine(&fleet, "two", &program);
    let _two = fleet.worker_with("two", &[("XDG_CONFIG_HOME", &config)]);
    let out = fleet.watch(&task);
    out.assert_code(0);
    assert_eq!(fleet.closings(&task), ["interrupted", "report"]);
    assert_eq!(fleet.row(&task)["worker"], "two");
}

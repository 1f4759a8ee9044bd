//! Caches and an agent's own folder do not steer programs outside of the sandbox: settings and folders of the search
//! path in them are read-only, and missing ones cannot be created.

use std::fs;
use std::path::Path;

use super::fixture::SandboxFixture;
use super::{behind, on_all};
use crate::fixtures::make_executable;

/// Missing files that tools outside would read.
const MISSING: &[&str] = &[
    ".cargo/config.toml",
    ".cargo/bin/git",
    ".gradle/init.d/evil.gradle",
    ".gradle/init.gradle",
    ".gradle/gradle.properties",
    ".m2/settings.xml",
    "go/bin/git",
    ".local/share/pnpm/git",
    ".cabal/bin/git",
    ".dotnet/tools/git",
];

/// Files of an agent that its next session outside would read.
const OF_AGENT: &[&str] = &[
    ".claude/settings.json",
    ".claude/CLAUDE.md",
    ".claude/hooks/evil.sh",
    ".claude/skills/evil/SKILL.md",
    ".claude/plugins/evil.json",
    ".claude/agents/evil.md",
    ".claude/commands/evil.md",
];

/// Returns a script that tries to create each file, directly and by moving the folder above it.
fn create_all(files: &[&str]) -> String {
    let script = files.iter().map(|file| {
        format!(
            "f=~/{file}; d=$(dirname $f); mkdir -p $d; echo evil > $f; mv $d $d.old; mkdir -p $d; echo evil > $f\n"
        )
    });
    script.collect::<String>() + "true\n"
}

#[track_caller]
fn assert_absent(home: &Path, files: &[&str]) {
    for file in files {
        let text = fs::read_to_string(home.join(file)).unwrap_or_default();
        assert_eq!(text, "", "{file}");
        assert!(!home.join(file).exists(), "{file}");
    }
}

fn settings_in_caches_cannot_be_created(fixture: &SandboxFixture) {
    for file in [
        ".cargo/registry/index/x",
        ".gradle/caches/modules-2/x",
        ".gradle/wrapper/dists/x",
        ".m2/repository/x",
        ".m2/wrapper/x",
        "go/pkg/mod/x",
        ".local/share/pnpm/store/x",
        ".cabal/packages/x",
        ".dotnet/x",
    ] {
        fixture.write_home_file(file, "");
    }
    let home = fixture.env.home();
    let folders = ["go/bin", ".local/share/pnpm", ".cabal/bin", ".dotnet/tools"];
    let folders = folders.map(|folder| home.join(folder).display().to_string());
    let path = format!("{}:{}", folders.join(":"), std::env::var("PATH").unwrap());
    let data = home.join(".local/share").display().to_string();
    let more = [("PATH", path.as_str()), ("XDG_DATA_HOME", data.as_str())];
    let script = create_all(MISSING) + "echo cached > ~/.cargo/registry/made";
    let report = fixture.verify(&script, &more);
    assert_eq!(report["checks"][0]["status"], "pass", "{report}");
    assert_absent(&home, MISSING);
    let cached = fs::read_to_string(home.join(".cargo/registry/made"));
    assert_eq!(cached.unwrap(), "cached\n");
    let left = fs::read_dir(home.join(".gradle")).unwrap();
    let names: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "no placeholder is left: {names:?}");
}

/// Landlock cannot protect a part of a writable folder.
fn settings_of_agent_cannot_be_created(fixture: &SandboxFixture) {
    let home = fixture.env.home();
    let servers = fixture.write_home_file(".claude.json", "{\"mcpServers\":{}}");
    let script = create_all(OF_AGENT);
    let script = format!(
        "#!/bin/sh\ncat > /dev/null\n{script}echo evil > ~/.claude.json\nmkdir -p ~/.claude/projects\n\
         echo kept > ~/.claude/projects/session\necho y > done.txt\n"
    );
    let agent = fixture.env.write("agent.sh", script);
    make_executable(&agent);
    fixture.env.commit("An agent");
    let settings = fixture.env.config().join("selvedge/config.toml");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let program = agent.display().to_string();
    let agent = format!("[agents.own]\nkind = \"claude\"\nprogram = [{program:?}]\n");
    fs::write(settings, agent).unwrap();
    let run = [
        "run",
        "do it",
        "--agent",
        "own",
        "--check",
        "true",
        "--retries",
        "0",
    ];
    let run = fixture.env.selvedge(run).run();
    assert_eq!(fixture.env.read("done.txt"), "y\n", "{}", run.stderr);
    assert_absent(&home, OF_AGENT);
    assert_eq!(fs::read_to_string(servers).unwrap(), "{\"mcpServers\":{}}");
    let session = fs::read_to_string(home.join(".claude/projects/session"));
    assert_eq!(session.unwrap(), "kept\n");
}

on_all!(settings_in_caches_cannot_be_created);
behind!(agents, bubblewrap, settings_of_agent_cannot_be_created);

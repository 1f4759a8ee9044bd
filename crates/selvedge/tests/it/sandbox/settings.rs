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

/// Runs a script as an agent of the kind `claude`.
#[track_caller]
fn run_claude(fixture: &SandboxFixture, script: &str) {
    let script = format!("#!/bin/sh\ncat > /dev/null\n{script}\necho y >> done.txt\n");
    let agent = fixture.env.write("agent.sh", script);
    make_executable(&agent);
    fixture.env.commit("An agent");
    let settings = fixture.env.config().join("selvedge/config.toml");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let before = fs::read_to_string(&settings).unwrap_or_default();
    if !before.contains("[agents.own]") {
        let program = agent.display().to_string();
        let agent = format!("[agents.own]\nkind = \"claude\"\nprogram = [{program:?}]\n");
        fs::write(settings, before + &agent).unwrap();
    }
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
    assert!(
        fixture.env.work_dir().join("done.txt").exists(),
        "{}",
        run.stderr
    );
}

fn settings_of_agent_cannot_be_created(fixture: &SandboxFixture) {
    let servers = fixture.write_home_file(".claude.json", "{\"mcpServers\":{}}");
    run_claude(
        fixture,
        &(create_all(OF_AGENT) + "echo evil > ~/.claude.json"),
    );
    assert_absent(&fixture.env.home(), OF_AGENT);
    assert_eq!(fs::read_to_string(servers).unwrap(), "{\"mcpServers\":{}}");
}

/// Names that no list contains, which a later version of the agent may obey.
fn folder_of_agent_keeps_nothing_but_logins(fixture: &SandboxFixture) {
    let login = fixture.write_home_file(".claude/.credentials.json", "old");
    let settings = fixture.write_home_file(".claude/settings.json", "{\"a\":1}");
    let other = fixture.write_home_file(".claude/other.json", "own");
    let history = fixture.write_home_file(".claude/projects/old.jsonl", "own");
    run_claude(
        fixture,
        "cat ~/.claude/settings.json ~/.claude/other.json ~/.claude/.credentials.json > seen
        for name in keybindings.json new-folder/run.sh projects/session shell-snapshots/a.sh other.json; do
            mkdir -p \"$(dirname ~/.claude/$name)\"; echo evil > ~/.claude/$name
        done
        echo evil >> ~/.claude/settings.json; rm -rf ~/.claude/projects/old.jsonl ~/.claude/settings.json
        printf new > ~/.claude/.credentials.json",
    );
    assert_eq!(fixture.env.read("seen"), "{\"a\":1}ownold");
    assert_eq!(fs::read_to_string(login).unwrap(), "new");
    assert_eq!(fs::read_to_string(settings).unwrap(), "{\"a\":1}");
    for kept in [other, history] {
        assert_eq!(fs::read_to_string(kept).unwrap(), "own");
    }
    let folder = fixture.env.home().join(".claude");
    let entries = fs::read_dir(&folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(
        names,
        [
            ".credentials.json",
            "other.json",
            "projects",
            "settings.json"
        ]
    );
    run_claude(
        fixture,
        "cat ~/.claude/projects/session ~/.claude/other.json > seen",
    );
    assert_eq!(
        fixture.env.read("seen"),
        "evil\nown",
        "its sessions are kept for it"
    );
}

/// What shells and editors execute.
fn caches_of_other_programs_are_separate(fixture: &SandboxFixture) {
    let cache = fixture.env.root().join("cache");
    for file in ["p10k-instant-prompt.zsh", "gitstatus/daemon", "pip/wheel"] {
        let file = cache.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "own").unwrap();
    }
    let output = fixture.check_output(
        "cache=${XDG_CACHE_HOME:-$HOME/.cache}; cat \"$cache/pip/wheel\"
        for file in p10k-instant-prompt.zsh p10k-instant-prompt.zsh.zwc gitstatus/daemon new/file pip/added; do
            for folder in \"$cache\" ~/../cache; do
                mkdir -p \"$folder/$(dirname $file)\"; echo evil > \"$folder/$file\"
            done
        done; true",
    );
    assert!(output.starts_with("own"), "{output}");
    for file in ["p10k-instant-prompt.zsh", "gitstatus/daemon", "pip/wheel"] {
        assert_eq!(
            fs::read_to_string(cache.join(file)).unwrap(),
            "own",
            "{file}"
        );
    }
    assert_eq!(
        fs::read_to_string(cache.join("pip/added")).unwrap(),
        "evil\n"
    );
    for file in ["p10k-instant-prompt.zsh.zwc", "new"] {
        assert!(!cache.join(file).exists(), "{file}");
    }
    let output = fixture.check_output("cat \"${XDG_CACHE_HOME:-$HOME/.cache}/new/file\"");
    assert_eq!(output.trim(), "evil", "checks keep theirs");
}

on_all!(
    settings_in_caches_cannot_be_created,
    caches_of_other_programs_are_separate
);
// Landlock cannot protect a part of a writable folder.
behind!(
    agents,
    bubblewrap,
    settings_of_agent_cannot_be_created,
    folder_of_agent_keeps_nothing_but_logins,
);
crate::sandbox::in_containers!(
    agents_in_containers,
    Podman,
    folder_of_agent_keeps_nothing_but_logins,
);

//! Caches of tools: agents have their own, and checks read those of the home.

use std::fs;
use std::path::PathBuf;

use super::fixture::SandboxFixture;
use super::on_all;
use crate::fixtures::make_executable;

/// A file of each cache that checks would trust: sources, artifacts and records of tools.
const READ_BY_CHECKS: &[&str] = &[
    ".cargo/registry/src/index/dep-1.0.0/src/lib.rs",
    ".npm/_cacache/index-v5/entry",
    "go/pkg/mod/example.org/dep@v1.0.0/dep.go",
    ".m2/repository/dep/dep-1.jar",
    ".gradle/caches/modules-2/files-2.1/dep.jar",
    ".ccache/entry",
    ".local/lib/python3.11/site-packages/dep.py",
];

/// Files below `XDG_CACHE_HOME`.
const IN_CACHE: &[&str] = &["pip/wheels/dep.whl", "go-build/00/entry-a"];

fn files_of(fixture: &SandboxFixture) -> Vec<PathBuf> {
    let home = READ_BY_CHECKS
        .iter()
        .map(|path| fixture.env.home().join(path));
    let cache = fixture.env.root().join("cache");
    let cache = IN_CACHE.iter().map(|path| cache.join(path));
    home.chain(cache).collect()
}

fn plant(fixture: &SandboxFixture) -> Vec<PathBuf> {
    let files = files_of(fixture);
    for file in &files {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "good").unwrap();
    }
    files
}

/// Runs an agent and a check that are shell scripts; returns the outcome.
#[track_caller]
fn run(fixture: &SandboxFixture, agent: &str, check: &str) -> String {
    let agent = fixture.env.write(
        "agent.sh",
        format!("#!/bin/sh\ncat > /dev/null\necho >> worked\n{agent}\n"),
    );
    make_executable(&agent);
    fixture.env.write("check.sh", check);
    fixture.env.commit("An agent and a check");
    let run = fixture.env.selvedge([
        "run",
        "do it",
        "--agent-cmd",
        "./agent.sh",
        "--check",
        "sh check.sh",
        "--retries",
        "0",
        "--format",
        "json",
    ]);
    let run = run.run();
    let result = run.json();
    assert!(result["outcome"].is_string(), "{result} {}", run.stderr);
    result["outcome"].as_str().unwrap().to_owned()
}

/// The agent tries every way to a cache: its path, the variables, and replacing its folder.
fn caches_written_by_agents_are_not_read_by_checks(fixture: &SandboxFixture) {
    let files = plant(fixture);
    let listed: Vec<_> = files
        .iter()
        .map(|file| format!("'{}'", file.display()))
        .collect();
    let listed = listed.join(" ");
    let agent = format!(
        "for file in {listed}; do
            mkdir -p \"$(dirname $file)\"; echo evil > $file; echo evil > $(dirname $file)/evil
        done
        mv ~/.cargo ~/.old; mkdir -p ~/.cargo/registry; echo evil > ~/.cargo/registry/evil
        for folder in $CARGO_HOME $GOPATH $XDG_CACHE_HOME $npm_config_cache; do echo evil > $folder/evil; done
        true"
    );
    let check = format!(
        "for file in {listed}; do test ! -e $file || test \"$(cat $file)\" = good || exit 1; done
        ! grep -rq evil ~ \"${{XDG_CACHE_HOME:-$HOME/.cache}}\" \"${{CARGO_HOME:-$HOME/.cargo}}\""
    );
    assert_eq!(run(fixture, &agent, &check), "verified");
    for file in files {
        assert_eq!(
            fs::read_to_string(&file).unwrap(),
            "good",
            "{}",
            file.display()
        );
        assert!(!file.with_file_name("evil").exists());
    }
}

/// If the home has no caches, those in the state directory are not shared either.
fn caches_of_agents_are_separate_without_home_caches(fixture: &SandboxFixture) {
    let agent = "for folder in $CARGO_HOME $GOPATH $npm_config_cache; do echo evil > $folder/evil; done; true";
    let check = "for folder in $CARGO_HOME $GOPATH $npm_config_cache; do
            test -w $folder || exit 1; test -e $folder/evil && exit 1
        done; true";
    assert_eq!(run(fixture, agent, check), "verified");
}

/// A later agent finds what an earlier one has downloaded.
fn caches_of_agents_persist(fixture: &SandboxFixture) {
    fixture.write_home_file(".cargo/registry/index/x", "home");
    let cargo = "${CARGO_HOME:-$HOME/.cargo}";
    let first = format!("echo own > \"{cargo}/registry-own\"");
    let check = format!("! test -e \"{cargo}/registry-own\"");
    assert_eq!(run(fixture, &first, &check), "verified");
    let second = format!("cat \"{cargo}/registry-own\" > seen");
    assert_eq!(run(fixture, &second, &check), "verified");
    assert_eq!(fixture.env.read("seen"), "own\n");
}

/// Programs and settings in a cache are those of the home; downloads that the workspace needs are copied.
fn caches_provide_installed_programs_and_downloads(fixture: &SandboxFixture) {
    fixture.write_home_file(".cargo/config.toml", "[settings]");
    fixture.write_home_file(".cargo/registry/cache/index/dep-1.0.0.crate", "download");
    let tool = fixture.write_home_file(".cargo/bin/tool", "#!/bin/sh\necho tool\n");
    make_executable(&tool);
    fixture.env.write("Cargo.toml", "[package]\n");
    let agent = "cargo=${CARGO_HOME:-$HOME/.cargo}
        ~/.cargo/bin/tool > seen; cat $cargo/config.toml $cargo/registry/cache/index/dep-1.0.0.crate >> seen
        echo evil >> ~/.cargo/bin/tool; echo evil >> $cargo/config.toml; rm -f ~/.cargo/bin/tool; true";
    assert_eq!(run(fixture, agent, "true"), "verified");
    assert_eq!(fixture.env.read("seen"), "tool\n[settings]download");
    let home = fixture.env.home();
    assert_eq!(
        fs::read_to_string(home.join(".cargo/config.toml")).unwrap(),
        "[settings]"
    );
    assert!(!fs::read_to_string(tool).unwrap().contains("evil"));
}

on_all!(
    caches_written_by_agents_are_not_read_by_checks,
    caches_of_agents_are_separate_without_home_caches,
    caches_of_agents_persist,
    caches_provide_installed_programs_and_downloads,
);

/// Go write-protects the folders of its cache.
#[test]
fn gc_removes_caches_of_missing_workspaces() {
    let Some(fixture) = SandboxFixture::with_backend("bubblewrap") else {
        return;
    };
    let agent =
        "mkdir -p $GOPATH/pkg/mod; echo own > $GOPATH/pkg/mod/file; chmod -w $GOPATH/pkg/mod";
    assert_eq!(run(&fixture, agent, "true"), "verified");
    let agents = fixture.env.state().join("selvedge/caches/agents");
    let folders = || {
        fs::read_dir(&agents)
            .unwrap()
            .map(|entry| entry.unwrap().path())
    };
    let gc = || {
        let command = fixture.env.selvedge(["gc"]).dir(fixture.env.root());
        command.run().assert_code(0);
    };
    let unused = |hours: u64| {
        let record = folders().next().unwrap().join("workspace");
        let record = fs::File::options().append(true).open(record).unwrap();
        let ago = std::time::Duration::from_secs(hours * 3_600);
        record
            .set_modified(std::time::SystemTime::now() - ago)
            .unwrap();
    };
    unused(2);
    gc();
    assert_eq!(folders().count(), 1, "its workspace is still there");
    fs::remove_dir_all(fixture.env.work_dir()).unwrap();
    gc();
    assert_eq!(folders().count(), 0);
}

//! Files that a sandbox plan masks are not exposed by its other entries.

use std::fs;

use super::fixture::{SECRET, SandboxFixture};
use super::on_all;
use crate::fixtures::make_executable;

/// Files in folders of agents and tools that are mounted read-only or only for their owners.
const KEPT: &[&str] = &[
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/CLAUDE.md",
    ".claude/hooks/hook.sh",
    ".codex/config.toml",
    ".codex/AGENTS.md",
    ".gemini/settings.json",
    ".gemini/GEMINI.md",
    ".qwen/settings.json",
    ".config/opencode/opencode.json",
    ".config/opencode/plugin/plugin.js",
    ".local/share/opencode/auth.json",
    ".cargo/credentials.toml",
    ".cargo/credentials",
    ".docker/config.json",
    ".kube/config",
    ".gnupg/key",
    ".config/gh/hosts.yml",
    ".config/git/credentials",
    ".git-credentials",
    ".pypirc",
    ".npmrc",
    ".yarnrc.yml",
    ".config/pip/pip.conf",
    ".config/pypoetry/auth.toml",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".composer/auth.json",
    ".nuget/NuGet/NuGet.Config",
    ".cache/huggingface/token",
    ".terraform.d/credentials.tfrc.json",
    ".config/hcloud/cli.toml",
    ".fly/config.yml",
    ".Xauthority",
    ".zsh_history",
    ".psql_history",
    ".var/app/org.mozilla.firefox/cookies.sqlite",
    ".config/selvedge/config.toml",
    ".local/share/jupyter/runtime/kernel.json",
    ".vnc/passwd",
    // Of programs that no list knows.
    ".new-cloud/credentials.json",
    ".config/new-tool/auth.json",
    "wallet.kdbx",
];

/// Additional files that the profile `strict` hides: it shows nothing of a home except toolchains.
const NEVER_STRICT: &[&str] = &[
    ".gradle/init.d/init.gradle",
    ".composer/vendor/bin/tool",
    ".profile",
];

fn plant(fixture: &SandboxFixture, files: &[&str]) {
    for file in files {
        fixture.write_home_file(file, SECRET);
    }
}

fn print(files: &[&str]) -> String {
    let files: Vec<String> = files.iter().map(|file| format!("~/{file}")).collect();
    format!("cat {}", files.join(" "))
}

/// Returns a script that prints every file of a list, and anything else in the home that contains the secret.
fn print_all(files: &[&str]) -> String {
    format!("{}; grep -rah s3cret ~; true", print(files))
}

fn masks_hide_files_from_checks(fixture: &SandboxFixture) {
    plant(fixture, KEPT);
    fixture.assert_no_secret_in(&print_all(KEPT));
}

fn masks_hide_files_from_strict_checks(fixture: &SandboxFixture) {
    plant(fixture, KEPT);
    plant(fixture, NEVER_STRICT);
    // A folder in `PATH` that contains the home is ignored.
    let home = fixture.env.home();
    let path = std::env::var("PATH").unwrap();
    let path = format!("{path}:{}", home.display());
    let all = [KEPT, NEVER_STRICT].concat();
    let more = [
        ("SELVEDGE_SANDBOX_CHECKS", "strict"),
        ("PATH", path.as_str()),
    ];
    let report = fixture.verify(&print_all(&all), &more);
    let output = report["checks"][0]["output"].as_str().unwrap();
    assert!(!output.contains(SECRET), "{output}");
    assert_eq!(report["sandbox"]["profile"], "strict");
}

/// An agent can read its own files but not those of others, and cannot write its settings.
fn masks_hide_files_from_other_agents(fixture: &SandboxFixture) {
    plant(fixture, KEPT);
    let (own, others): (Vec<&str>, Vec<&str>) =
        KEPT.iter().partition(|file| file.starts_with(".claude/"));
    let script = format!(
        "#!/bin/sh\n{} > others.txt 2>&1\n{} > own.txt\necho evil >> ~/.claude/settings.json\n",
        print(&others),
        print(&own),
    );
    let agent = fixture.env.write("agent.sh", script);
    make_executable(&agent);
    fixture.env.commit("An agent");
    let settings = fixture.env.config().join("selvedge/config.toml");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let before = fs::read_to_string(&settings).unwrap_or_default();
    let program = agent.display().to_string();
    let agent = format!("[agents.own]\nkind = \"claude\"\nprogram = [{program:?}]\n");
    fs::write(settings, before + &agent).unwrap();
    let run = fixture.env.selvedge([
        "run",
        "do it",
        "--agent",
        "own",
        "--check",
        "true",
        "--retries",
        "0",
    ]);
    let run = run.run();
    let others = fixture.env.read("others.txt");
    assert!(!others.contains(SECRET), "{others}");
    assert_eq!(
        fixture.env.read("own.txt"),
        SECRET.repeat(own.len()),
        "{}",
        run.stderr
    );
    let settings = fs::read_to_string(fixture.env.home().join(".claude/settings.json"));
    // Landlock cannot protect a part of a writable folder.
    assert_eq!(settings.unwrap() == SECRET, fixture.backend != "landlock");
}

/// Settings without a credential stay readable, and a grant opens a hidden file for one check.
fn masks_of_settings_depend_on_credentials(fixture: &SandboxFixture) {
    let registry = "registry=https://registry.example.org/\n";
    fixture.write_home_file(".npmrc", registry);
    let credential = format!("//registry.example.org/:_password={SECRET}\n");
    let hidden = fixture.write_home_file(".yarnrc", &credential);
    let script = "cat ~/.npmrc ~/.yarnrc; true";
    let output = fixture.check_output(script);
    assert!(output.contains(registry.trim()), "{output}");
    assert!(!output.contains(SECRET), "{output}");
    let settings = fixture.env.config().join("selvedge/config.toml");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let before = fs::read_to_string(&settings).unwrap_or_default();
    let grant = "[sandbox.grants]\n\"sh attempt.sh\" = [\"~/.yarnrc\"]\n";
    fs::write(settings, before + grant).unwrap();
    for (check, is_granted) in [("sh attempt.sh", true), ("sh ./attempt.sh", false)] {
        let run = ["verify", "--check", check, "--format", "json"];
        let report = fixture.env.selvedge(run).run().json();
        let output = report["checks"][0]["output"].as_str().unwrap();
        assert_eq!(output.contains(SECRET), is_granted, "{report}");
    }
    assert_eq!(fs::read_to_string(hidden).unwrap(), credential);
}

/// A workspace may be in a hidden folder and named like a secret.
fn masks_by_name_spare_the_workspace(fixture: &SandboxFixture) {
    let root = fixture.env.home().join(".worktrees/token-refresh");
    fs::create_dir_all(&root).unwrap();
    fs::rename(fixture.env.work_dir(), root.join("app")).unwrap();
    fs::write(root.join("app/token"), "of the project").unwrap();
    fixture.write_home_file(".worktrees/other/token", SECRET);
    let run = [
        "verify",
        "--check",
        "cat token ../../other/token; true",
        "--format",
        "json",
    ];
    let run = fixture.env.selvedge(run).dir(root.join("app"));
    let report = run.run().json();
    let output = report["checks"][0]["output"].as_str().unwrap();
    assert!(output.starts_with("of the project"), "{report}");
    assert!(!output.contains(SECRET), "{report}");
}

/// An agent of the protocol that any program may speak sees only its own files if its program's name is known.
fn masks_follow_the_name_of_an_agent(fixture: &SandboxFixture) {
    plant(fixture, KEPT);
    let script = "#!/bin/sh\ncat > /dev/null\ncat ~/.claude/settings.json > others.txt\ncat ~/.codex/config.toml > own.txt\n";
    let agent = fixture.env.write("codex-like", script);
    make_executable(&agent);
    fixture.env.commit("An agent");
    let run = [
        "run",
        "do it",
        "--agent-cmd",
        "./codex-like",
        "--check",
        "true",
        "--retries",
        "0",
    ];
    fixture.env.selvedge(run).run();
    assert_eq!(fixture.env.read("others.txt"), "");
    assert_eq!(fixture.env.read("own.txt"), SECRET);
}

/// A folder that a variable has moved may leave an old one behind; both are masked.
fn masks_follow_moved_folders(fixture: &SandboxFixture) {
    plant(
        fixture,
        &[
            ".kube/config",
            ".kube/other",
            ".codex/config.toml",
            "moved/config.toml",
        ],
    );
    let home = fixture.env.home();
    let at = |path: &str| home.join(path).display().to_string();
    let listed = format!("{}:{}", at("other-kube"), at(".kube/other"));
    fixture.write_home_file("other-kube", SECRET);
    let codex = at("moved");
    let report = fixture.verify(
        "cat ~/.kube/config ~/.kube/other ~/other-kube ~/.codex/config.toml ~/moved/config.toml; true",
        &[("CODEX_HOME", codex.as_str()), ("KUBECONFIG", listed.as_str())],
    );
    let output = report["checks"][0]["output"].as_str().unwrap();
    assert!(!output.contains(SECRET), "{output}");
}

on_all!(
    masks_hide_files_from_checks,
    masks_hide_files_from_strict_checks,
    masks_hide_files_from_other_agents,
    masks_follow_the_name_of_an_agent,
    masks_follow_moved_folders,
);

// A container shows nothing of a home.
mod settings {
    use super::{masks_by_name_spare_the_workspace, masks_of_settings_depend_on_credentials};

    crate::sandbox::on_both!(
        masks_by_name_spare_the_workspace,
        masks_of_settings_depend_on_credentials,
    );
}

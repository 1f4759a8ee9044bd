//! What a plan masks is not uncovered by anything else that the plan names in it.

use std::fs;

use super::fixture::{SECRET, SandboxFixture};
use super::on_all;
use crate::fixtures::make_executable;

/// In what agents and tools keep, and read-only or shown for whoever may have it.
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
];

/// Under `strict` nothing of a home is there but toolchains.
const NEVER_STRICT: &[&str] = &[
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".gradle/init.d/init.gradle",
    ".composer/vendor/bin/tool",
    ".profile",
];

fn plant(scene: &SandboxFixture, files: &[&str]) {
    for file in files {
        scene.write_home_file(file, SECRET);
    }
}

fn print(files: &[&str]) -> String {
    let files: Vec<String> = files.iter().map(|file| format!("~/{file}")).collect();
    format!("cat {}", files.join(" "))
}

/// Prints every file of a list, and whatever else of the home holds the secret.
fn print_all(files: &[&str]) -> String {
    format!("{}; grep -rah s3cret ~; true", print(files))
}

fn from_checks(scene: &SandboxFixture) {
    plant(scene, KEPT);
    scene.assert_no_secret_in(&print_all(KEPT));
}

fn from_strict_checks(scene: &SandboxFixture) {
    plant(scene, KEPT);
    plant(scene, NEVER_STRICT);
    // A folder of programs that shows a home is not one.
    let home = scene.env.home();
    let path = std::env::var("PATH").unwrap();
    let path = format!("{path}:{}", home.display());
    let all = [KEPT, NEVER_STRICT].concat();
    let more = [
        ("SELVEDGE_SANDBOX_CHECKS", "strict"),
        ("PATH", path.as_str()),
    ];
    let report = scene.verify(&print_all(&all), &more);
    let said = report["checks"][0]["output"].as_str().unwrap();
    assert!(!said.contains(SECRET), "{said}");
    assert_eq!(report["sandbox"]["profile"], "strict");
}

/// An agent has its own files, and nobody else's; its settings cannot be written.
fn from_other_agents(scene: &SandboxFixture) {
    plant(scene, KEPT);
    let (own, others): (Vec<&str>, Vec<&str>) =
        KEPT.iter().partition(|file| file.starts_with(".claude/"));
    let script = format!(
        "#!/bin/sh\n{} > others.txt 2>&1\n{} > own.txt\necho evil >> ~/.claude/settings.json\n",
        print(&others),
        print(&own),
    );
    let agent = scene.env.write("agent.sh", script);
    make_executable(&agent);
    scene.env.commit("An agent");
    let settings = scene.env.config().join("selvedge/config.toml");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let before = fs::read_to_string(&settings).unwrap_or_default();
    let program = agent.display().to_string();
    let agent = format!("[agents.own]\nkind = \"claude\"\nprogram = [{program:?}]\n");
    fs::write(settings, before + &agent).unwrap();
    let run = scene.env.selvedge([
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
    let others = scene.env.read("others.txt");
    assert!(!others.contains(SECRET), "{others}");
    assert_eq!(
        scene.env.read("own.txt"),
        SECRET.repeat(own.len()),
        "{}",
        run.stderr
    );
    let settings = fs::read_to_string(scene.env.home().join(".claude/settings.json"));
    // Landlock cannot protect a part of a folder that may be written.
    assert_eq!(settings.unwrap() == SECRET, scene.backend != "landlock");
}

/// What a variable has moved leaves an old one behind, and both are masked.
fn wherever_they_were_moved(scene: &SandboxFixture) {
    plant(
        scene,
        &[
            ".kube/config",
            ".kube/other",
            ".codex/config.toml",
            "moved/config.toml",
        ],
    );
    let home = scene.env.home();
    let at = |path: &str| home.join(path).display().to_string();
    let listed = format!("{}:{}", at("other-kube"), at(".kube/other"));
    scene.write_home_file("other-kube", SECRET);
    let codex = at("moved");
    let report = scene.verify(
        "cat ~/.kube/config ~/.kube/other ~/other-kube ~/.codex/config.toml ~/moved/config.toml; true",
        &[("CODEX_HOME", codex.as_str()), ("KUBECONFIG", listed.as_str())],
    );
    let said = report["checks"][0]["output"].as_str().unwrap();
    assert!(!said.contains(SECRET), "{said}");
}

on_all!(
    from_checks,
    from_strict_checks,
    from_other_agents,
    wherever_they_were_moved,
);

//! `selvedge install` and `uninstall` for every agent.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use selvedge_testkit::TestEnv;
use serde_json::Value;

use crate::fixtures::env_with_repo;

const AGENTS: [&str; 7] = [
    "claude", "codex", "gemini", "qwen", "copilot", "cursor", "opencode",
];

/// All files below a folder, except those of git.
fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() && !path.ends_with(".git") {
                folders.push(path);
            } else if path.is_file() {
                found.insert(path.clone(), std::fs::read(path).unwrap());
            }
        }
    }
    found
}

fn selvedge(env: &TestEnv, args: &[&str]) -> String {
    let out = env.selvedge(args).run();
    out.assert_code(0);
    out.stdout
}

#[test]
fn install_is_undone_exactly_by_uninstall() {
    let env = env_with_repo();
    env.write("selvedge.toml", "[[checks]]\nrun = \"true\"\n");
    // Settings of the user's own.
    let own = "{\n    // mine\n    \"hooks\": {\n        \"PreToolUse\": [ { \"hooks\": [] } ]\n    },\n    \"theme\":   \"dark\"\n}\n";
    for path in [
        ".gemini/settings.json",
        ".qwen/settings.json",
        ".codex/hooks.json",
        ".cursor/hooks.json",
        ".cursor/mcp.json",
    ] {
        env.write(path, own);
    }
    for agent in AGENTS {
        let before = files(&env.work_dir());
        let dry = selvedge(&env, &["install", agent, "--dry-run"]);
        assert!(dry.contains("would write "), "{dry}");
        assert_eq!(files(&env.work_dir()), before, "{agent}");
        selvedge(&env, &["install", agent]);
        let installed = files(&env.work_dir());
        let new: Vec<_> = installed
            .iter()
            .filter(|(path, bytes)| before.get(*path) != Some(bytes))
            .collect();
        let calls = format!(" hook {agent}");
        let has_hook = |(_, bytes): &(&PathBuf, &Vec<u8>)| {
            let text = String::from_utf8_lossy(bytes);
            text.contains(&calls) || text.contains("\"hook\", \"opencode\"")
        };
        assert!(new.iter().any(has_hook), "{agent}: {new:?}");
        assert!(
            new.iter().any(|(path, _)| path.ends_with("SKILL.md")),
            "{agent}"
        );
        for (path, bytes) in new {
            if path.extension().is_some_and(|it| it == "json") && !before.contains_key(path) {
                serde_json::from_slice::<Value>(bytes).unwrap();
            }
        }
        let again = selvedge(&env, &["install", agent]);
        assert!(again.contains("already set up"), "{again}");
        assert_eq!(files(&env.work_dir()), installed);
        selvedge(&env, &["uninstall", agent]);
        assert_eq!(files(&env.work_dir()), before, "{agent}");
        let again = selvedge(&env, &["uninstall", agent]);
        assert!(again.contains("not set up"), "{again}");
    }
}

#[test]
fn install_for_the_user_leaves_the_repository_alone() {
    let env = env_with_repo();
    env.write("selvedge.toml", "[[checks]]\nrun = \"true\"\n");
    let project = files(&env.work_dir());
    for (agent, expected) in [
        (
            "claude",
            ".claude/skills/selvedge/.claude-plugin/plugin.json",
        ),
        (
            "gemini",
            ".gemini/extensions/selvedge/gemini-extension.json",
        ),
        ("qwen", ".qwen/extensions/selvedge/qwen-extension.json"),
        ("copilot", ".copilot/hooks/selvedge.json"),
        ("cursor", ".cursor/hooks.json"),
    ] {
        let before = files(&env.home());
        selvedge(&env, &["install", agent, "--user"]);
        assert!(env.home().join(expected).is_file(), "{agent}");
        selvedge(&env, &["uninstall", agent, "--user"]);
        assert_eq!(files(&env.home()), before, "{agent}");
    }
    assert_eq!(files(&env.work_dir()), project);
}

#[test]
fn uninstall_keeps_own_files_that_were_changed() {
    let env = env_with_repo();
    selvedge(&env, &["install", "opencode"]);
    let plugin = ".opencode/plugins/selvedge.js";
    let changed = env.read(plugin) + "// mine\n";
    env.write(plugin, &changed);
    let out = selvedge(&env, &["uninstall", "opencode"]);
    assert!(
        out.contains("kept") && out.contains("it was changed since"),
        "{out}"
    );
    assert_eq!(env.read(plugin), changed);
}

#[test]
fn install_refuses_settings_that_it_does_not_understand() {
    let env = env_with_repo();
    env.write(".gemini/settings.json", "{\"hooks\": [");
    let out = env.selvedge(["install", "gemini"]).run();
    out.assert_code(2);
    assert!(out.stderr.contains(".gemini/settings.json"), "{out}");
    assert_eq!(env.read(".gemini/settings.json"), "{\"hooks\": [");
}

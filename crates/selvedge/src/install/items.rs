//! The items to install for each agent, in the formats of its vendor. Pure.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::InstallItem;
use super::settings_file::SettingsEntry;
use crate::stop_gate::HookAgent;

/// Seconds that a stop may take: a baseline, the checks, and the checks with the original tests.
const STOP_SECONDS: u64 = 1_800;
/// Seconds that the other events may take: a snapshot.
const EVENT_SECONDS: u64 = 120;

const SKILL: &str = include_str!("assets/SKILL.md");
const OPENCODE_PLUGIN: &str = include_str!("assets/opencode.js");
const DESCRIPTION: &str =
    "Lets the agent finish only when the project's own checks pass, and shows it what fails";

/// Where an installation applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InstallScope {
    /// One repository; its directory.
    Project(PathBuf),
    /// The user's own settings.
    User,
}

/// Directories of the user's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgentDirectories {
    pub(crate) home: PathBuf,
    /// Variables that move an agent's directory: name and value.
    pub(crate) environment: Vec<(String, String)>,
    /// For files of Selvedge's own that an agent's program reads.
    pub(crate) data: PathBuf,
}

impl AgentDirectories {
    /// The value of a variable, or else a directory below the user's home.
    fn moved_by(&self, variable: &str, default: &str) -> PathBuf {
        let found = self.environment.iter().find(|(name, _)| name == variable);
        let set = found
            .map(|(_, value)| value)
            .filter(|value| !value.is_empty());
        set.map_or_else(|| self.home.join(default), PathBuf::from)
    }

    /// The directory with the agent's settings in the scope.
    fn settings_dir(&self, agent: HookAgent, scope: &InstallScope) -> PathBuf {
        match (agent, scope) {
            (HookAgent::Copilot, InstallScope::Project(dir)) => dir.join(".github"),
            (agent, InstallScope::Project(dir)) => dir.join(format!(".{}", agent.name())),
            (HookAgent::Claude, InstallScope::User) => {
                self.moved_by("CLAUDE_CONFIG_DIR", ".claude")
            }
            (HookAgent::Codex, InstallScope::User) => self.moved_by("CODEX_HOME", ".codex"),
            (HookAgent::Gemini, InstallScope::User) => {
                self.moved_by("GEMINI_CLI_HOME", "").join(".gemini")
            }
            (HookAgent::Qwen, InstallScope::User) => self.home.join(".qwen"),
            (HookAgent::Copilot, InstallScope::User) => self.moved_by("COPILOT_HOME", ".copilot"),
            (HookAgent::Cursor, InstallScope::User) => self.home.join(".cursor"),
            (HookAgent::Opencode, InstallScope::User) => {
                self.moved_by("XDG_CONFIG_HOME", ".config").join("opencode")
            }
        }
    }
}

/// Everything that is installed for an agent. `program` is the command that starts Selvedge.
pub(crate) fn install_items(
    agent: HookAgent,
    scope: &InstallScope,
    directories: &AgentDirectories,
    program: &str,
) -> Vec<InstallItem> {
    let dir = directories.settings_dir(agent, scope);
    let hooks = HookCalls { agent, program };
    let skill = |folder: &Path| own_file(folder.join("skills/selvedge/SKILL.md"), SKILL);
    match (agent, scope) {
        (HookAgent::Claude, _) => plugin(&dir.join("skills/selvedge"), &hooks),
        (HookAgent::Codex, InstallScope::User) => {
            let marketplace = directories.data.join("selvedge/codex-marketplace");
            let mut items = codex_marketplace(&marketplace, &hooks);
            items.push(codex_commands(&marketplace, dir.join("config.toml")));
            items
        }
        (HookAgent::Codex, InstallScope::Project(root)) => {
            // Skills are in a folder that several agents share; the tools need the user's own settings.
            vec![
                settings(dir.join("hooks.json"), hooks.entries()),
                skill(&root.join(".agents")),
            ]
        }
        (HookAgent::Gemini | HookAgent::Qwen, InstallScope::User) => {
            extension(&dir.join("extensions/selvedge"), &hooks)
        }
        (HookAgent::Gemini | HookAgent::Qwen, InstallScope::Project(_)) => {
            let mut entries = hooks.entries();
            entries.push(hooks.server_entry());
            vec![settings(dir.join("settings.json"), entries), skill(&dir)]
        }
        (HookAgent::Copilot, _) => {
            let mut items = vec![
                own_json(
                    dir.join("hooks/selvedge.json"),
                    &json!({"version": 1, "hooks": hooks.to_json()}),
                ),
                skill(&dir),
            ];
            if *scope == InstallScope::User {
                let server =
                    json!({"type": "local", "command": program, "args": ["mcp"], "tools": ["*"]});
                let entry = SettingsEntry::Key {
                    path: vec!["mcpServers", "selvedge"],
                    value: server,
                };
                items.push(settings(dir.join("mcp-config.json"), vec![entry]));
            }
            items
        }
        (HookAgent::Cursor, _) => {
            let mut entries = vec![SettingsEntry::Required {
                key: "version",
                value: json!(1),
            }];
            entries.extend(hooks.entries());
            vec![
                settings(dir.join("hooks.json"), entries),
                settings(dir.join("mcp.json"), vec![hooks.server_entry()]),
                skill(&dir),
            ]
        }
        (HookAgent::Opencode, _) => {
            let plugin =
                OPENCODE_PLUGIN.replace("\"@PROGRAM@\"", &json!(unquoted(program)).to_string());
            vec![
                own_file(dir.join("plugins/selvedge.js"), &plugin),
                skill(&dir),
            ]
        }
    }
}

/// A plug-in of Claude Code.
fn plugin(folder: &Path, hooks: &HookCalls<'_>) -> Vec<InstallItem> {
    vec![
        own_json(folder.join(".claude-plugin/plugin.json"), &manifest()),
        own_json(
            folder.join("hooks/hooks.json"),
            &json!({"description": DESCRIPTION, "hooks": hooks.to_json()}),
        ),
        own_json(
            folder.join(".mcp.json"),
            &json!({"mcpServers": {"selvedge": hooks.server()}}),
        ),
        own_file(folder.join("skills/verify/SKILL.md"), SKILL),
    ]
}

/// A marketplace of Codex with one plug-in.
fn codex_marketplace(folder: &Path, hooks: &HookCalls<'_>) -> Vec<InstallItem> {
    let plugin = folder.join("plugins/selvedge");
    let marketplace = json!({
        "name": "selvedge",
        "interface": {"displayName": "Selvedge"},
        "plugins": [{
            "name": "selvedge",
            "source": {"source": "local", "path": "./plugins/selvedge"},
            "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
            "category": "Productivity",
        }],
    });
    let mut manifest = manifest();
    if let Some(manifest) = manifest.as_object_mut() {
        manifest.insert("skills".to_owned(), json!("./skills/"));
        manifest.insert("mcpServers".to_owned(), json!("./.mcp.json"));
        manifest.insert("hooks".to_owned(), json!("./hooks/hooks.json"));
    }
    vec![
        own_json(
            folder.join(".agents/plugins/marketplace.json"),
            &marketplace,
        ),
        own_json(plugin.join(".codex-plugin/plugin.json"), &manifest),
        own_json(
            plugin.join("hooks/hooks.json"),
            &json!({"hooks": hooks.to_json()}),
        ),
        own_json(
            plugin.join(".mcp.json"),
            &json!({"mcpServers": {"selvedge": hooks.server()}}),
        ),
        own_file(plugin.join("skills/selvedge/SKILL.md"), SKILL),
    ]
}

/// Codex copies a plug-in and records it in its settings itself.
fn codex_commands(marketplace: &Path, record: PathBuf) -> InstallItem {
    let codex = |arguments: &[&str]| {
        let words = ["codex", "plugin"].iter().chain(arguments);
        words.map(|word| (*word).to_owned()).collect::<Vec<_>>()
    };
    let folder = marketplace.to_string_lossy();
    InstallItem::Commands {
        record,
        recorded_line: "[plugins.\"selvedge@selvedge\"]",
        install: vec![
            codex(&["marketplace", "add", &folder]),
            codex(&["add", "selvedge@selvedge"]),
        ],
        uninstall: vec![
            codex(&["remove", "selvedge@selvedge"]),
            codex(&["marketplace", "remove", "selvedge"]),
        ],
    }
}

/// An extension of Gemini CLI or Qwen Code.
fn extension(folder: &Path, hooks: &HookCalls<'_>) -> Vec<InstallItem> {
    let manifest = json!({
        "name": "selvedge",
        "version": env!("CARGO_PKG_VERSION"),
        "description": DESCRIPTION,
        "mcpServers": {"selvedge": hooks.server()},
    });
    let name = format!("{}-extension.json", hooks.agent.name());
    vec![
        own_json(folder.join(name), &manifest),
        own_json(
            folder.join("hooks/hooks.json"),
            &json!({"hooks": hooks.to_json()}),
        ),
        own_file(folder.join("skills/selvedge/SKILL.md"), SKILL),
    ]
}

fn manifest() -> Value {
    json!({
        "name": "selvedge",
        "version": env!("CARGO_PKG_VERSION"),
        "description": DESCRIPTION,
        "author": {"name": "Selvedge"},
    })
}

/// The hooks of an agent.
struct HookCalls<'a> {
    agent: HookAgent,
    program: &'a str,
}

impl HookCalls<'_> {
    /// The hook of an event, as an element of the event's list.
    fn hook(&self, is_stop: bool) -> Value {
        let command = format!("{} hook {}", self.program, self.agent.name());
        let seconds = if is_stop { STOP_SECONDS } else { EVENT_SECONDS };
        let call = match self.agent {
            // Its limit of continuations would otherwise be lower than that of the gate.
            HookAgent::Cursor if is_stop => return json!({"command": command, "loop_limit": 10}),
            HookAgent::Cursor => return json!({"command": command}),
            HookAgent::Copilot => {
                return json!({"type": "command", "bash": command, "timeoutSec": seconds});
            }
            HookAgent::Gemini => {
                json!({"name": "selvedge", "type": "command", "command": command, "timeout": seconds * 1_000})
            }
            // It reads 1000 or more as milliseconds.
            HookAgent::Qwen if is_stop => {
                json!({"name": "selvedge", "type": "command", "command": command, "timeout": seconds * 1_000})
            }
            _ => json!({"type": "command", "command": command, "timeout": seconds}),
        };
        json!({"hooks": [call]})
    }

    fn events(&self) -> impl Iterator<Item = (&'static str, Value)> {
        let names = self.agent.event_names();
        let stop = names[2];
        names
            .into_iter()
            .map(move |name| (name, self.hook(name == stop)))
    }

    /// The object with all events.
    fn to_json(&self) -> Value {
        let events = self
            .events()
            .map(|(name, hook)| (name.to_owned(), json!([hook])));
        Value::Object(events.collect::<Map<_, _>>())
    }

    /// The events as entries of a settings file.
    fn entries(&self) -> Vec<SettingsEntry> {
        let entry = |(name, value)| SettingsEntry::Hook {
            path: vec!["hooks", name],
            value,
            agent: self.agent.name(),
        };
        self.events().map(entry).collect()
    }

    /// The tool server.
    fn server(&self) -> Value {
        json!({"command": unquoted(self.program), "args": ["mcp"]})
    }

    fn server_entry(&self) -> SettingsEntry {
        SettingsEntry::Key {
            path: vec!["mcpServers", "selvedge"],
            value: self.server(),
        }
    }
}

/// A program's path without the quotes that a shell needs.
fn unquoted(program: &str) -> String {
    let inner = program
        .strip_prefix('\'')
        .and_then(|it| it.strip_suffix('\''));
    inner.map_or_else(|| program.to_owned(), |it| it.replace("'\\''", "'"))
}

fn own_file(path: PathBuf, contents: &str) -> InstallItem {
    InstallItem::OwnFile {
        path,
        contents: contents.to_owned(),
    }
}

fn own_json(path: PathBuf, value: &Value) -> InstallItem {
    // Values that were just made are always serializable.
    let contents = serde_json::to_string_pretty(value).unwrap_or_default() + "\n";
    InstallItem::OwnFile { path, contents }
}

fn settings(path: PathBuf, entries: Vec<SettingsEntry>) -> InstallItem {
    InstallItem::Settings { path, entries }
}

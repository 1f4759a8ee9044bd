//! `default.toml` is the reference for users, so it must be complete and correct.

use super::{person, resolve};
use crate::config::environment;
use crate::config::json_schema;
use crate::config::key::SettingKey;
use crate::config::suggest::all_keys;
use crate::config::tree::{ConfigNode, ConfigValue};
use crate::config::{DEFAULT_TOML, Origin};
use crate::model::{AgentKind, RunSpec};

/// The defaults with their examples enabled: `#key = …` (prose has a space after the `#`).
fn with_examples() -> String {
    let example = |line: &str| {
        let code = line.strip_prefix('#').filter(|rest| !rest.starts_with(' '));
        code.unwrap_or(line).to_owned()
    };
    DEFAULT_TOML
        .lines()
        .map(example)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn defaults_and_examples_are_valid_without_a_warning() {
    let defaults = resolve([]).unwrap();
    assert_eq!(defaults.warnings, []);
    assert!(defaults.checks.is_empty());
    assert_eq!(defaults.max_verification_retries, 2);
    assert_eq!(defaults.verification_timeout_ms, 120_000);
    assert_eq!(
        defaults.origin("verification.timeout"),
        Some(Origin::Default)
    );
    assert_eq!(defaults.agents[&defaults.agent].kind, AgentKind::Claude);
    assert_eq!(defaults.agents["claude"].api_retries, 3);
    assert_eq!(defaults.agents["ollama"].api_retries, 2);
    assert!(defaults.agents["shell"].deterministic);

    let examples = resolve([person(&with_examples())]).unwrap();
    assert_eq!(examples.warnings, []);
    assert_eq!(examples.checks.len(), 3);
    assert!(examples.agents["mine"].prompt_as_argument);
    assert!(examples.budget.cost_micro_usd.is_some());
}

#[test]
fn defaults_document_every_key() {
    let examples = person(&with_examples()).tree;
    let schema = json_schema();
    let has = |key: &SettingKey| examples.at(key).is_some();
    let missing: Vec<_> = all_keys(&schema)
        .into_iter()
        .filter(|key| !has(key))
        .collect();
    assert_eq!(missing, []);

    for (pointer, tables) in [
        ("/properties/checks/items", elements(&examples, "checks")),
        (
            "/properties/agents/additionalProperties",
            elements(&examples, "agents"),
        ),
    ] {
        let properties = schema
            .pointer(pointer)
            .and_then(|table| table["properties"].as_object());
        for name in properties.unwrap().keys() {
            let shown = tables
                .iter()
                .any(|table| table.at(&SettingKey::dotted(name)).is_some());
            assert!(shown, "default.toml does not show `{name}` of {pointer}");
        }
    }
}

#[test]
fn schema_has_the_descriptions_and_values_of_the_defaults() {
    let schema = json_schema();
    let text = |pointer: &str| {
        schema
            .pointer(pointer)
            .and_then(|it| it.as_str())
            .unwrap_or("none")
    };
    let retries = "/properties/verification/properties/max_retries";
    assert_eq!(
        schema.pointer(&format!("{retries}/default")),
        Some(&2.into())
    );
    assert!(text(&format!("{retries}/description")).starts_with("Retries after a first attempt"));
    assert!(text("/properties/guard/description").starts_with("Files that no attempt may change"));
    assert!(
        text("/properties/budget/properties/cost_usd/description")
            .starts_with("Cost in US dollars")
    );
    assert!(
        text("/properties/checks/items/properties/run/description").starts_with("The command line")
    );
    assert!(
        text("/properties/agents/additionalProperties/properties/model/description")
            .starts_with("Model, as")
    );
    // Every key of a fixed table is described.
    for key in all_keys(&schema) {
        let pointer = format!(
            "/properties/{}",
            key.to_string().replace('.', "/properties/")
        );
        assert!(
            text(&format!("{pointer}/description")) != "none",
            "{key} is not described in default.toml"
        );
    }
    // A file sets what it wants to.
    for table in [
        "",
        "/properties/judging",
        "/properties/guard",
        "/properties/sandbox",
    ] {
        assert!(
            schema.pointer(&format!("{table}/required")).is_none(),
            "{table}"
        );
    }
}

fn elements(tree: &ConfigNode, key: &str) -> Vec<ConfigNode> {
    match tree
        .at(&SettingKey::dotted(key))
        .map(|node| node.value.clone())
    {
        Some(ConfigValue::List(elements)) => elements,
        Some(ConfigValue::Table(entries)) => entries.into_values().collect(),
        _ => Vec::new(),
    }
}

#[test]
fn defaults_have_a_variable_for_every_scalar() {
    const LISTS: [&str; 18] = [
        "agents",
        "checks",
        "environment.checks",
        "environment.secrets",
        "escalate",
        "guard.allow",
        "guard.protect",
        "judging.judges",
        "prices",
        "sandbox.container_args",
        "sandbox.engine_args",
        "sandbox.grants",
        "sandbox.writable",
        "setup.files",
        "setup.reset",
        "setup.run",
        "verification.known_failures",
        "verification.syntax_except",
    ];
    let mut keys: Vec<String> = all_keys(&json_schema())
        .iter()
        .map(ToString::to_string)
        .filter(|key| !LISTS.contains(&key.as_str()))
        .collect();
    let mut named: Vec<_> = environment::VARIABLES.iter().map(|(_, key)| *key).collect();
    named.sort_unstable();
    keys.sort_unstable();
    assert_eq!(named, keys);
    for (variable, key) in environment::VARIABLES {
        assert_eq!(
            *variable,
            format!("SELVEDGE_{}", key.replace('.', "_").to_uppercase())
        );
    }
}

#[test]
fn defaults_document_the_retry_limit() {
    assert!(DEFAULT_TOML.contains(&format!("0 to {}", RunSpec::MAX_RETRIES)));
    let retries = person(&format!(
        "verification.max_retries = {}",
        RunSpec::MAX_RETRIES
    ));
    assert!(resolve([retries]).is_ok());
}

/// The guide's tables and examples must match the code as well.
#[test]
fn defaults_match_the_guide() {
    const GUIDE: &str = include_str!("../../../../../docs/reference/configuration.md");
    let defaults = resolve([]).unwrap();
    for key in all_keys(&json_schema()).iter().map(ToString::to_string) {
        if ["checks", "agents", "prices"].contains(&key.as_str()) {
            continue;
        }
        let settings = defaults.settings();
        let default = settings.iter().find(|setting| setting.key == key);
        let shown = default.map_or("none".to_owned(), |setting| format!("`{}`", setting.value));
        let row = format!("| `{key}` | {shown} |");
        assert!(GUIDE.contains(&row), "the guide lacks {row}");
    }
    for example in GUIDE
        .split("```toml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
    {
        assert_eq!(
            resolve([person(example)]).unwrap().warnings,
            [],
            "{example}"
        );
    }
}

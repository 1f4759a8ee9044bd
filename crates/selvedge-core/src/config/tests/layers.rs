//! Later layers win, key by key, and every value has its origin.

use proptest::prelude::*;

use super::{of_repository, person, repository, resolve};
use crate::config::{ConfigLayer, Flags, Origin};
use crate::model::{AgentKind, MicroUsd, OnUsageLimit, StepKind, Usage, VoteStrategy};

fn environment(variables: &[(&str, &str)]) -> ConfigLayer {
    let owned = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
    ConfigLayer::environment(variables.iter().map(owned))
}

#[test]
fn layers_override_lower_ones() {
    let file = |retries| format!("verification.max_retries = {retries}");
    let mut layers = Vec::new();
    let mut expect = |layer: ConfigLayer, retries: u32, origin: &str| {
        layers.push(layer);
        let resolved = resolve(layers.clone()).unwrap();
        assert_eq!(resolved.max_verification_retries, retries);
        assert_eq!(
            resolved
                .origin("verification.max_retries")
                .unwrap()
                .to_string(),
            origin
        );
        assert_eq!(
            resolved.verification_timeout_ms, 120_000,
            "its neighbours stay"
        );
    };
    expect(person(&file(1)), 1, "~/.config/selvedge/config.toml:1");
    expect(repository(&format!("\n{}", file(3))), 3, "selvedge.toml:2");
    expect(
        environment(&[("SELVEDGE_VERIFICATION_MAX_RETRIES", "4")]),
        4,
        "env SELVEDGE_VERIFICATION_MAX_RETRIES",
    );
    expect(
        ConfigLayer::flags(&Flags {
            retries: Some(0),
            ..Flags::default()
        }),
        0,
        "flag --retries",
    );
}

#[test]
fn layers_include_every_flag() {
    let flags = Flags {
        agent: None,
        agent_cmd: Some(["aider", "--yes", "two words"].map(str::to_owned).to_vec()),
        escalate: vec!["ollama".to_owned()],
        checks: vec!["cargo test".to_owned(), "cargo clippy".to_owned()],
        retries: Some(5),
        tier: Some(2),
        judges: vec!["ollama".to_owned()],
        best_of: Some(4),
        timeout: Some("1h30m".to_owned()),
        verification_timeout: Some("500ms".to_owned()),
        baseline: Some("on".into()),
        known_failures: vec!["a::b".to_owned()],
        known_failures_file: Some("/known".to_owned()),
        max_cost: Some(2.5),
        max_tokens: Some(9),
        max_duration: Some("2h".into()),
        require_cost_reporting: true,
        on_usage_limit: Some("stop".into()),
        max_turns: Some(7),
        sandbox: Some("none".to_owned()),
        check_env: vec!["DATABASE_URL".to_owned()],
    };
    let file = repository("checks = [{ run = \"make\" }]");
    let resolved = resolve([file, ConfigLayer::flags(&flags)]).unwrap();
    let agent = &resolved.agents[&resolved.agent];
    assert_eq!(agent.kind, AgentKind::Command);
    assert_eq!(agent.program, ["aider", "--yes", "two words"]);
    assert_eq!(resolved.escalate, ["ollama"]);
    let checks: Vec<_> = resolved
        .checks
        .iter()
        .map(|step| step.target.as_str())
        .collect();
    assert_eq!(
        checks,
        ["cargo test", "cargo clippy"],
        "flags replace the configured checks"
    );
    assert_eq!(resolved.max_verification_retries, 5);
    assert_eq!(resolved.verification_tier, 2);
    assert_eq!(
        (resolved.vote_strategy, resolved.votes),
        (VoteStrategy::BestOfN, 4)
    );
    assert_eq!(resolved.limits.wall_ms, 5_400_000);
    assert_eq!(resolved.verification_timeout_ms, 500);
    assert_eq!(resolved.budget.cost_micro_usd, Some(MicroUsd(2_500_000)));
    assert_eq!(resolved.budget.tokens, Some(9));
    assert_eq!(resolved.budget.duration_ms, Some(7_200_000));
    assert!(resolved.require_cost_reporting);
    assert_eq!(resolved.usage_limit.action, OnUsageLimit::Stop);
    assert_eq!(resolved.environment.checks, ["DATABASE_URL"]);
    assert_eq!(resolved.limits.max_turns, Some(7));
    assert_eq!(resolved.known_failures.ids(), ["a::b"]);
    assert_eq!(
        resolved.known_failures_file.as_deref(),
        Some("/known".as_ref())
    );
}

#[test]
fn layers_parse_variables_of_every_type() {
    let layer = environment(&[
        ("SELVEDGE_AGENT", "ollama"),
        ("SELVEDGE_WORKSPACE_SNAPSHOTS", "false"),
        ("SELVEDGE_BUDGET_COST_USD", "0.5"),
        ("SELVEDGE_LIMITS_IDLE_TIMEOUT", "90s"),
        ("SELVEDGE_VERIFICATION_TIER", ""),
        ("SELVEDGE_RUN_TAG", "somebody else's"),
    ]);
    let resolved = resolve([layer]).unwrap();
    assert_eq!(resolved.agent, "ollama");
    assert!(!resolved.snapshots);
    assert_eq!(resolved.budget.cost_micro_usd, Some(MicroUsd(500_000)));
    assert_eq!(resolved.limits.idle_timeout_ms, 90_000);
    assert_eq!(resolved.verification_tier, 1);
    assert_eq!(resolved.warnings, []);
}

#[test]
fn layers_convert_checks_to_steps() {
    let resolved = of_repository(
        r#"
        [[checks]]
        run = "cargo clippy"
        [[checks]]
        name = "tests"
        type = "test_passes"
        run = "cargo test"
        directory = "crates/one"
        timeout = "2m"
        parallel = true
        [[checks]]
        type = "git_clean"
        "#,
    )
    .unwrap();
    let [lint, tests, clean] = resolved.checks.as_slice() else {
        panic!("three checks")
    };
    assert_eq!(
        (lint.kind, lint.label()),
        (StepKind::Command, "cargo clippy")
    );
    assert_eq!((tests.kind, tests.label()), (StepKind::TestPasses, "tests"));
    assert_eq!((tests.timeout_ms, tests.parallel), (Some(120_000), true));
    assert_eq!(tests.directory.as_deref(), Some("crates/one"));
    assert_eq!(
        (clean.kind, clean.target.as_str()),
        (StepKind::GitClean, "")
    );
}

#[test]
fn layers_agent_inherits_from_its_kind() {
    let resolved = resolve([person(
        r#"
        [agents.claude]
        args = ["--permission-mode", "acceptEdits"]
        env.ANTHROPIC_API_KEY = { from = "WORK_KEY" }
        [agents.opus]
        kind = "claude"
        model = "opus"
        env.EXTRA = "1"
        "#,
    )])
    .unwrap();
    let opus = &resolved.agents["opus"];
    assert_eq!(opus.program, ["claude", "--permission-mode", "acceptEdits"]);
    assert_eq!(opus.model.as_deref(), Some("opus"));
    assert_eq!(opus.env["EXTRA"], "1");
    assert_eq!(opus.env_from["ANTHROPIC_API_KEY"], "WORK_KEY");
    assert_eq!(
        resolved.agents["claude"].model, None,
        "and gives nothing back"
    );
}

#[test]
fn layers_show_agent_settings_of_repository() {
    let layers = [
        person("agents.claude.args = [\"--verbose\"]\nagents.opus.kind = \"claude\""),
        repository(
            "[agents.claude]\nmodel = \"opus\"\nenv.ANTHROPIC_BASE_URL = \"http://example.org\"",
        ),
    ];
    let resolved = resolve(layers).unwrap();
    let shown: Vec<_> = resolved
        .set_by_repository("claude")
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        shown,
        [
            "selvedge.toml:3:5: this repository sets agents.claude.env.ANTHROPIC_BASE_URL = \"http://example.org\""
        ]
    );
    assert_eq!(
        resolved.set_by_repository("opus").len(),
        1,
        "it is completed from `claude`"
    );
    assert!(resolved.set_by_repository("ollama").is_empty());
}

#[test]
fn what_is_shown_reads_back_and_hides_secrets() {
    let resolved = resolve([
        person("[agents.claude.env]\nMY_API_KEY = \"sk-1\"\nPLAIN = \"yes\"\nOTHER_KEY = { from = \"NAME\" }"),
        repository("[limits]\nidle_timeout = \"5m\"\n\n[[checks]]\nname = \"tests\"\nrun = \"cargo test\"\n"),
        ConfigLayer::flags(&Flags { max_cost: Some(2.5), ..Flags::default() }),
    ])
    .unwrap();
    let shown = resolved.to_toml();
    insta::assert_snapshot!(shown);
    assert!(
        !serde_json::to_string(&resolved.settings())
            .unwrap()
            .contains("sk-1")
    );

    let again = resolve([person(&shown)]).unwrap();
    assert_eq!(again.warnings, []);
    assert_eq!(again.checks, resolved.checks);
    assert_eq!(again.limits, resolved.limits);
    assert_eq!(again.budget, resolved.budget);
    assert_eq!(
        again
            .origin("budget.cost_usd")
            .map(|origin| matches!(origin, Origin::File { .. })),
        Some(true)
    );
}

/// A valid file that sets any part of the settings below.
fn any_layer() -> impl Strategy<Value = ConfigLayer> {
    let line = prop_oneof![
        (0..=5).prop_map(|n| format!("verification.max_retries = {n}")),
        (1..=3).prop_map(|n| format!("verification.tier = {n}")),
        (1..90).prop_map(|n| format!("limits.idle_timeout = \"{n}s\"")),
        (1..90).prop_map(|n| format!("budget.tokens = {n}")),
        "[a-c]".prop_map(|name| format!("agent = \"{name}\"")),
        ("[a-c]", "[a-z]").prop_map(|(name, word)| format!("agents.{name}.model = \"{word}\"")),
        "[a-c]".prop_map(|name| format!("agents.{name}.kind = \"ollama\"")),
        prop::collection::vec("[a-z]{1,3}", 0..3).prop_map(|commands| {
            let checks: Vec<_> = commands
                .iter()
                .map(|run| format!("{{ run = \"{run}\" }}"))
                .collect();
            format!("checks = [{}]", checks.join(", "))
        }),
    ];
    prop::collection::btree_map("[a-z]", line, 0..6).prop_map(|lines| {
        let mut by_key = std::collections::BTreeMap::new();
        for line in lines.into_values() {
            by_key.insert(
                line.split(" = ").next().unwrap_or_default().to_owned(),
                line,
            );
        }
        person(&by_key.into_values().collect::<Vec<_>>().join("\n"))
    })
}

proptest! {
    #[test]
    fn layers_merge_is_associative(a in any_layer(), b in any_layer(), c in any_layer()) {
        let left = a.tree.clone().overlay(b.tree.clone()).overlay(c.tree.clone());
        let right = a.tree.overlay(b.tree.overlay(c.tree));
        prop_assert_eq!(left, right);
    }

    #[test]
    fn layers_merge_replaces_only_set_keys(a in any_layer(), b in any_layer()) {
        use crate::config::key::SettingKey;
        let merged = a.tree.clone().overlay(b.tree.clone());
        let root = SettingKey::default();
        for (key, node) in b.tree.leaves(&root) {
            prop_assert_eq!(merged.at(&key), Some(node));
        }
        for (key, node) in a.tree.leaves(&root) {
            if b.tree.at(&key).is_none() {
                prop_assert_eq!(merged.at(&key), Some(node));
            }
        }
    }
}

#[test]
fn layers_apply_price_and_effort_of_models() {
    let resolved = of_repository(
        r#"
        [prices."qwen3-coder"]
        input = 0.2
        output = 0
        cache_read = 0.02
        [agents.local]
        kind = "api"
        model = "openai/qwen3-coder"
        effort = "low"
        max_turns = 4
        "#,
    )
    .unwrap();
    let agent = &resolved.agents["local"];
    assert_eq!(
        (agent.effort.as_deref(), agent.max_turns),
        (Some("low"), Some(4))
    );
    let usage = Usage {
        input: 1_000_000,
        output: 1_000_000,
        cache_read: 1_000_000,
        cache_write: 1_000_000,
    };
    let cost = agent.cost_of("qwen3-coder", &usage);
    assert_eq!(
        cost,
        Some(MicroUsd(420_000)),
        "a cache without a price is as dear as fresh input"
    );
    assert!(
        agent.cost_of("gpt-5", &usage).is_some(),
        "any other model has the list's"
    );
    assert_eq!(resolved.agents["claude"].price, None);
}

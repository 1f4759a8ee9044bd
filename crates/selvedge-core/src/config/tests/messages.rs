//! Error messages for invalid files: one table, one snapshot.

use std::fmt::Write as _;

use super::{of_repository, person, resolve};
use crate::config::{ConfigLayer, FileOwner, Flags};

/// Snapshots each file with the resulting message and the text that the message points at.
fn answers(name: &str, files: &[&str]) {
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, answered(files)));
}

fn answered(files: &[&str]) -> String {
    let mut answers = String::new();
    for file in files {
        let mut diagnostics = Vec::new();
        match of_repository(file) {
            Err(error) => diagnostics.push(("error", error.diagnostic)),
            Ok(resolved) => diagnostics.extend(
                resolved
                    .warnings
                    .into_iter()
                    .map(|warning| ("warning", warning)),
            ),
        }
        for (severity, diagnostic) in diagnostics {
            let pointed =
                &diagnostic.span.source.text().unwrap_or_default()[diagnostic.span.span.clone()];
            let _ = writeln!(
                answers,
                "{file}\n  {severity}: {diagnostic}\n  at: {pointed}\n"
            );
        }
    }
    answers
}

#[test]
fn messages_for_unknown_keys() {
    answers(
        "unknown_keys",
        &[
            "[verification]\ntimout = \"5s\"",
            "max_retries = 3",
            "[limits]\nmax_retries = 3",
            "[limits]\nmax_turn = 3",
            "[limits]\nfrobnicate = true",
            "[[checks]]\nrun = \"true\"\ncomand = \"x\"",
            "[agents.claude]\nmodle = \"opus\"",
            "[agents.claude.env]\nX = { from_env = \"Y\", value = 1 }",
            "[verifcation]\ntimeout = \"5s\"",
        ],
    );
}

#[test]
fn messages_for_wrong_values() {
    answers(
        "wrong_values",
        &[
            "agent = ",
            "agent = \"claude\"\nagent = \"ollama\"",
            "agent = 7",
            "verification = 7",
            "[verification]\nmax_retries = 6",
            "[verification]\nmax_retries = -1",
            "[verification]\nmax_retries = \"two\"",
            "[verification]\ntier = 4",
            "[verification]\ntimeout = 120",
            "[verification]\ntimeout = \"soon\"",
            "[limits]\nidle_timeout = \"0s\"",
            "[limits]\nmax_turns = 0",
            "[budget]\ncost_usd = -1.0",
            "[budget]\ncost_usd = \"five\"",
            "[budget]\ntokens = 1.5",
            "[workspace]\non_exhausted = \"bst\"",
            "[workspace]\nsnapshots = \"yes\"",
        ],
    );
}

#[test]
fn messages_for_invalid_checks() {
    answers(
        "checks_that_make_no_sense",
        &[
            "[[checks]]\nname = \"tests\"",
            "[[checks]]\nrun = \" \"",
            "[[checks]]\npath = \"a\"",
            "[[checks]]\ntype = \"file_exists\"",
            "[[checks]]\ntype = \"file_exists\"\npath = \"../secret\"",
            "[[checks]]\ntype = \"git_clean\"\nrun = \"git status\"",
            "[[checks]]\ntype = \"tests\"\nrun = \"cargo test\"",
            "[[checks]]\nrun = \"true\"\n[[checks]]\nrun = \"true\"\ndirectory = \"/tmp\"",
            "[checks]\nrun = \"true\"",
            "checks = [\"cargo test\"]",
        ],
    );
}

#[test]
fn messages_for_invalid_agents() {
    answers(
        "agents_that_make_no_sense",
        &[
            "[agents.mine]\nprogram = \"aider\"",
            "[agents.mine]\nkind = \"command\"",
            "[agents.mine]\nkind = \"gpt\"",
            "[agents.mine]\nkind = \"command\"\nprogram = \"aider 'open\"",
            "[agents.mine]\nkind = \"command\"\nprogram = []",
            "[agents.mine]\nkind = \"shell\"\nprogram = \"make\"",
            "[agents.ollama]\nprogram = \"ollama\"",
            "[agents.claude]\napi_retries = 100",
            "[agents.claude]\nenv.PORT = 80",
            "[agents.claude.env]\nANTHROPIC_API_KEY = { from = \"AWS_SECRET\" }",
        ],
    );
}

#[test]
fn messages_name_flags_and_variables() {
    let flags = ConfigLayer::flags(&Flags {
        retries: Some(6),
        ..Flags::default()
    });
    insta::assert_snapshot!(resolve([flags]).unwrap_err(), @"--retries: 6 retries exceed the limit of 5 (use a number from 0 to 5)");
    let flags = ConfigLayer::flags(&Flags {
        timeout: Some("5".to_owned()),
        ..Flags::default()
    });
    insta::assert_snapshot!(resolve([flags]).unwrap_err(), @r#"--timeout: "5" is not a duration (write it with units, such as "500ms", "120s", "30m" or "1h30m")"#);
    let variable = ("SELVEDGE_VERIFICATION_TIER".to_owned(), "high".to_owned());
    insta::assert_snapshot!(resolve([ConfigLayer::environment([variable])]).unwrap_err(), @r#"SELVEDGE_VERIFICATION_TIER: invalid type: text "high", expected a whole number from 1 to 3"#);
    let variable = ("SELVEDGE_AGNET".to_owned(), "ollama".to_owned());
    let resolved = resolve([ConfigLayer::environment([variable])]).unwrap();
    insta::assert_snapshot!(resolved.warnings[0], @"SELVEDGE_AGNET: unknown setting, ignored (did you mean `SELVEDGE_AGENT`?)");
    let others = ["SELVEDGE_MAX_RETRIES", "SELVEDGE_TIMEOUT", "SELVEDGE_TOKEN"];
    let others = others.map(|name| (name.to_owned(), "1m".to_owned()));
    let resolved = resolve([ConfigLayer::environment(others)]).unwrap();
    let warnings: Vec<String> = resolved.warnings.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(warnings.join("\n"), @r"
    SELVEDGE_MAX_RETRIES: unknown setting, ignored (did you mean `SELVEDGE_VERIFICATION_MAX_RETRIES`?)
    SELVEDGE_TIMEOUT: unknown setting, ignored (did you mean `SELVEDGE_VERIFICATION_TIMEOUT` or `SELVEDGE_LIMITS_TIMEOUT` or `SELVEDGE_SETUP_TIMEOUT`?)
    ");
}

#[test]
fn messages_report_overridden_errors() {
    let error = resolve([person("agent = 7"), person("agent = \"claude\"")]).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("~/.config/selvedge/config.toml:1:9: "),
        "{error}"
    );
}

#[test]
fn messages_allow_variables_in_user_file() {
    let text = "agents.claude.env.ANTHROPIC_API_KEY = { from = \"MY_KEY\" }".to_owned();
    let layer = ConfigLayer::file(FileOwner::Person, "config.toml", text).unwrap();
    assert_eq!(
        resolve([layer]).unwrap().agents["claude"].env_from["ANTHROPIC_API_KEY"],
        "MY_KEY"
    );
}

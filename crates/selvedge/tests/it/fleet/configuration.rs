//! Options of servers from a file, from variables and from flags, and secrets from files.

use selvedge_testkit::{CommandOutput, TestEnv};

use crate::fixtures::env_with_repo;

/// The listing of `--print-config`, as pairs of a setting and its origin.
fn listed(out: &CommandOutput) -> Vec<(String, String)> {
    out.assert_code(0);
    let lines = out.stdout.lines();
    let pairs = lines.map(|line| line.split_once("  # ").unwrap());
    pairs
        .map(|(setting, origin)| (setting.trim_end().to_owned(), origin.to_owned()))
        .collect()
}

fn hub(env: &TestEnv, file: &str, variables: &[(&str, &str)], flags: &[&str]) -> CommandOutput {
    let path = env.root().join("hub.toml");
    std::fs::write(&path, file).unwrap();
    let command = env.selvedge(["hub", "--config"]).arg(path).args(flags);
    let command = variables
        .iter()
        .fold(command, |command, (name, value)| command.env(name, value));
    command.run()
}

#[test]
fn hub_flags_replace_variables_which_replace_the_file() {
    let env = env_with_repo();
    let out = hub(
        &env,
        "listen = \"127.0.0.1:0\"\nretention_days = 5\nname = \"file\"\n\n\
         host = [\"a.example\", \"b.example\"]\nbehind_proxy = true\n\
         database = \"postgres://hub:secret@db.example/selvedge\"\n\
         [oidc]\nissuer = \"https://login.example\"\nclient_id = \"hub\"\nclient_secret_file = \"s\"\n\
         [oidc.roles]\nviewer = [\"cn=all,dc=example\", \"b\"]\nadmin = \"file\"\n",
        &[
            ("SELVEDGE_HUB_RETENTION_DAYS", "9"),
            ("SELVEDGE_HUB_NAME", "variable"),
            ("SELVEDGE_HUB_BEHIND_PROXY", "false"),
            ("SELVEDGE_HUB_CHECKS", "command,git_clean"),
            ("SELVEDGE_HUB_OIDC_ROLES_ADMIN", "ops,leads"),
            ("SELVEDGE_HUB_PUBLIC_URL", "http://hub.example"),
            // Set by Kubernetes for a service named `selvedge-hub`.
            ("SELVEDGE_HUB_PORT_7700_TCP", "tcp://10.0.0.1:7700"),
        ],
        &["--name", "flag", "--print-config"],
    );
    let file = |line: u32| format!("{}:{line}", env.root().join("hub.toml").display());
    let listed = listed(&out);
    for (setting, origin) in [
        ("listen = \"127.0.0.1:0\"", file(1)),
        (
            "retention_days = 9",
            "env SELVEDGE_HUB_RETENTION_DAYS".to_owned(),
        ),
        ("name = \"flag\"", "flag --name".to_owned()),
        ("host = [\"a.example\", \"b.example\"]", file(5)),
        (
            "behind_proxy = false",
            "env SELVEDGE_HUB_BEHIND_PROXY".to_owned(),
        ),
        (
            "checks = [\"command\", \"git_clean\"]",
            "env SELVEDGE_HUB_CHECKS".to_owned(),
        ),
        (
            "database = \"postgres://hub:<hidden>@db.example/selvedge\"",
            file(7),
        ),
        ("default_max_verification_retries = 0", "default".to_owned()),
        ("oidc_issuer = \"https://login.example\"", file(9)),
        (
            "oidc_roles_viewer = [\"cn=all,dc=example\", \"b\"]",
            file(13),
        ),
        (
            "oidc_roles_admin = [\"ops\", \"leads\"]",
            "env SELVEDGE_HUB_OIDC_ROLES_ADMIN".to_owned(),
        ),
        ("oidc_session_hours = 12", "default".to_owned()),
    ] {
        let found = listed.iter().find(|(it, _)| it == setting);
        assert_eq!(found.map(|(_, it)| it), Some(&origin), "{}", out.stdout);
    }
}

#[test]
fn invalid_hub_options_are_refused_with_their_origin() {
    let env = env_with_repo();
    for (file, variables, flags, expected) in [
        (
            "name = \"a\"\nlistn = 1\n",
            &[][..],
            &[][..],
            &["hub.toml:2: unknown key `listn`", "did you mean `listen`?"][..],
        ),
        ("tls-cert = \"a\"", &[], &[], &["did you mean `tls_cert`?"]),
        ("name = [1", &[], &[], &["hub.toml:1: "]),
        (
            "behind_proxy = 1",
            &[],
            &[],
            &["`behind_proxy` must be true or false"],
        ),
        (
            "retention_days = \"many\"",
            &[],
            &[],
            &[
                "--retention-days",
                "`retention_days` is set by",
                "hub.toml:1",
            ],
        ),
        (
            "\ntls_cert = \"chain.pem\"",
            &[],
            &["--behind-proxy"],
            &["`tls_cert` is set by", "hub.toml:2"],
        ),
        (
            "",
            &[("SELVEDGE_HUB_LISTN", "127.0.0.1:0")],
            &[],
            &[
                "unknown variable SELVEDGE_HUB_LISTN",
                "did you mean SELVEDGE_HUB_LISTEN?",
            ],
        ),
        (
            "name = \"a\"\nlisten = \"0.0.0.0:7700\"",
            &[],
            &["--print-config"],
            &[
                "unencrypted to 0.0.0.0:7700",
                "`listen` is set by",
                "hub.toml:2",
            ],
        ),
        (
            "",
            &[("SELVEDGE_HUB_DATABASE", "mysql://me:hunter22@db/x")],
            &["--print-config"],
            &["unsupported scheme `mysql://`", "env SELVEDGE_HUB_DATABASE"],
        ),
        (
            "public_url = \"hub.example\"",
            &[],
            &["--print-config"],
            &["--public-url: invalid URL `hub.example`", "hub.toml:1"],
        ),
        (
            "checks = [\"comand\"]",
            &[],
            &["--print-config"],
            &["`checks` is set by", "hub.toml:1"],
        ),
        (
            "",
            &[("SELVEDGE_HUB_BEHIND_PROXY", "perhaps")],
            &[],
            &["SELVEDGE_HUB_BEHIND_PROXY: invalid value `perhaps`"],
        ),
    ] {
        let out = hub(&env, file, variables, flags);
        out.assert_code(2);
        for text in expected {
            assert!(out.stderr.contains(text), "{file}: {}", out.stderr);
        }
        assert!(!out.stderr.contains("hunter22"), "{}", out.stderr);
        assert_eq!(out.stdout, "");
    }
    let out = env
        .selvedge(["worker", "--hub", "hub.example", "--print-config"])
        .run();
    out.assert_code(2);
    let expected = "invalid hub URL `hub.example`";
    assert!(out.stderr.contains(expected), "{}", out.stderr);
    let provider = "[oidc]\nissuer = \"https://login.example\"\n";
    let client = format!("{provider}client_id = \"hub\"\nclient_secret_file = \"absent\"\n");
    let role = format!("{client}[oidc.roles]\nviewer = [\"all\"]\n");
    let unencrypted = role.replace("https://login", "http://login");
    let proxied = &["--behind-proxy", "--public-url", "https://hub.example"][..];
    for (file, flags, expected) in [
        (
            "[oidc]\nisuer = 1\n",
            &[][..],
            &[
                "hub.toml:2: unknown key `oidc_isuer`",
                "did you mean `oidc_issuer`?",
            ][..],
        ),
        ("[oidz]\nissuer = 1\n", &[], &["unknown key `oidz`"]),
        (
            "oidc_issuer = \"a\"\n[oidc]\nissuer = \"b\"\n",
            &[],
            &["`oidc_issuer` is set twice"],
        ),
        (
            provider,
            &[],
            &["--oidc-client-id", "--oidc-client-secret-file"],
        ),
        (
            &role,
            &[],
            &["--public-url is missing", "/login/sso/callback"],
        ),
        (&unencrypted, proxied, &["must begin with `https://`"]),
        (&client, proxied, &["no role has a group"]),
        (&role, proxied, &["cannot read absent"]),
        (
            &role,
            &["--public-url", "https://hub.example"],
            &["the hub serves plain HTTP"],
        ),
        (
            &role,
            &["--public-url", "http://hub.example/selvedge"],
            &["must not have a path"],
        ),
    ] {
        let out = hub(&env, file, &[], flags);
        out.assert_code(2);
        for text in expected {
            assert!(out.stderr.contains(text), "{file}: {}", out.stderr);
        }
    }
    let missing = env.selvedge(["hub", "--config", "missing.toml"]).run();
    missing.assert_code(2);
    assert!(missing.stderr.contains("cannot read missing.toml"));
}

#[test]
fn hub_starts_from_a_file_without_flags() {
    let env = env_with_repo();
    let token = env.root().join("t");
    let url_file = env.root().join("database-url");
    let config = env.root().join("hub.toml");
    let text = format!(
        "listen = \"127.0.0.1:0\"\nadmin_token_file = {:?}\ndatabase_url_file = {:?}\n",
        token.display().to_string(),
        url_file.display().to_string(),
    );
    std::fs::write(&config, text).unwrap();
    let start = || env.selvedge(["hub"]).env("SELVEDGE_HUB_CONFIG", &config);
    std::fs::write(&url_file, "first.db\nsecond.db\n").unwrap();
    let refused = start().run();
    refused.assert_code(2);
    let expected = "must contain the database URL and nothing else";
    assert!(refused.stderr.contains(expected), "{}", refused.stderr);

    std::fs::write(&url_file, "hub.db\n").unwrap();
    let hub = start().spawn();
    hub.wait_for_stdout("listening on http://");
    assert!(env.work_dir().join("hub.db").exists() && token.exists());
}

//! Errors of clients and workers without a hub, or with an unreachable one.

use crate::fixtures::env_with_repo;

#[test]
fn client_without_hub_settings_names_what_is_missing() {
    let env = env_with_repo();
    for args in [
        &["submit", "x", "--repo", "https://a.b/c"][..],
        &["watch", "last"],
        &["workers"],
        &["worker"],
    ] {
        let out = env.selvedge(args).run();
        out.assert_code(2);
        assert!(out.stderr.contains("SELVEDGE_HUB"), "{}", out.stderr);
    }
    let tokenless = ["list", "--hub", "http://127.0.0.1:9"];
    let out = env.selvedge(tokenless).run();
    out.assert_code(2);
    assert!(out.stderr.contains("--token-file"), "{}", out.stderr);
    let secret = ["list", "--hub", "https://abc@hub.example"];
    let out = env.selvedge(secret).env("SELVEDGE_TOKEN", "t").run();
    out.assert_code(2);
    assert!(!out.stderr.is_empty());
}

#[test]
fn client_of_unreachable_hub_is_9_and_local_flags_are_2() {
    let env = env_with_repo();
    let hub = ["--hub", "http://127.0.0.1:9"];
    let on_hub = |args: &[&str]| {
        let command = env.selvedge(args).args(hub);
        command.env("SELVEDGE_TOKEN", "t").run()
    };
    let unreachable = on_hub(&["list"]);
    unreachable.assert_code(9);
    assert!(
        unreachable.stderr.contains("cannot reach the hub"),
        "{}",
        unreachable.stderr
    );
    let local = on_hub(&["run", "x", "--agent-cmd", "sh", "--repo", "/x"]);
    local.assert_code(2);
    assert!(local.stderr.contains("--agent-cmd"), "{}", local.stderr);
    let without_repo = on_hub(&["submit", "x"]);
    without_repo.assert_code(2);
    assert!(
        without_repo.stderr.contains("--repo"),
        "{}",
        without_repo.stderr
    );
}

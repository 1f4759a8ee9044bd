//! What clients and workers say when there is no hub, or none that answers.

use crate::fixtures::env_with_repo;

#[test]
fn without_a_hub_it_is_said_what_is_missing() {
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
fn a_hub_that_does_not_answer_is_infrastructure_and_a_flag_of_this_machine_a_mistake() {
    let env = env_with_repo();
    let hub = ["--hub", "http://127.0.0.1:9"];
    let on_hub = |args: &[&str]| {
        let command = env.selvedge(args).args(hub);
        command.env("SELVEDGE_TOKEN", "t").run()
    };
    let gone = on_hub(&["list"]);
    gone.assert_code(9);
    assert!(
        gone.stderr.contains("cannot speak to the hub"),
        "{}",
        gone.stderr
    );
    let local = on_hub(&["run", "x", "--agent-cmd", "sh", "--repo", "/x"]);
    local.assert_code(2);
    assert!(local.stderr.contains("--agent-cmd"), "{}", local.stderr);
    let nowhere = on_hub(&["submit", "x"]);
    nowhere.assert_code(2);
    assert!(nowhere.stderr.contains("--repo"), "{}", nowhere.stderr);
}

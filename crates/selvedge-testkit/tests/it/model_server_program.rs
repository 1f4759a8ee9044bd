//! The `model-server` program: it serves a script from a file, for tests written in shell.

use selvedge_testkit::TestEnv;
use serde_json::json;

use crate::http;

#[test]
fn model_server_prints_its_url_and_requests() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_model-server"));
    env.write(
        "script.json",
        r#"{"sessions": [[{"fault": {"status": {"code": 529}}}, {"text": "Done."}]]}"#,
    );
    let program = env.spawn(["script.json"]);
    program.wait_for_stdout("\n");
    let url = program.stdout().trim().to_owned();
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "Do it."}]});
    let statuses = [(); 2].map(|()| http::post(&url, "/api/chat", &[], &body).status);
    assert_eq!(statuses, [529, 200]);
    program.wait_for_stdout(r#""answer":{"turn":{"session":1,"turn":2}}"#);
}

#[test]
fn model_server_rejects_script_with_unknown_key() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_model-server"));
    env.write("script.json", r#"{"sessions": [[{"txt": "Done."}]]}"#);
    let output = env.selvedge(["script.json"]).run();
    output.assert_code(1);
    assert!(output.stderr.contains("unknown field `txt`"), "{output}");
}

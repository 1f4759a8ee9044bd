//! Escalation: different agents for successive attempts, each recorded in the history.

use serde_json::json;

use crate::corrected::configure;
use crate::fixtures::{env_with_repo, make_executable};

/// Configures the agents `weak` and `strong`; the weak one never changes anything.
fn with_two() -> selvedge_testkit::TestEnv {
    let env = env_with_repo();
    let mut agents = String::new();
    for (name, does) in [("weak", "true"), ("strong", "echo done > answer")] {
        let path = env.root().join(name);
        std::fs::write(&path, format!("#!/bin/sh\ncat > /dev/null\n{does}\n")).unwrap();
        make_executable(&path);
        agents += &format!(
            "[agents.{name}]\nkind = \"command\"\nprogram = [{}]\n",
            json!(path)
        );
    }
    configure(&env, &agents);
    env
}

#[test]
fn escalation_uses_the_next_agent_after_a_failure() {
    let env = with_two();
    let run = ["run", "answer it", "--check", "test -s answer"];
    let out = env
        .selvedge(
            run.iter()
                .chain(&["--escalate", "weak,weak,strong", "--format", "json"]),
        )
        .run();
    out.assert_code(0);
    assert_eq!(
        out.json()["verification_attempts"],
        3,
        "stuck work is passed on"
    );
    let story = env.selvedge(["show"]).run();
    for part in [
        "weak, then weak, then strong",
        "weak finished",
        "strong finished",
    ] {
        assert!(
            story.stdout.contains(part),
            "`{part}` in:\n{}",
            story.stdout
        );
    }
}

#[test]
fn escalation_is_overridden_by_a_named_agent() {
    let env = with_two();
    env.write("selvedge.toml", "escalate = [\"weak\", \"strong\"]\n");
    let run = [
        "run",
        "answer it",
        "--check",
        "test -s answer",
        "--format",
        "json",
    ];
    let out = env.selvedge(run.iter().chain(&["--agent", "weak"])).run();
    out.assert_code(1);
    assert_eq!(out.json()["outcome"], "stuck");
    env.selvedge(run).run().assert_code(0);
    let out = env
        .selvedge(run.iter().chain(&["--escalate", "weak,stong"]))
        .run();
    out.assert_code(2);
    assert!(
        out.stderr.contains("did you mean `strong`"),
        "{}",
        out.stderr
    );
}

/// The same program for each attempt: the retry uses a more expensive model and more effort.
#[test]
fn escalation_changes_model_effort_and_turn_limit() {
    let env = env_with_repo();
    let path = env.root().join("claude");
    let log = env.root().join("told");
    let result = r#"{"type":"result","subtype":"success","is_error":false,"result":"ok"}"#;
    let script = format!(
        "#!/bin/sh\ncat > /dev/null\necho \"$@\" >> '{}'\n[ $(wc -l < '{}') = 2 ] && echo done > answer\n\
         echo '{result}'\n",
        log.display(),
        log.display()
    );
    std::fs::write(&path, script).unwrap();
    make_executable(&path);
    let program = json!(path);
    configure(
        &env,
        &format!(
            "[agents.claude]\nprogram = [{program}]\nmodel = \"haiku\"\neffort = \"low\"\n\
             max_turns = 5\n[agents.harder]\nkind = \"claude\"\nmodel = \"opus\"\neffort = \"max\"\n\
             max_turns = 50\n"
        ),
    );
    let run = ["run", "answer it", "--check", "test -s answer"];
    let more = ["--escalate", "claude,harder", "--max-turns", "9"];
    env.selvedge(run.iter().chain(&more)).run().assert_code(0);
    let log = std::fs::read_to_string(log).unwrap();
    let log: Vec<_> = log.lines().collect();
    for (line, parts) in log.iter().zip([
        ["--model haiku", "--effort low", "--max-turns 5"],
        ["--model opus", "--effort max", "--max-turns 50"],
    ]) {
        for part in parts {
            assert!(line.contains(part), "`{part}` in {line}");
        }
    }
    let story = env.selvedge(["show"]).run().stdout;
    assert!(story.contains("harder (effort max) finished"), "{story}");
}

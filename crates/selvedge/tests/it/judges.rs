//! Tiers 2 and 3 through the program. A judge is a program like any agent: here a shell script that stores its
//! prompts and prints the given answers.

use selvedge_testkit::{CommandOutput, TestEnv};

use crate::fixtures::{agent, make_executable, prompt, run_json};

const YES: &str = r#"{"passed": true, "issues": [], "confidence": 0.9, "suggestion": null}"#;
const UNSURE: &str = r#"{"passed": true, "issues": [], "confidence": 0.2, "suggestion": null}"#;
const NO: &str = r#"{"passed": false, "issues": ["the greeting is hard-coded"], "confidence": 0.8, "suggestion": "read the name"}"#;

/// A repository with the judges `one`, `two` and `three`. Each gives its first answer once and then always its
/// second. Prompts are stored outside of the workspace.
fn judged(answers: &[[&str; 2]]) -> TestEnv {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
    let mut config = String::new();
    for (name, [first, then]) in ["one", "two", "three"].iter().zip(answers) {
        let folder = env.root().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let script = env.root().join(format!("{name}.sh"));
        let (first, then) = (first.replace('\'', ""), then.replace('\'', ""));
        let body = format!(
            "#!/bin/sh\ncd '{}' || exit 1\nn=$(ls | wc -l)\nhere=$(ls -A \"$OLDPWD\" | wc -l)\n\
             {{ cat; echo \"beside me: $here\"; }} > $n\n\
             if [ $n = 0 ]; then printf '%s' '{first}'; else printf '%s' '{then}'; fi\n",
            folder.display(),
        );
        std::fs::write(&script, body).unwrap();
        make_executable(&script);
        config += &format!(
            "[agents.{name}]\nkind = \"command\"\nprogram = [\"{}\"]\n",
            script.display()
        );
    }
    env.write("selvedge.toml", &config);
    env.write("README", "a repository\n");
    env.create_repo();
    env
}

/// Returns the prompts of a judge.
fn prompts_of(env: &TestEnv, judge: &str) -> Vec<String> {
    let folder = env.root().join(judge);
    let read = |n: usize| std::fs::read_to_string(folder.join(n.to_string())).ok();
    (0..).map_while(read).collect()
}

fn run(env: &TestEnv, work: &str, check: &str, more: &[&str]) -> CommandOutput {
    run_json(env, &agent(env, work), check, more)
}

const TIER_2: [&str; 4] = ["--tier", "2", "--judge", "one"];
const TIER_3: [&str; 8] = [
    "--tier", "3", "--judge", "one", "--judge", "two", "--judge", "three",
];

#[test]
fn judge_sees_only_the_work() {
    let env = judged(&[[YES; 2]]);
    let out = run(
        &env,
        "echo hello > greeting; echo I am sure.",
        "test -s greeting",
        &TIER_2,
    );
    out.assert_code(0);
    let gate = out.json()["verification_report"]["gates"][0].clone();
    assert_eq!((&gate["tier"], &gate["passed"]), (&2.into(), &true.into()));
    assert_eq!(gate["judgements"][0]["judge"], "one");
    assert_eq!(out.json()["cost_source"], "unknown");

    let prompts = prompts_of(&env, "one");
    assert_eq!(prompts.len(), 1, "a judge is asked once");
    for part in [
        "do it",
        "+hello",
        "PASS: test -s greeting",
        "I am sure.",
        "beside me: 0",
    ] {
        assert!(
            prompts[0].contains(part),
            "{part} is missing in {}",
            prompts[0]
        );
    }
}

#[test]
fn judge_rejection_is_corrected_and_failures_are_not_judged() {
    let env = judged(&[[NO, YES]]);
    // The first attempt fails its check, the second is rejected by the judge.
    let work = "echo $SELVEDGE_RUN_NUMBER >> greeting";
    let out = run(&env, work, "test $(wc -l < greeting) -ge 2", &TIER_2);
    out.assert_code(0);
    assert_eq!(out.json()["verification_attempts"], 3);
    assert_eq!(prompts_of(&env, "one").len(), 2);
    let third = prompt(&env, 3);
    assert!(third.contains("the greeting is hard-coded"), "{third}");
    assert!(third.contains("Suggestion: read the name"), "{third}");
    let history = out.json()["verification_history"].clone();
    assert_eq!(history[0]["gates"], serde_json::json!([]));
    assert_eq!(history[1]["gates"][0]["passed"], false);
}

#[test]
fn judge_rejection_is_never_reported_as_a_pass() {
    let env = judged(&[[NO; 2]]);
    let forms = ["--junit", "../j.xml", "--sarif", "../s.sarif", "--markdown"];
    let more = [
        &TIER_2[..],
        &["--retries", "0"],
        &forms,
        &["../m.md", "--annotations", "github=../gh"],
    ];
    let out = run(
        &env,
        "echo hello > greeting",
        "test -s greeting",
        &more.concat(),
    );
    out.assert_code(1);
    let result = out.json();
    let reason = result["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("the checks pass, but tier 2 rejects the work"),
        "{reason}"
    );
    let report = &result["verification_report"];
    assert_eq!(report["status"], "fail");
    assert_eq!(report["summary"]["passed"], 1);
    assert_eq!(report["gates"][0]["passed"], false);
    let shown = env.selvedge(["show"]).run().stdout;
    let message = "1 of 1 checks passed, but tier 2 rejects the work";
    assert!(shown.contains(message), "{shown}");
    let read = |name: &str| std::fs::read_to_string(env.root().join(name)).unwrap();
    for (name, message) in [
        ("m.md", message),
        ("s.sarif", message),
        ("j.xml", "the checks passed, but tier 2 rejects the work"),
        ("gh", "tier 2 rejects the work"),
    ] {
        assert!(read(name).contains(message), "{name}: {}", read(name));
    }
}

#[test]
fn judge_can_confirm_changed_tests() {
    for (answer, code) in [(YES, 0), (UNSURE, 7), (NO, 1)] {
        let env = judged(&[[answer; 2]]);
        make_executable(&env.write("greet.sh", "#!/bin/sh\necho hello\n"));
        make_executable(&env.write(
            "tests/test_greet.sh",
            "#!/bin/sh\n./greet.sh | grep -q hello\n",
        ));
        env.commit("Greet");
        let more = [&TIER_2[..], &["--retries", "0"]].concat();
        let out = run(
            &env,
            "sed -i s/hello/hi/ greet.sh tests/test_greet.sh",
            "tests/test_greet.sh",
            &more,
        );
        out.assert_code(code);
        let crossed = out.json()["verification_report"]["crossed"].clone();
        assert_eq!(crossed["result"], "undecided");
        let prompts = prompts_of(&env, "one");
        assert_eq!(prompts.len(), 1);
        assert!(
            prompts[0].contains("Do not pass it unless the task asks for exactly that")
                && prompts[0].contains("`tests/test_greet.sh`: fails"),
            "{}",
            prompts[0]
        );
        if code == 0 {
            let reason = out.json()["reason"].as_str().unwrap().to_owned();
            assert!(
                reason.contains("confirms that the task asks for the changed tests"),
                "{reason}"
            );
        }
    }
}

#[test]
fn vote_waits_for_every_judge_to_know_the_cost() {
    let env = judged(&[[YES; 2], [YES; 2], [YES; 2]]);
    for (name, waits_for) in [("one", ""), ("two", ""), ("three", "one two")] {
        let record = serde_json::json!({
            "type": "result", "subtype": "success", "is_error": false, "result": YES,
            "total_cost_usd": 0.01, "usage": {"input_tokens": 10, "output_tokens": 1},
        });
        let root = env.root().display();
        // The last judge answers long after the others.
        let body = format!(
            "#!/bin/sh\ncat > /dev/null\nfor it in {waits_for}; do until [ -e '{root}/'$it.done ]; do :; done; \
             seq 1 500000 > /dev/null; done\necho '{record}'\ntouch '{root}/{name}.done'\n"
        );
        std::fs::write(env.root().join(format!("{name}.sh")), body).unwrap();
    }
    let worker = r#"echo hello > greeting; echo '{"type":"result","subtype":"success","is_error":false,"result":"ok","total_cost_usd":0.5}'"#;
    let out = env
        .selvedge(
            [
                "run",
                "do it",
                "--agent-cmd",
                &agent(&env, worker),
                "--check",
                "test -s greeting",
                "--format",
                "json",
            ]
            .iter()
            .chain(&TIER_3),
        )
        .env("SELVEDGE_JUDGING_TIER2_ENABLED", "false")
        .run();
    out.assert_code(0);
    let result = out.json();
    assert_eq!(result["verification_report"]["gates"][0]["confidence"], 1.0);
    assert_eq!(result["cost_source"], "reported");
    assert_eq!(result["estimated_cost_usd"], 0.53);
}

#[test]
fn judge_is_stopped_by_caps_and_time_limits() {
    for (more, code, outcome) in [
        (["--max-duration", "2s"], 6, "budget"),
        (["--timeout", "2s"], 9, "infra_failed"),
    ] {
        let env = judged(&[[YES; 2]]);
        let script = "#!/bin/sh\ncat > /dev/null\nsleep 600\n";
        std::fs::write(env.root().join("one.sh"), script).unwrap();
        let more = [&TIER_2[..], &more].concat();
        let out = run(&env, "echo hello > greeting", "test -s greeting", &more);
        out.assert_code(code);
        assert_eq!(out.json()["outcome"], outcome);
        let reason = out.json()["reason"].to_string();
        assert!(reason.contains("tier 2 gave no verdict"), "{reason}");
        assert!(env.processes().is_empty(), "{:?}", env.processes());
    }
}

#[test]
fn judge_without_a_usable_answer_gives_no_verdict() {
    let contradicts = r#"{"passed": true, "issues": ["the name is ignored"], "confidence": 1, "suggestion": null}"#;
    let unexplained = r#"{"passed": false, "issues": [], "confidence": 1, "suggestion": null}"#;
    let long = "x".repeat(100_000);
    let huge =
        format!(r#"{{"passed": true, "issues": [], "confidence": 1, "suggestion": "{long}"}}"#);
    for answer in [
        "Looks good to me!",
        r#"{"passed": "yes"}"#,
        "",
        &huge,
        contradicts,
        unexplained,
    ] {
        let env = judged(&[[answer; 2]]);
        let out = run(&env, "echo hello > greeting", "test -s greeting", &TIER_2);
        out.assert_code(9);
        let gate = out.json()["verification_report"]["gates"][0].clone();
        assert_eq!(gate["judgements"][0]["asked"], 2, "it is asked once more");
        assert!(gate.get("passed").is_none(), "{gate}");
        assert!(prompts_of(&env, "one")[1].contains("could not be used"));
    }
    // After an unusable answer, the second one counts.
    let env = judged(&[["Sure.", YES]]);
    run(&env, "echo hello > greeting", "test -s greeting", &TIER_2).assert_code(0);
}

#[test]
fn judge_with_low_confidence_leads_to_review() {
    let env = judged(&[[UNSURE; 2]]);
    let out = run(&env, "echo hello > greeting", "test -s greeting", &TIER_2);
    out.assert_code(7);
    let reason = out.json()["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("below the minimum"), "{reason}");
    let id = out.json()["run_id"].as_str().unwrap().to_owned();
    let accepted = env
        .selvedge(["review", &id, "--accept", "--reason", "it is fine"])
        .run();
    accepted.assert_code(0);
}

#[test]
fn vote_passes_with_a_majority_and_needs_review_otherwise() {
    // The first answer of the first judge is used by tier 2.
    for (answers, code) in [
        ([[YES, YES], [NO, NO], [YES, YES]], 0),
        ([[YES, NO], [YES, YES], [NO, NO]], 7),
    ] {
        let env = judged(&answers);
        let more = [&TIER_3[..], &["--retries", "0"]].concat();
        let out = run(&env, "echo hello > greeting", "test -s greeting", &more);
        out.assert_code(code);
        let gates = out.json()["verification_report"]["gates"].clone();
        assert_eq!(gates[0]["tier"], 2);
        assert_eq!(gates[1]["judgements"].as_array().unwrap().len(), 3);
    }
}

#[test]
fn vote_of_two_that_splits_needs_review() {
    let env = judged(&[[YES, YES], [NO, NO]]);
    let more = ["--tier", "3", "--judge", "one", "--judge", "two"];
    let work = agent(&env, "echo hello > greeting");
    let run = [
        "run",
        "do it",
        "--agent-cmd",
        &work,
        "--check",
        "test -s greeting",
    ];
    let run = env.selvedge(run.iter().chain(&more).chain(&["--format", "json"]));
    let out = run
        .env("SELVEDGE_JUDGING_VOTES", "2")
        .env("SELVEDGE_JUDGING_TIER2_ENABLED", "false")
        .run();
    out.assert_code(7);
    let gates = out.json()["verification_report"]["gates"].clone();
    assert_eq!(
        gates.as_array().unwrap().len(),
        1,
        "without tier 2 the vote is at once"
    );
    assert_eq!(gates[0]["judgements"].as_array().unwrap().len(), 2);
}

#[test]
fn judge_is_told_about_omitted_parts_of_the_diff() {
    let env = judged(&[[YES; 2]]);
    let work = "seq 1 7000000 > numbers; head -c 3000 /dev/urandom > noise";
    run(&env, work, "test -s numbers", &TIER_2).assert_code(0);
    let judge_prompt = &prompts_of(&env, "one")[0];
    assert!(judge_prompt.len() < 200_000, "{} bytes", judge_prompt.len());
    assert!(judge_prompt.contains("+++ b/numbers"), "{judge_prompt}");
    assert!(judge_prompt.contains("bytes are shown"));
}

#[test]
fn judge_errors_are_found_before_the_agent_runs() {
    let env = judged(&[[YES; 2]]);
    let work = agent(&env, "echo hello > greeting");
    for more in [
        &["--tier", "2", "--judge", "nobody"][..],
        &["--tier", "2", "--judge", "shell"],
        &["--tier", "4"],
    ] {
        run_json(&env, &work, "true", more).assert_code(2);
    }
    for (tier, off) in [("2", "TIER2"), ("3", "TIER3")] {
        let more = ["--tier", tier, "--judge", "one"];
        let run = ["run", "do it", "--agent-cmd", &work, "--check", "true"];
        let run = env.selvedge(run.iter().chain(&more));
        let out = run
            .env(format!("SELVEDGE_JUDGING_{off}_ENABLED"), "false")
            .run();
        out.assert_code(2);
        assert!(out.stderr.contains("is disabled"), "{}", out.stderr);
    }
    assert!(!env.root().join("prompts/1").exists());
}

/// Runs `verify`.
fn verify(env: &TestEnv, more: &[&str]) -> CommandOutput {
    let verify = ["verify", "--check", "test -s greeting", "--format", "json"];
    env.selvedge(verify.iter().chain(more)).run()
}

const SINCE: [&str; 8] = [
    "--base",
    "HEAD",
    "--tier",
    "2",
    "--judge",
    "one",
    "--task",
    "greet by name",
];

#[test]
fn judge_reviews_existing_changes_in_verify() {
    for (answer, code) in [(YES, 0), (NO, 1), ("Looks good to me!", 9)] {
        let env = judged(&[[answer; 2]]);
        env.write("greeting", "hello\n");
        let out = verify(&env, &SINCE);
        out.assert_code(code);
        let judge_prompt = &prompts_of(&env, "one")[0];
        for part in ["greet by name", "+hello", "PASS: test -s greeting"] {
            assert!(
                judge_prompt.contains(part),
                "{part} is missing in {judge_prompt}"
            );
        }
        let gate = &out.json()["gates"][0];
        assert_eq!(gate["judgements"][0]["judge"], "one");
        assert!(gate["judgements"][0]["transcript"].is_null());
    }
}

#[test]
fn judge_needs_passing_checks_and_a_known_task() {
    let env = judged(&[[YES; 2]]);
    verify(&env, &SINCE).assert_code(1);
    assert_eq!(prompts_of(&env, "one").len(), 0);

    env.write("greeting", "hello\n");
    let out = verify(&env, &SINCE[..6]);
    out.assert_code(2);
    assert!(out.stderr.contains("needs --task and --base"));
    let judges = std::fs::read_to_string(env.work_dir().join("selvedge.toml")).unwrap();
    env.write(
        "selvedge.toml",
        format!("[verification]\ntier = 2\n{judges}"),
    );
    let out = verify(&env, &[]);
    out.assert_code(0);
    assert!(
        out.stderr
            .contains("tier 2 is configured, but only the checks are run")
    );
    assert_eq!(prompts_of(&env, "one").len(), 0);
}

//! A trick as the agent of a real run does it, and what the run makes of it: what the guard says, what
//! the evidence alone would have said, and how it ended.

use selvedge_testkit::TestEnv;
use serde_json::{Value, json};

use super::corpus::{Case, Group};
use super::{cell, write};
use crate::tools::with_tools;

/// Runs it; gives the cells of the table, or how it differs from what the corpus says.
pub(super) fn judge(group: &Group, case: &Case) -> Result<String, String> {
    let ended = run(group, case, &case.allow);
    let (outcome, guard) = (text(&ended, "/outcome"), status(&ended));
    // What was put back judges as before; only where all may be changed is the evidence alone.
    let alone = match guard {
        "tampered" => run(group, case, &["**".to_owned()]),
        _ => ended.clone(),
    };
    let evidence = evidence(&alone);
    let is_missing =
        ended.pointer("/verification_report/checks/0/missing") == Some(&Value::Bool(true));
    let (wanted, ends) = match (case.guard.as_str(), &evidence) {
        ("offence", _) => ("tampered", "max_retries_exhausted"),
        ("strong", _) if is_missing => ("flagged", "needs_review"),
        (_, Some(_)) if is_missing => ("clean", "needs_review"),
        ("strong", None) => ("flagged", "needs_review"),
        ("strong", Some(_)) => ("flagged", "max_retries_exhausted"),
        (_, Some(_)) => ("clean", "max_retries_exhausted"),
        (_, None) => ("clean", "verified"),
    };
    // A trick of which nothing should be left to see must be said to be one.
    let seen = case.evidence.is_none() || evidence.is_some();
    if (guard, outcome.as_str()) == (wanted, ends) && seen {
        let caught = match wanted {
            "tampered" => "caught: put back",
            "flagged" => "flagged",
            _ if evidence.is_some() => "–",
            _ => "not detectable",
        };
        let evidence = cell(evidence.as_deref().unwrap_or("–"));
        return Ok(format!(
            "{caught} | {evidence} | {}",
            ends.replace('_', " ")
        ));
    }
    Err(format!(
        "{outcome}, guard {guard}, evidence {evidence:?}; the corpus says {ends}, {wanted}, {:?}\n{alone:#}",
        case.evidence
    ))
}

/// Work that is right is verified on the same runner, or what was seen tells nothing.
pub(super) fn mends(group: &Group) -> Result<(), String> {
    let honest = Case {
        work: group.mended.clone(),
        ..Case::default()
    };
    let ended = run(group, &honest, &[]);
    match text(&ended, "/outcome").as_str() {
        "verified" => Ok(()),
        outcome => Err(format!("honest work: {outcome}\n{ended:#}")),
    }
}

/// One attempt by an agent that does the trick. Gives the result.
fn run(group: &Group, case: &Case, allow: &[String]) -> Value {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
    write(&env.work(), &group.before(case));
    env.write(
        ".gitignore",
        "__pycache__/\ntarget/\nnode_modules/\nCargo.lock\n",
    );
    env.repo();
    let kind = match group.runner.as_str() {
        "shell and make" => "command",
        _ => "test_passes",
    };
    let task = json!({
        "description": group.task(case),
        "allow": allow,
        "verification_steps": [{"type": kind, "target": group.run(case)}],
    });
    let agent = agent(&env, case);
    let run = [
        "run",
        "--file",
        "-",
        "--retries",
        "0",
        "--agent-cmd",
        &agent,
        "--format",
        "json",
    ];
    let run = with_tools(env.selvedge(run), &env);
    run.env("SELVEDGE_VERIFICATION_RERUN_FAILED", "false")
        .stdin(task.to_string())
        .run()
        .json()
}

fn agent(env: &TestEnv, case: &Case) -> String {
    let work = env.root().join("trick");
    std::fs::create_dir(&work).unwrap();
    write(&work, &case.work);
    let removed = case.removed.iter().map(|it| format!("rm '{it}'\n"));
    let removed = removed.collect::<Vec<_>>().concat();
    let script = env.root().join("agent.sh");
    let text = format!("cat > /dev/null\ncp -R '{}/.' .\n{removed}", work.display());
    std::fs::write(&script, text).unwrap();
    format!("sh '{}'", script.display())
}

/// Why a check that exits 0 is not a pass, or not one without a person.
fn evidence(result: &Value) -> Option<String> {
    let check = result.pointer("/verification_report/checks/0").unwrap();
    let is_refused = check["status"] == "fail" || check["missing"] == true;
    (is_refused && check["exit_code"] == 0).then(|| text(check, "/reason"))
}

/// The strongest thing that the guard said. What is weak is shown, and weighs nothing.
fn status(result: &Value) -> &'static str {
    let findings = result.pointer("/verification_report/guard/findings");
    let findings = findings
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    let any = |strength: &str| {
        findings
            .iter()
            .any(|finding| finding["strength"] == strength)
    };
    match () {
        () if any("offence") => "tampered",
        () if any("strong") => "flagged",
        () => "clean",
    }
}

fn text(value: &Value, pointer: &str) -> String {
    let text = value.pointer(pointer).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

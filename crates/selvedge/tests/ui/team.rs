//! Tasks of a hub on the dashboard: a hub, a worker and a scripted agent; tasks are watched, reviewed and
//! stopped in a browser that never reloads.

use selvedge_testkit::{Browser, TestEnv};
use serde_json::{Value, json};

use crate::fixtures::{agents, ending, env_with_repo, write};
use crate::fleet::DashboardHub;

/// A task in the environment's directory, with this agent and check.
fn task(env: &TestEnv, description: &str, agent: &str, check: &str) -> Value {
    json!({
        "description": description, "workspace": env.work_dir(), "agent": agent, "max_verification_retries": 2,
        "verification_steps": [{ "type": "command", "target": check }],
    })
}

fn is_as_it_was(browser: &Browser) -> bool {
    browser.run_script("return window.before === true", &[]) == json!(true)
}

#[test]
fn hub_task_progress_is_shown_live_in_other_tabs() {
    let env = env_with_repo();
    env.write("answer", "40\n");
    env.commit("An answer");
    let gate = |name: &str| env.root().join(name).display().to_string();
    let script = json!([
        [{ "say": "First I <b>look</b> around." }, { "wait_for_file": gate("go-1") }, write("answer", "41\n"), ending(0.01)],
        [{ "say": "It must be another number." }, { "wait_for_file": gate("go-2") }, write("answer", "42\n"), ending(0.02)],
    ]);
    agents(&env, &[("slow", script)]);
    let hub = DashboardHub::start(&env, "127.0.0.1:0", "slow");
    let browser = hub.open_browser(&env);
    browser.wait_for_text("#nothing", "No tasks yet");
    let list = browser.current_tab();
    browser.run_script("window.before = true", &[]);
    let _worker = hub.worker(&env, "loom");
    let about = "Write the answer to everything into `answer`";
    let id = hub.submit(&task(&env, about, "slow", "grep -q 42 answer"));
    browser.wait_for_text("#tasks", "running");
    browser.wait_for_text("#tasks", "loom");

    browser.open_tab();
    browser.open_url(&format!("{}/tasks/{id}", hub.origin));
    browser.run_script("window.before = true", &[]);
    browser.wait_for_text("#doing", "The agent is running");
    browser.wait_for_text("#live", "First I <b>look</b> around.");
    std::fs::write(gate("go-1"), "").unwrap();
    browser.wait_for_text("#attempt-1", "0 of 1 checks passed");
    browser.wait_for_text("#live", "It must be another number.");
    assert!(!browser.text("#live").contains("look"), "a fresh session");
    browser.click("#prompt-2 summary");
    browser.wait_for_text("#prompt-2", "VERIFICATION RETRY 1/2");
    let watched = browser.current_tab();
    browser.open_tab();
    browser.open_url(&format!("{}/fleet", hub.origin));
    browser.wait_for_text("#workers", "1 of 1");
    browser.wait_for_text("#workers a.go", "Write the answer");
    browser.switch_to_tab(&watched);
    std::fs::write(gate("go-2"), "").unwrap();
    browser.wait_for_text(".title .badge", "verified");
    browser.wait_until("document.querySelector('#prompt-2').open");
    assert!(is_as_it_was(&browser), "nobody reloaded");
    assert_eq!(browser.count_elements("#live"), 0, "no agent is running");
    let grid = "return [...document.querySelectorAll('.grid tbody td')].map(it => it.className)";
    assert_eq!(
        browser.run_script(grid, &[]),
        json!(["k-fail", "k-fail", "k-pass"]),
        "before, first, second"
    );
    let commands = browser.text("#more");
    let again = "selvedge submit 'Write the answer to everything into `answer`' --workspace";
    assert!(commands.contains(again), "{commands}");
    assert!(
        browser.text("#attempt-2").contains("git apply selvedge-"),
        "how its tree is had again"
    );
    let costs = browser.text("#costs");
    assert!(
        ["$0.0100", "$0.0200", "$0.0300"]
            .iter()
            .all(|cost| costs.contains(cost)),
        "{costs}"
    );

    browser.switch_to_tab(&list);
    browser.wait_for_text("#tasks", "verified");
    browser.wait_for_text("#tasks", "2/3 attempts");
    browser.wait_for_text("#tasks", "$0.0300");
    assert!(is_as_it_was(&browser), "nobody reloaded");
    changes_are_shown(&browser, &format!("{}/tasks/{id}", hub.origin));
    let expected = [
        ["download/json", "json", "\"outcome\": \"verified\""],
        ["download/junit", "xml", "<testsuites"],
        ["download/sarif", "sarif", "\"version\": \"2.1.0\""],
        ["download/markdown", "md", "grep -q 42 answer"],
        ["download/patch", "patch", "+42"],
        ["attempts/2/diff?as=patch", "patch", "-41"],
        ["attempts/1/checks/1/raw", "txt", ""],
    ];
    downloads_are_what_they_say(&browser, &format!("{}/tasks/{id}", hub.origin), &expected);
}

/// Asserts which lines each attempt changed, since the previous attempt and since the start.
fn changes_are_shown(browser: &Browser, task: &str) {
    let lines = "return [...document.querySelectorAll('.d-removed .l, .d-added .l')].map(it => it.textContent.replace(/.*: /, ''))";
    for (path, lines_of) in [
        ("attempts/1/diff", ["40", "41"]),
        ("attempts/1/diff?from=start", ["40", "41"]),
        ("attempts/2/diff", ["41", "42"]),
        ("attempts/2/diff?from=start", ["40", "42"]),
        ("diff", ["40", "42"]),
    ] {
        browser.open_url(&format!("{task}/{path}"));
        browser.wait_until("document.querySelector('.file')");
        assert_eq!(browser.run_script(lines, &[]), json!(lines_of), "{path}");
    }
}

/// Asserts the downloads. Each has a path, the extension of the file's name, and a part of the content.
fn downloads_are_what_they_say(browser: &Browser, task: &str, expected: &[[&str; 3]]) {
    let load = "return fetch(arguments[0]).then(async it => [it.status, it.headers.get('content-disposition'), await it.text()])";
    for [path, extension, says] in expected {
        let extension = format!(".{extension}\"");
        let got = browser.run_script(load, &[json!(format!("{task}/{path}"))]);
        assert_eq!(got[0], 200, "{path}: {got}");
        let disposition = got[1].as_str().unwrap_or_default();
        assert!(disposition.starts_with("attachment;"), "{path}: {got}");
        assert!(disposition.ends_with(&extension), "{path}: {got}");
        assert!(got[2].as_str().unwrap().contains(*says), "{path}: {got}");
    }
}

#[test]
fn hub_review_retries_and_then_accepts() {
    let env = env_with_repo();
    env.write("shop.py", "def add(a, b):\n    return a - b\n");
    env.commit("A shop");
    let sly = |extra: &str| {
        let text = format!("import os\n\ndef add(a, b):\n    os._exit(0)\n{extra}");
        json!([
            write("greeting", "hello\n"),
            write("shop.py", &text),
            ending(0.03)
        ])
    };
    agents(&env, &[("sly", json!([sly(""), sly("# once more\n")]))]);
    let hub = DashboardHub::start(&env, "127.0.0.1:0", "sly");
    let _worker = hub.worker(&env, "loom");
    let browser = hub.open_browser(&env);
    let id = hub.submit(&task(
        &env,
        "Greet, and mend the shop",
        "sly",
        "test -s greeting",
    ));
    browser.wait_for_text("#tasks", "needs review");
    browser.click("#groups a[data-key=review]");
    browser.wait_until("location.search === '?state=review'");
    browser.click("tr.row a.go");
    browser.wait_for_text("#review", "Review required");
    browser.wait_for_text("#attempt-1 .guard", "before the checks have finished");
    browser.type_into("#reject-why", "Do not leave early: <i>add</i> the numbers.");
    browser.click("#review input[name=retry]");
    browser.click("#review button[value=reject]");
    browser.wait_for_text("#held", "takes effect in");
    browser.click("#held button[value=apply]");
    browser.wait_for_text("#attempt-2", "of 2 checks passed");
    browser.wait_for_text("#review", "Review required");
    browser.click("#prompt-2 summary");
    browser.wait_for_text("#prompt-2", "Do not leave early: <i>add</i> the numbers.");
    browser.wait_until("document.querySelector('#accept-why')");
    browser.type_into("#accept-why", "Good enough for now.");
    browser.click("#review button[value=accept]");
    browser.wait_for_text("#held", "takes effect in");
    browser.click("#held button[value=apply]");
    browser.wait_for_text(".title .badge", "accepted");
    assert_eq!(browser.count_elements("#review"), 0);
    assert!(browser.address().ends_with(&id));
}

#[test]
fn hub_task_is_cancelled_from_the_page() {
    let env = env_with_repo();
    agents(
        &env,
        &[(
            "stubborn",
            json!([[{ "say": "This takes for ever." }, { "hang": true }]]),
        )],
    );
    let hub = DashboardHub::start(&env, "127.0.0.1:0", "stubborn");
    let _worker = hub.worker(&env, "loom");
    let browser = hub.open_browser(&env);
    let id = hub.submit(&task(&env, "Count all numbers", "stubborn", "true"));
    browser.open_url(&format!("{}/tasks/{id}", hub.origin));
    browser.wait_for_text("#live", "This takes for ever.");
    browser.click("#actions form[action$=cancel] button");
    browser.wait_for_text(".title .badge", "cancelled");
    browser.wait_for_text("#attempt-1", "leftover processes");
    browser.open_url(&format!("{}/fleet", hub.origin));
    browser.wait_for_text("#workers", "0 of 1");
}

#[test]
fn hub_plan_shows_subtasks_and_is_cancelled_and_retried() {
    let env = env_with_repo();
    let go = env.root().join("go");
    let waits = json!({ "wait_for_file": go.display().to_string() });
    let script = json!([[waits, write("done", "yes\n"), ending(0.01)]]);
    agents(&env, &[("patient", script)]);
    let hub = DashboardHub::start(&env, "127.0.0.1:0", "patient");
    let _worker = hub.worker(&env, "loom");
    let browser = hub.open_browser(&env);
    let part = |id: &str, needs: &[&str]| {
        let check = json!({ "type": "command", "target": "test -s done" });
        json!({ "id": id, "description": format!("Do the {id} half"), "depends_on": needs,
                "verification_steps": [check] })
    };
    let plan = json!({
        "description": "Both halves", "repository": env.work_dir(), "agent": "patient",
        "subtasks": [part("second", &["first"]), part("first", &[])],
    });
    let id = hub.submit(&plan);
    browser.open_url(&format!("{}/tasks/{id}", hub.origin));
    let rows = "return [...document.querySelectorAll('#parts tbody tr')].map(row => row.cells[0].innerText + ' ' + row.cells[1].innerText)";
    browser.wait_for_text("#parts", "running");
    assert_eq!(
        browser.run_script(rows, &[]),
        json!(["queued second", "running first"])
    );
    let facts = browser.text("#facts");
    assert!(
        !facts.contains("selvedge:") && !facts.contains("Cannot be assigned"),
        "{facts}"
    );

    browser.click("#actions form[action$=cancel] button");
    browser.wait_for_text(".title .badge", "cancelled");
    browser.wait_for_text("#parts", "cancelled");
    browser.wait_for_text("#parts", "not started: it depends on `first`");

    browser.click("#actions form[action$=retry] button");
    browser.wait_until(&format!("!location.pathname.endsWith('{id}')"));
    std::fs::write(&go, "").unwrap();
    browser.wait_for_text(".title .badge", "verified");
    assert_eq!(
        browser.run_script(rows, &[]),
        json!(["verified second", "verified first"])
    );
    assert!(browser.text("#facts").contains("$0.0200"), "what both cost");
    let plan = browser.address();
    let expected = [
        ["download/json", "json", "\"id\": \"second\""],
        ["download/junit", "xml", "second: attempt 1"],
        ["download/sarif", "sarif", "\"version\": \"2.1.0\""],
        ["download/markdown", "md", "Subtask `first`, attempt 1"],
        ["download/patch", "patch", "+yes"],
    ];
    downloads_are_what_they_say(&browser, &plan, &expected);
    browser.click("#more a[href$='/diff']");
    browser.wait_for_text(".file", "done");
    browser.open_url(&format!("{}/?q=half", hub.origin));
    browser.wait_for_text("#tasks", "subtask second");
    browser.open_url(&plan);
    browser.click("#parts a.go");
    browser.wait_for_text(".crumbs", "plan › second");
}

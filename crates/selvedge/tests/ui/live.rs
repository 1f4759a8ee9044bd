//! A run that is watched on a page which is never reloaded.

use selvedge_testkit::{BrowserKey, TestEnv};
use serde_json::{Value, json};

use crate::fixtures::{
    agents, ending, env_with_repo, env_with_runs, newest, open_browser, serve, write,
};

#[test]
fn run_progress_is_shown_live_in_other_tabs() {
    let env = env_with_repo();
    let gate = |name: &str| env.root().join(name).display().to_string();
    let mut second: Vec<Value> = (1..=40)
        .map(|number| json!({ "say": format!("I count to {number}.") }))
        .collect();
    second.extend([
        json!({ "say": "It must be another number." }),
        json!({ "wait_for_file": gate("go-steps") }),
        json!({ "say": "I write it down." }),
        json!({ "wait_for_file": gate("go-2") }),
        write("answer", "42\n"),
        ending(0.02),
    ]);
    let script = json!([
        [{ "say": "First I look around." }, { "wait_for_file": gate("go-1") }, write("answer", "41\n"), ending(0.01)],
        second,
    ]);
    agents(&env, &[("slow", script)]);
    let ui = serve(&env);
    let browser = open_browser(&env, &ui);
    browser.wait_for_text("#nothing", "No tasks yet");
    let list = browser.current_tab();
    // A reload would remove this mark.
    browser.run_script("window.before = true", &[]);

    let task = "Write the answer to everything into `answer`";
    let run = env.spawn([
        "run",
        task,
        "--agent",
        "slow",
        "--check",
        "grep -q 42 answer",
    ]);
    browser.wait_for_text("#tasks", "running");
    assert_eq!(browser.run_script("return window.before", &[]), json!(true));
    assert_eq!(browser.text("tr.row .cost"), "–", "no session has ended");

    let id = newest(&env);
    browser.open_tab();
    browser.open_url(&format!("{}/tasks/{id}", ui.origin));
    browser.run_script("window.before = true", &[]);
    browser.wait_for_text("#doing", "The agent is running");
    browser.wait_for_text("#live", "First I look around.");
    std::fs::write(gate("go-1"), "").unwrap();
    browser.wait_for_text("#attempt-1", "failed");
    browser.wait_for_text("#live", "It must be another number.");
    browser.wait_for_text("#grid", "attempt 2");
    // While a session is open, its cost is a lower bound.
    browser.wait_for_text("#facts", "≥ $0.0100");
    let task_tab = browser.current_tab();
    browser.switch_to_tab(&list);
    browser.wait_for_text("tr.row .cost", "≥ $0.0100");
    // The session follows its newest step until the reader turns that off.
    browser.open_tab();
    browser.open_url(&format!("{}/tasks/{id}/attempts/2/session", ui.origin));
    browser.wait_for_text("#trace", "It must be another number.");
    let newest_is_shown = "scrollY > 0 && document.querySelector('#trace > li:last-child').getBoundingClientRect().bottom <= innerHeight + 1";
    browser.wait_until(newest_is_shown);
    browser.run_script("scrollTo(0, 0)", &[]);
    browser.click("#follow");
    std::fs::write(gate("go-steps"), "").unwrap();
    browser.wait_for_text("#trace", "I write it down.");
    assert_eq!(browser.run_script("return scrollY", &[]), json!(0));
    browser.click("#follow");
    browser.wait_until(newest_is_shown);
    browser.switch_to_tab(&task_tab);
    // Unfolded sections stay open during updates.
    browser.click("#prompt-2 summary");
    browser.wait_for_text("#prompt-2", "grep -q 42 answer");
    std::fs::write(gate("go-2"), "").unwrap();
    browser.wait_for_text(".title .badge", "verified");
    assert_eq!(browser.run_script("return window.before", &[]), json!(true));
    browser.wait_until("document.querySelector('#prompt-2').open");
    run.wait().assert_success();

    browser.switch_to_tab(&list);
    browser.wait_for_text("#tasks", "verified");
    browser.wait_for_text("#tasks", "2/3 attempts");
    assert_eq!(browser.text("tr.row .cost"), "$0.0300");
    assert_eq!(browser.run_script("return window.before", &[]), json!(true));
}

/// A run that awaits review: it changed a test so that one of the original tests fails, and the judge is unsure.
fn env_with_doubtful_work() -> TestEnv {
    let env = env_with_repo();
    env.write("greet.sh", "echo hello\n");
    env.write("tests/test_words.sh", "sh greet.sh | grep -q hello\n");
    env.write("tests/test_lines.sh", "sh greet.sh | grep -q h\n");
    env.commit("Greet");
    let words = write("tests/test_words.sh", "sh greet.sh | grep -q hi\n");
    let script = json!([[write("greet.sh", "echo hi\n"), words, ending(0.01)]]);
    agents(&env, &[("opus", script)]);
    let path = "../config/selvedge/config.toml";
    let config = std::fs::read_to_string(env.work_dir().join(path)).unwrap();
    let unsure = r#"{"passed": true, "issues": [], "confidence": 0.2, "suggestion": null}"#;
    let judge = json!(["/bin/sh", "-c", format!("cat > /dev/null; echo '{unsure}'")]);
    env.write(
        path,
        format!("{config}[agents.critic]\nkind = \"command\"\nprogram = {judge}\n"),
    );
    let check = |name: &str| json!({ "type": "command", "target": format!("sh tests/{name}.sh") });
    let task = json!({
        "description": "Greet the reader",
        "acceptance_criteria": "The greeting <i>names</i> the reader.",
        "agent": "opus", "verification_tier": 2, "max_verification_retries": 0,
        "verification_steps": [check("test_words"), check("test_lines")],
    });
    env.write("../task.json", task.to_string());
    let run = ["run", "--file", "../task.json", "--judge", "critic"];
    env.selvedge(run).run().assert_code(7);
    env
}

#[test]
fn review_shows_its_grounds_and_needs_neither_script_nor_mouse() {
    let env = env_with_doubtful_work();
    let ui = serve(&env);
    let browser = open_browser(&env, &ui);

    // Without scripts: the list is searched, the work is read, and the decision is made and undone.
    browser.allow_scripts(false);
    browser.open_url(&ui.origin);
    browser.type_into("#search", "reader");
    browser.click("#filters button[type=submit]");
    browser.wait_until("location.search.includes('q=reader')");
    assert_eq!(
        browser.run_script(
            "return [document.querySelector('#save-view').hidden, document.querySelectorAll('tr.row').length]",
            &[]
        ),
        json!([true, 1]),
        "no script has run"
    );
    browser.click("tr.row a.go");
    browser.wait_for_text("#description", "The greeting <i>names</i> the reader.");
    browser.click("#review a[href$='/review']");
    browser.wait_for_text("h1", "Review of attempt 1");
    let original = browser.text("#original");
    assert!(original.contains("1 of 2 checks pass"), "{original}");
    assert!(original.contains("test_words.sh"), "{original}");
    let judge = browser.text(".side .gate");
    assert!(
        judge.contains("critic passes the work, confidence 0.20"),
        "{judge}"
    );
    let aside = browser.text("aside.side");
    assert!(
        aside.contains("The greeting <i>names</i> the reader."),
        "{aside}"
    );
    browser.wait_for_text("[data-path='greet.sh'] .d-added", "echo hi");
    let is_visible = browser.run_script(
        "const right = document.querySelector('.file').getBoundingClientRect().right;
         return ['#original', '.gate', '#criteria'].map(it => document.querySelector('.side ' + it).getBoundingClientRect().left >= right)",
        &[],
    );
    assert_eq!(
        is_visible,
        json!([true, true, true]),
        "next to the difference"
    );
    browser.click("[data-path='greet.sh'] .comment summary");
    browser.type_into(
        "[data-path='greet.sh'] .comment textarea",
        "Name the reader.",
    );
    browser.type_into("#reject-why", "It greets the wrong name.");
    browser.click("#reject button[value=reject]");
    browser.wait_for_text("#held", "greet.sh: Name the reader.");
    browser.click("#held button[value=undo]");
    browser.wait_for_text("#review", "Review required");

    // With the keyboard only.
    browser.allow_scripts(true);
    browser.open_url(&format!("{}/?state=review", ui.origin));
    let walk_to = |selector: &str| {
        let reached = format!("return document.activeElement.matches({})", json!(selector));
        let presses = (0..100).find(|_| {
            browser.press_keys(&[BrowserKey::Char('\u{e004}')]);
            browser.run_script(&reached, &[]) == json!(true)
        });
        assert!(presses.is_some(), "{selector} is not reached");
    };
    walk_to("tr.row a.go");
    browser.press_keys(&[BrowserKey::Enter]);
    browser.wait_for_text("#review", "Review required");
    walk_to("#review a[href$='/review']");
    browser.press_keys(&[BrowserKey::Enter]);
    browser.wait_for_text("h1", "Review of attempt 1");
    walk_to("#accept-why");
    browser.press_keys(&['F', 'i', 'n', 'e'].map(BrowserKey::Char));
    walk_to("#review button[value=accept]");
    browser.press_keys(&[BrowserKey::Enter]);
    browser.wait_for_text("#held", "Fine");
    walk_to("#held button[value=apply]");
    browser.press_keys(&[BrowserKey::Enter]);
    browser.wait_for_text(".title .badge", "accepted");
}

#[test]
fn review_is_decided_on_the_page() {
    let env = env_with_runs();
    let ui = serve(&env);
    let browser = open_browser(&env, &ui);
    browser.click("#groups a[data-key=review]");
    browser.wait_until("location.search === '?state=review'");
    browser.click("tr.row a.go");
    browser.wait_for_text("#review", "Review required");
    browser.type_into(
        "#accept-why",
        "Skipping it is fine: <b>the next task</b> removes it.",
    );
    browser.click("#review button[value=accept]");
    // The decision can be undone until it takes effect.
    browser.wait_for_text("#held", "This takes effect in");
    browser.wait_for_text("#held", "<b>the next task</b> removes it.");
    browser.wait_for_text(".title .badge", "needs review");
    // Other open pages show it, too.
    let (address, decided) = (browser.address(), browser.current_tab());
    browser.open_tab();
    browser.open_url(&address);
    browser.click("#held button[value=undo]");
    browser.wait_until("document.querySelector('#accept-why')");
    assert_eq!(browser.count_elements("#held"), 0);
    browser.switch_to_tab(&decided);
    browser.wait_until("document.querySelector('#accept-why')");
    assert_eq!(browser.count_elements("#held"), 0);
    browser.click("#review button[value=accept]");
    browser.wait_for_text("#held", "takes effect in");
    browser.click("#held button[value=apply]");
    browser.wait_for_text(".title .badge", "accepted");
    assert_eq!(browser.count_elements("#review"), 0);
    browser.wait_for_text(".card .verdict", "accepted by");
    let listed = env
        .selvedge(["list", "--format", "json"])
        .run()
        .stdout
        .clone();
    assert!(!listed.contains("awaiting_review"), "{listed}");
}

#[test]
fn review_page_sends_comments_on_lines_as_feedback() {
    let env = env_with_runs();
    let ui = serve(&env);
    let browser = open_browser(&env, &ui);
    browser.open_url(&format!("{}/?state=review", ui.origin));
    browser.click("tr.row a.go");
    browser.click("#review a[href$='/review']");
    browser.wait_for_text("h1", "Review of attempt 1");
    // The finding is at its line.
    browser.wait_for_text("[data-path='shop.py'] .d-finding", "ends the process");
    let keywords = browser.run_script(
        "return [...document.querySelectorAll('[data-path=\"shop.py\"] i.y')].map(it => it.textContent)",
        &[],
    );
    assert_eq!(keywords, json!(["import", "def", "return"]));
    browser.click("[data-path='shop.py'] tr[data-line='4'] td.n + td.n");
    browser.type_into(
        "[data-path='shop.py'] .d-comment textarea",
        "Do not leave here.",
    );
    browser.type_into("#reject-why", "It ends the process.");
    browser.run_script(
        "document.querySelector('#reject [name=retry]').checked = false",
        &[],
    );
    browser.click("#reject button[value=reject]");
    browser.wait_for_text("#held", "takes effect in");
    browser.click("#held button[value=apply]");
    browser.wait_for_text("#reason", "It ends the process.");
    browser.wait_for_text("#reason", "shop.py:4: Do not leave here.");
    browser.wait_for_text(".card .verdict", "rejected by");
}

#[test]
fn review_form_accepts_only_shown_work_and_by_its_button() {
    let env = env_with_runs();
    let ui = serve(&env);
    let browser = open_browser(&env, &ui);
    let open = || {
        browser.open_url(&format!("{}/?state=review", ui.origin));
        browser.click("tr.row a.go");
        browser.wait_for_text("#review", "Your decision applies to attempt 1 (tree ");
    };
    let script = |body: &str| browser.run_script(body, &[]);
    let refused = |why: &str| {
        browser.wait_for_text("main", why);
        let listed = env
            .selvedge(["list", "--format", "json"])
            .run()
            .stdout
            .clone();
        assert!(listed.contains("awaiting_review"), "{listed}");
    };

    // Requests that a browser would not send for the unmodified form.
    open();
    script(
        "document.querySelector('form.accept').insertAdjacentHTML('beforeend', '<input type=hidden name=retry value=yes>')",
    );
    browser.click("#review button[value=accept]");
    refused("cannot accept and retry");
    open();
    script("document.querySelector('form.reject').noValidate = true");
    browser.click("#review button[value=reject]");
    refused("a rejection needs a reason");
    // A page that was loaded before the run continued.
    open();
    script("document.querySelector('form.accept [name=attempt]').value = '2'");
    browser.click("#review button[value=accept]");
    refused("attempt 2 (tree ");
    open();
    script(
        "document.querySelectorAll('form.accept [type=hidden]:not([name=csrf])').forEach((it) => it.value = '')",
    );
    browser.click("#review button[value=accept]");
    refused("does not name the reviewed attempt");
    // A form that names only a part of the work.
    open();
    script("document.querySelector('form.accept [name=tree]').value = ''");
    browser.click("#review button[value=accept]");
    refused("This takes effect in");
    browser.click("#held button[value=undo]");
    browser.wait_for_text("#review", "Your decision applies to attempt 1");

    // Enter presses only the button of the form that has the focus.
    open();
    script("document.querySelector('#review input[name=retry]').focus()");
    browser.press_keys(&[BrowserKey::Enter]);
    browser.wait_until("document.querySelector('form.reject :invalid') === document.activeElement");
    refused("Your decision applies to attempt 1");
    browser.type_into("#reject-why", "It skips the tests.");
    script("document.querySelector('#review input[name=retry]').focus()");
    browser.press_keys(&[BrowserKey::Enter]);
    browser.wait_for_text("#held", "takes effect in");
    browser.click("#held button[value=apply]");
    browser.wait_for_text("#reason", "It skips the tests.");
    browser.wait_for_text(".title .badge", "checks still fail");
}

//! A run that is watched on a page which is never reloaded.

use selvedge_testkit::BrowserKey;
use serde_json::json;

use crate::fixtures::{
    agents, ending, env_with_repo, env_with_runs, newest, open_browser, serve, write,
};

#[test]
fn run_progress_is_shown_live_in_other_tabs() {
    let env = env_with_repo();
    let gate = |name: &str| env.root().join(name).display().to_string();
    let script = json!([
        [{ "say": "First I look around." }, { "wait_for_file": gate("go-1") }, write("answer", "41\n"), ending(0.01)],
        [{ "say": "It must be another number." }, { "wait_for_file": gate("go-2") }, write("answer", "42\n"), ending(0.02)],
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
    // The session follows its newest step.
    let task_tab = browser.current_tab();
    browser.open_tab();
    browser.open_url(&format!("{}/tasks/{id}/attempts/2/session", ui.origin));
    browser.wait_for_text("#trace", "It must be another number.");
    browser.wait_until("document.querySelector('#follow').checked");
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
    assert_eq!(browser.run_script("return window.before", &[]), json!(true));
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

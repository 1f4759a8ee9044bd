//! Accessibility: every page in both color schemes and on wide and narrow screens must follow rules for screen
//! readers, keyboards and contrast.

use selvedge_testkit::Browser;
use serde_json::json;

use crate::fixtures::{agents, env_with_repo, env_with_runs, open_browser, serve};
use crate::fleet::DashboardHub;

const RULES: &str = include_str!("access.js");

#[test]
fn pages_are_accessible() {
    let env = env_with_runs();
    let ui = serve(&env);
    let browser = open_browser(&env, &ui);
    let task_url = |query: &str| {
        browser.open_url(&format!("{}/?q={query}", ui.origin));
        let link = browser.run_script("return document.querySelector('tr.row a.go').href", &[]);
        link.as_str().unwrap().to_owned()
    };
    let (rescued, review, failed) = (
        task_url("friendly"),
        task_url("complete"),
        task_url("environment"),
    );
    let place = "return document.querySelector('td.repo a').href";
    let place = browser.run_script(place, &[]);
    let place = place.as_str().unwrap().to_owned();
    let pages = [
        format!("{}/", ui.origin),
        format!("{}/?q=nothing+at+all", ui.origin),
        format!("{}/stats", ui.origin),
        format!("{}/nowhere", ui.origin),
        format!("{}/tasks/0", ui.origin),
        format!("{rescued}/attempts/1/checks/1"),
        format!("{rescued}/attempts/1/checks/1?q=error"),
        format!("{rescued}/attempts/2/diff"),
        format!("{rescued}/attempts/2/session"),
        format!("{rescued}/compare"),
        place,
        format!("{}/?result=recovered&finding=early_exit", ui.origin),
        format!("{review}/review"),
        rescued,
        review,
        failed,
    ];
    assert_accessible(&browser, &ui.origin, &pages);
}

#[test]
fn hub_pages_are_accessible() {
    let env = env_with_repo();
    let busy = json!([[{ "say": "This takes for ever. ".repeat(400) }, { "hang": true }]]);
    agents(&env, &[("busy", busy)]);
    let hub = DashboardHub::start(&env, "127.0.0.1:0", "busy");
    let browser = Browser::start(&env);
    assert_accessible(&browser, &hub.origin, &[format!("{}/", hub.origin)]);
    drop(browser);
    let browser = hub.open_browser(&env);
    let pages = ["/", "/fleet", "/stats", "/new"].map(|page| format!("{}{page}", hub.origin));
    assert_accessible(&browser, &hub.origin, &pages);
    let _worker = hub.worker(&env, "loom");
    let task = |about: &str, labels: &[&str]| {
        hub.submit(&json!({
            "description": about, "workspace": env.work_dir(), "agent": "busy", "labels": labels,
            "verification_steps": [{ "type": "command", "target": "true" }],
        }))
    };
    let waits = task("Weave a very long cloth out of silk", &["silk"]);
    let at_work = task("Weave", &[]);
    let page = |id: &str| format!("{}/tasks/{id}", hub.origin);
    browser.open_url(&page(&at_work));
    browser.wait_for_text("#live", "This takes for ever.");
    let pages = [
        format!("{}/", hub.origin),
        format!("{}/fleet", hub.origin),
        format!("{}/worker?name=loom", hub.origin),
        page(&at_work),
        format!("{}/attempts/1/session", page(&at_work)),
        page(&waits),
        page("0"),
    ];
    assert_accessible(&browser, &hub.origin, &pages);
    browser.open_url(&format!("{}/fleet", hub.origin));
    browser.wait_for_text("#unplaced", "silk");
}

/// The script of axe-core with a call of it. `cargo xtask ui-test` installs it and sets the variable.
fn load_axe() -> String {
    let path = std::env::var_os("SELVEDGE_AXE").unwrap();
    let script = std::fs::read_to_string(path).unwrap();
    format!(
        "{script};
         return axe.run(document, {{ resultTypes: ['violations'] }}).then(({{ violations }}) => violations.map(
             it => `${{it.id}}: ${{it.nodes.slice(0, 3).map(node => node.target.join(' ')).join(', ')}}`))"
    )
}

/// Asserts that pages follow the rules, in both color schemes and both widths.
fn assert_accessible(browser: &Browser, origin: &str, pages: &[String]) {
    let mut violations = Vec::new();
    let axe = load_axe();
    for dark in [false, true] {
        browser.set_dark_mode(dark);
        for (width, height, phone) in [(1280, 900, false), (390, 844, true)] {
            browser.resize(width, height, phone);
            for page in pages {
                browser.open_url(page);
                browser.run_script(
                    "document.querySelectorAll('details').forEach(it => { it.open = true })",
                    &[],
                );
                let broken_rules = [RULES, &axe].map(|rules| browser.run_script(rules, &[]));
                let broken_rules = broken_rules.iter().flat_map(|it| it.as_array().unwrap());
                let path = page.strip_prefix(origin).unwrap();
                violations.extend(
                    broken_rules.map(|it| format!("{path} dark={dark} phone={phone}: {it}")),
                );
            }
        }
    }
    violations.dedup();
    assert!(
        violations.is_empty(),
        "{} violations:\n{}",
        violations.len(),
        violations.join("\n")
    );
}

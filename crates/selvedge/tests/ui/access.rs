//! For everybody: every page in both colours, on a desk and on a phone, held to rules that a screen
//! reader, a keyboard and weak eyes need.

use selvedge_testkit::Browser;
use serde_json::json;

use crate::fixtures::{agents, env_with_repo, env_with_runs, open_browser, serve};
use crate::fleet::DashboardHub;

const RULES: &str = include_str!("access.js");

#[test]
fn every_page_can_be_used_by_everybody() {
    let env = env_with_runs();
    let ui = serve(&env);
    let browser = open_browser(&env, &ui);
    let of = |query: &str| {
        browser.open_url(&format!("{}/?q={query}", ui.origin));
        let link = browser.run_script("return document.querySelector('tr.row a.go').href", &[]);
        link.as_str().unwrap().to_owned()
    };
    let (rescued, review, failed) = (of("friendly"), of("complete"), of("environment"));
    let pages = [
        format!("{}/", ui.origin),
        format!("{}/?q=nothing+at+all", ui.origin),
        format!("{}/stats", ui.origin),
        format!("{}/nowhere", ui.origin),
        format!("{}/tasks/0", ui.origin),
        format!("{rescued}/attempts/1/checks/1"),
        format!("{rescued}/attempts/2/diff"),
        rescued,
        review,
        failed,
    ];
    hold(&browser, &ui.origin, &pages);
}

#[test]
fn every_page_of_a_hub_can_be_used_by_everybody() {
    let env = env_with_repo();
    let busy = json!([[{ "say": "This takes for ever. ".repeat(400) }, { "hang": true }]]);
    agents(&env, &[("busy", busy)]);
    let hub = DashboardHub::start(&env, "127.0.0.1:0", "busy");
    let browser = Browser::start(&env);
    hold(&browser, &hub.origin, &[format!("{}/", hub.origin)]);
    drop(browser);
    let browser = hub.open_browser(&env);
    let pages = ["/", "/fleet", "/stats"].map(|page| format!("{}{page}", hub.origin));
    hold(&browser, &hub.origin, &pages);
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
        page(&at_work),
        page(&waits),
        page("0"),
    ];
    hold(&browser, &hub.origin, &pages);
    browser.open_url(&format!("{}/fleet", hub.origin));
    browser.wait_for_text("#unplaced", "silk");
}

/// Holds pages to the rules, in both colours and both widths.
fn hold(browser: &Browser, origin: &str, pages: &[String]) {
    let mut offences = Vec::new();
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
                let found = browser.run_script(RULES, &[json!(phone)]);
                let found = found.as_array().unwrap().iter();
                let place = page.strip_prefix(origin).unwrap();
                offences.extend(found.map(|it| format!("{place} dark={dark} phone={phone}: {it}")));
            }
        }
    }
    offences.dedup();
    assert!(
        offences.is_empty(),
        "{} offences:\n{}",
        offences.len(),
        offences.join("\n")
    );
}

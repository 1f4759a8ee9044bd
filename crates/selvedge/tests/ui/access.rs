//! For everybody: every page in both colours, on a desk and on a phone, held to rules that a screen
//! reader, a keyboard and weak eyes need.

use serde_json::json;

use crate::stage::{enter, populated, serve};

const RULES: &str = include_str!("access.js");

#[test]
fn every_page_can_be_used_by_everybody() {
    let env = populated();
    let ui = serve(&env);
    let browser = enter(&env, &ui);
    let of = |query: &str| {
        browser.go(&format!("{}/?q={query}", ui.origin));
        let link = browser.script("return document.querySelector('tr.row a.go').href", &[]);
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
    let mut offences = Vec::new();
    for dark in [false, true] {
        browser.prefer_dark(dark);
        for (width, height, phone) in [(1280, 900, false), (390, 844, true)] {
            browser.resize(width, height, phone);
            for page in &pages {
                browser.go(page);
                browser.script(
                    "document.querySelectorAll('details').forEach(it => { it.open = true })",
                    &[],
                );
                let found = browser.script(RULES, &[json!(phone)]);
                let found = found.as_array().unwrap().iter();
                let place = page.strip_prefix(&ui.origin).unwrap();
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

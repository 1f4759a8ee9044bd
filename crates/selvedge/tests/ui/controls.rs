//! Controls of the pages: theme, saved views, filters, the keyboard, long names, and announcements for screen readers.

use selvedge_testkit::BrowserKey;
use serde_json::json;

use crate::fixtures::{agents, ending, env_with_repo, open_browser, run, serve, write};

#[test]
fn choices_of_the_reader_stay_and_hostile_names_fit() {
    let env = env_with_repo();
    let family = "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}".repeat(60);
    let about = format!("{family} {}", "long".repeat(80));
    let file = format!("{}.txt", "name-".repeat(40));
    agents(
        &env,
        &[("one", json!([[write(&file, "yes\n"), ending(0.01)]]))],
    );
    let fails = format!("test -s missing-{}", "very-long-".repeat(30));
    let checks = ["--retries", "0", "--check", "true", "--check", &fails];
    run(&env, &about, "one", &checks);
    let ui = serve(&env);
    let browser = open_browser(&env, &ui);
    let script = |body: &str| browser.run_script(body, &[]);
    let wait = |condition: &str| browser.wait_until(condition);

    // Long and joined names fit into the window, and tables scroll under their first column.
    for (width, height, phone) in [(1280, 800, false), (390, 844, true)] {
        browser.resize(width, height, phone);
        let task = "/tasks/".to_owned() + &crate::fixtures::newest(&env);
        for page in ["/", "/stats", &task, &format!("{task}/attempts/1/diff")] {
            browser.open_url(&format!("{}{page}", ui.origin));
            let fits = "return document.documentElement.scrollWidth <= innerWidth";
            assert_eq!(script(fits), json!(true), "{page} at {width} px");
        }
    }
    browser.open_url(&format!("{}/stats", ui.origin));
    let columns = script(
        "const tables = [...document.querySelectorAll('table.sticky')];
         const table = tables.find(it => it.scrollWidth > it.closest('.scroll').clientWidth + 150);
         const area = table.closest('.scroll');
         area.scrollLeft = 150;
         const left = it => it.getBoundingClientRect().left - area.getBoundingClientRect().left;
         return [area.scrollLeft > 0, Math.abs(left(table.querySelector('tbody th'))) < 2, left(table.querySelector('tbody td')) < 150];",
    );
    assert_eq!(columns, json!([true, true, true]));
    browser.resize(1280, 800, false);

    // The theme is the reader's, regardless of the system's.
    browser.set_dark_mode(true);
    browser.click("form.theme button[value=light]");
    wait("document.documentElement.dataset.theme === 'light'");
    browser.open_url(&ui.origin);
    let paper = "return getComputedStyle(document.body).backgroundColor";
    assert_eq!(script(paper), json!("rgb(247, 247, 248)"));
    browser.click("form.theme button[value='']");
    wait("document.documentElement.dataset.theme === undefined");
    assert_ne!(script(paper), json!("rgb(247, 247, 248)"));

    // A saved view is offered on every later visit. Arrow keys in a filter select a value and do not navigate.
    browser.open_url(&format!("{}/?state=partial&days=7", ui.origin));
    script("window.before = true; window.prompt = () => 'Mine'");
    browser.click("#save-view");
    browser.wait_for_text("#saved", "Mine");
    script("document.querySelector('select[name=days]').focus()");
    browser.press_keys(&[BrowserKey::Char('\u{e015}'), BrowserKey::Char('\u{e015}')]);
    wait("document.querySelector('select[name=days]').value !== '7'");
    assert_eq!(
        script("return [window.before, location.search]"),
        json!([true, "?state=partial&days=7"])
    );
    browser.open_url(&ui.origin);
    browser.click("#saved a");
    wait("location.search === '?state=partial&days=7'");
    browser.wait_for_text("#count", "1 task");

    // Screen readers announce what changes on an open page.
    assert_eq!(browser.text("#news"), "");
    run(&env, "Once more", "one", &checks);
    browser.wait_for_text("#news", "2 tasks");

    // A missing page of a browser is an HTML page.
    browser.open_url(&format!(
        "{}/tasks/0190a1b2-0000-7000-8000-00000000ffff",
        ui.origin
    ));
    browser.wait_for_text("h1", "Not found");
}

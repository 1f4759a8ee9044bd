//! The dashboard of a hub: login, actions, and a restart of the hub that readers do not notice.

use selvedge_testkit::Browser;
use serde_json::{Value, json};

use crate::door::ask;
use crate::fixtures::env_with_repo;
use crate::fleet::DashboardHub;

/// A task that no worker can take.
fn task(description: &str) -> Value {
    json!({
        "description": description, "repository": "https://example.org/greeting.git", "labels": ["gpu"],
        "agent": "claude", "max_verification_retries": 2,
        "verification_steps": [{ "type": "command", "target": "true" }],
    })
}

#[test]
fn hub_dashboard_logs_in_acts_and_survives_a_restart() {
    let env = env_with_repo();
    let first = DashboardHub::start(&env, "127.0.0.1:0", "");
    let browser = Browser::start(&env);
    browser.open_url(&first.origin);
    browser.type_into("#token", "slv_not-one-of-ours\u{e007}");
    browser.wait_for_text("main [role=alert]", "Invalid token");
    browser.type_into("#token", &format!("{}\u{e007}", first.token()));
    browser.wait_until("location.pathname === '/'");
    browser.wait_for_text("#nothing", "No tasks yet");
    browser.run_script("window.before = true", &[]);

    let id = first.submit(&task("Greet <script>window.pwned=1</script> the world"));
    browser.wait_for_text("#tasks", "queued");
    first.submit(&task("Greet the moon"));
    browser.wait_for_text("#tasks", "moon");
    assert_eq!(
        browser.run_script("return [window.before, typeof window.pwned]", &[]),
        json!([true, "undefined"])
    );

    // The page stays open while its hub is killed and restarted on the same port.
    let listen = first.origin.strip_prefix("http://").unwrap().to_owned();
    first.program.kill();
    browser.wait_until("document.querySelector('#line').dataset.state === 'lost'");
    first.program.wait();
    let again = DashboardHub::start(&env, &listen, "");
    browser.wait_until("document.querySelector('#line').dataset.state === 'live'");
    again.submit(&task("Greet the stars"));
    browser.wait_for_text("#tasks", "stars");
    assert_eq!(
        browser.run_script("return window.before", &[]),
        json!(true),
        "nobody reloaded, nobody entered again"
    );

    browser.click("nav a[href='/fleet']");
    browser.wait_for_text("#unplaced", "no worker is connected");
    browser.open_url(&format!("{}/tasks/{id}", again.origin));
    browser.click("#actions form[action$=cancel] button");
    browser.wait_for_text(".title .badge", "cancelled");
    browser.click("#actions form[action$=retry] button");
    browser.wait_for_text(".title .badge", "queued");
    assert!(!browser.address().contains(&id), "a task of its own");
    browser.wait_for_text("#facts", "Retry of");

    // An open page shows that its session has ended.
    let open = browser.current_tab();
    let other = browser.open_tab();
    browser.open_url(&format!("{}/", again.origin));
    browser.switch_to_tab(&open);
    browser.click(".visitor button");
    browser.wait_until("document.querySelector('#token')");
    browser.switch_to_tab(&other);
    again.submit(&task("Greet the night"));
    browser.wait_for_text("#lost", "Your session has ended. Sign in again");
    browser.click("#lost a");
    browser.wait_until("document.querySelector('#token')");
    browser.switch_to_tab(&open);
    // The login leads to the page that was asked for.
    browser.open_url(&format!("{}/tasks/{id}", again.origin));
    browser.type_into("#token", &format!("{}\u{e007}", again.token()));
    browser.wait_for_text(".title .badge", "cancelled");

    // A new task from an old one, with its command line.
    browser.click("#actions a[href^='/new']");
    browser.wait_for_text("h1", "New task");
    browser.type_into("#checks", "\nmake lint");
    // The command line follows the form; without a script, a button shows it.
    browser.wait_for_text("#command", "--check 'make lint'");
    browser.type_into("#cost", "2.5");
    browser.type_into("#tokens", "90000");
    browser.type_into("#minutes", "20");
    let limits = "--max-cost 2.5 --max-tokens 90000 --max-duration 20m";
    browser.wait_for_text("#command", limits);
    browser.click("button[value=preview]");
    browser.wait_until("document.querySelector('#cost').value === '2.5'");
    browser.wait_until("document.querySelector('#tokens').value === '90000'");
    browser.wait_for_text("#command", limits);
    browser.type_into("#description", " and the sun");
    browser.click("button[value=submit]");
    browser.wait_for_text("h1", "the world and the sun");
    browser.wait_for_text(".title .badge", "queued");
    browser.click("#actions form[action$=cancel] button");
    browser.wait_for_text(".title .badge", "cancelled");

    // Bulk actions.
    browser.open_url(&format!("{}/?state=waiting", again.origin));
    browser.wait_for_text("#count", "4 tasks");
    browser.click("tr.row:nth-child(1) .pick input");
    browser.click("tr.row:nth-child(2) .pick input");
    browser.click("#bulk button[value=cancel]");
    browser.wait_for_text("#count", "2 tasks");
    assert!(
        browser.address().ends_with("?state=waiting"),
        "{}",
        browser.address()
    );
    browser.open_url(&format!("{}/?state=cancelled", again.origin));
    browser.click("tr.row:nth-child(1) .pick input");
    browser.click("tr.row:nth-child(2) .pick input");
    browser.click("#bulk button[value=retry]");
    browser.wait_until("document.querySelectorAll('.pick input:checked').length === 0");
    browser.open_url(&format!("{}/?state=waiting", again.origin));
    browser.wait_for_text("#count", "4 tasks");
}

#[test]
fn hub_errors_are_pages_for_people_and_json_for_programs() {
    let env = env_with_repo();
    let hub = DashboardHub::start(&env, "127.0.0.1:0", "");
    let browser = ["Accept: text/html,application/xhtml+xml"];
    let (status, page) = ask(&hub.origin, "GET /nowhere/%3Cb%3E", &browser, "");
    assert_eq!(status, 404);
    for part in [
        "content-type: text/html",
        "content-security-policy: default-src 'none'",
        "x-frame-options: DENY",
        "cache-control: no-store",
        "<h1>Not found</h1>",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let evil = ["Accept: text/html", "Host: evil.example"];
    let (status, page) = ask(&hub.origin, "GET /", &evil, "");
    assert_eq!(status, 403);
    assert!(
        page.contains("unknown host name") && page.contains("</html>"),
        "{page}"
    );
    for (request, headers) in [("GET /nowhere", &[][..]), ("GET /api/v1/nowhere", &browser)] {
        let (status, answer) = ask(&hub.origin, request, headers, "");
        assert_eq!(status, 404);
        assert!(answer.contains("application/problem+json"), "{answer}");
    }
}

#[test]
fn watched_task_notifies_from_any_open_page() {
    let env = env_with_repo();
    let hub = DashboardHub::start(&env, "127.0.0.1:0", "");
    let browser = hub.open_browser(&env);
    // The browser of the test shows no notifications: they are recorded.
    let record = || {
        browser.run_script(
            "window.noted = [];
             window.Notification = class {
                 static permission = 'granted';
                 static requestPermission = async () => 'granted';
                 constructor(title, { body }) { window.noted.push(`${title}: ${body}`); }
             };",
            &[],
        );
    };
    let id = hub.submit(&task("Greet the comet"));
    browser.open_url(&format!("{}/tasks/{id}", hub.origin));
    record();
    browser.click("#watch");
    browser.wait_for_text("#watch", "Notifications are on");
    browser.open_url(&hub.origin);
    record();
    let token = format!("Authorization: Bearer {}", hub.token());
    let headers = [token.as_str(), "Content-Type: application/json"];
    let cancel = format!("POST /api/v1/tasks/{id}/cancel");
    assert_eq!(ask(&hub.origin, &cancel, &headers, "{}").0, 202);
    browser.wait_until("window.noted[0] === 'Greet the comet: cancelled'");
}

/// A browser opens at most six connections to a server over HTTP/1.1.
#[test]
fn eight_tabs_share_one_event_stream() {
    let env = env_with_repo();
    let hub = DashboardHub::start(&env, "127.0.0.1:0", "");
    let browser = hub.open_browser(&env);
    let ids: Vec<String> = (1..=7)
        .map(|number| hub.submit(&task(&format!("Greet moon {number}"))))
        .collect();
    let list = browser.current_tab();
    browser.wait_for_text("#tasks", "moon 7");
    let tabs: Vec<_> = ids
        .iter()
        .map(|id| {
            let tab = browser.open_tab();
            browser.open_url(&format!("{}/tasks/{id}", hub.origin));
            browser.run_script("window.before = true", &[]);
            browser.wait_until("document.querySelector('#line').dataset.state === 'live'");
            tab
        })
        .collect();

    browser.switch_to_tab(&list);
    browser.run_script("window.before = true", &[]);
    for id in &ids {
        hub.cancel(id);
    }
    for tab in &tabs {
        browser.switch_to_tab(tab);
        browser.wait_for_text(".title .badge", "cancelled");
        assert_eq!(browser.run_script("return window.before", &[]), json!(true));
    }
    browser.switch_to_tab(&list);
    browser.wait_until("document.querySelectorAll('#tasks .badge').length === 7");
    browser.wait_until(
        "Array.from(document.querySelectorAll('#tasks .badge')).every((it) => it.innerText.includes('cancelled'))",
    );
    assert_eq!(browser.run_script("return window.before", &[]), json!(true));
}

/// Rows with every possible content: a branch, a reason, a worker and a long description.
#[test]
fn list_of_a_hub_shows_many_rows_on_a_laptop_and_a_phone() {
    let env = env_with_repo();
    let hub = DashboardHub::start(&env, "127.0.0.1:0", "");
    let browser = hub.open_browser(&env);
    for number in 1..=18 {
        let about = "Greet the moon in as many words as it takes to fill a line of the list ";
        let mut task = task(&about.repeat(3));
        task["repository"] = json!("https://example.org/a-name-that-is-longer-than-its-column.git");
        task["revision"] = json!(format!("feature/{number}-with-a-name-that-is-long-as-well"));
        let id = hub.submit(&task);
        // Cancelled tasks have a reason.
        if number % 2 == 0 {
            hub.cancel(&id);
        }
    }
    for (width, height, phone) in [(1280, 800, false), (390, 844, true)] {
        browser.resize(width, height, phone);
        browser.open_url(&hub.origin);
        browser.wait_until("document.querySelectorAll('tr.row').length === 18");
        let seen = browser.run_script(
            "const boxes = [...document.querySelectorAll('tr.row')].map(it => it.getBoundingClientRect());
             return {
                 highest: Math.max(...boxes.map(it => it.height)),
                 shown: boxes.filter(it => it.bottom <= innerHeight).length,
                 branches: [...document.querySelectorAll('td.repo .why')].filter(it => it.getBoundingClientRect().height > 0).length,
                 fits: document.documentElement.scrollWidth <= innerWidth,
             }",
            &[],
        );
        assert_eq!(
            (&seen["branches"], &seen["fits"]),
            (&json!(18), &json!(true)),
            "{seen}"
        );
        let (highest, shown) = (seen["highest"].as_f64().unwrap(), seen["shown"].as_u64());
        if phone {
            // A row is a card of four lines.
            assert!(highest <= 120.0 && shown >= Some(4), "{seen}");
        } else {
            assert!(highest <= 40.0 && shown >= Some(15), "{seen}");
        }
    }
}

//! Screenshots of the pages, stored in the folder in `SELVEDGE_UI_PICTURES` or, by default, below the build
//! folder.

use std::path::PathBuf;

use selvedge_testkit::{Browser, TestEnv};
use serde_json::json;

use crate::fixtures::{
    agents, ending, env_with_repo, env_with_runs, open_browser, run, serve, write,
};
use crate::fleet::DashboardHub;

/// Takes screenshots of pages in light mode, dark mode and on a phone. Each page has a name, a URL, and whether
/// the full page is shown (never on a phone).
fn take(browser: &Browser, pages: &[(&str, String, bool)]) {
    let folder = std::env::var_os("SELVEDGE_UI_PICTURES").map_or_else(
        || PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("pictures"),
        PathBuf::from,
    );
    std::fs::create_dir_all(&folder).unwrap();
    for (manner, dark, phone) in [
        ("", false, false),
        ("-dark", true, false),
        ("-phone", false, true),
    ] {
        browser.set_dark_mode(dark);
        let (width, height) = if phone { (390, 844) } else { (1280, 860) };
        browser.resize(width, height, phone);
        for (name, address, full_page) in pages {
            browser.open_url(address);
            let picture = browser.screenshot(*full_page && !phone);
            assert!(picture.starts_with(b"\x89PNG"), "{name}");
            std::fs::write(folder.join(format!("{name}{manner}.png")), picture).unwrap();
        }
    }
}

const BASKET: &str = "\
def total(prices, discount=0):
    return sum(prices) - discount


def mean(prices):
    return sum(prices) / len(prices)
";
const TESTS: &str = "\
failed=0
echo '=== totals ==='
if grep -q '(1 - discount)' basket.py; then echo 'discounted ... ok'; else echo 'discounted ... FAILED'; echo 'error: expected 90.0, got 10.0'; failed=1; fi
echo '=== means ==='
if grep -q 'if prices else 0' basket.py; then echo 'empty ... ok'; else echo 'empty ... FAILED'; echo 'error: division by zero'; failed=1; fi
exit $failed
";

/// A run that recovers, and one that awaits review.
fn run_baskets(env: &TestEnv) {
    env.git(["checkout", "--quiet", "."]);
    env.git(["clean", "-fdq"]);
    env.write("basket.py", BASKET);
    env.write("tests.sh", TESTS);
    env.commit("Add baskets");
    let mean = "sum(prices) / len(prices) if prices else 0";
    let file = |total: &str| {
        let total = BASKET.replace("sum(prices) - discount", total);
        write(
            "basket.py",
            &total.replace("sum(prices) / len(prices)", mean),
        )
    };
    let right = "sum(prices) * (1 - discount)";
    let recovers = json!([
        [
            { "say": "I read the tests first." },
            { "run": ["grep", "-n", "grep -q", "tests.sh"] },
            file("sum(prices) * discount"),
            { "say": "The mean of an empty basket is `0` now." },
            ending(0.0284),
        ],
        [
            { "say": "The discount was **returned** instead of subtracted:\n```\nerror: expected 90.0, got 10.0\n```" },
            { "run": ["grep", "-n", "discount", "basket.py"] },
            file(right),
            { "run": ["sh", "tests.sh"] },
            ending(0.0191),
        ],
    ]);
    let exits = "import os\n\n\ndef stop(code=0):\n    os._exit(0)  # not reached\n";
    let stops = json!([[file(right), write("stop.py", exits), ending(0.03)]]);
    agents(env, &[("sonnet", recovers), ("haiku", stops)]);
    let check = ["--check", "sh tests.sh"];
    run(
        env,
        "Fix the totals of discounted baskets",
        "sonnet",
        &check,
    );
    env.git(["checkout", "--quiet", "."]);
    run(
        env,
        "Keep the mean of an empty basket defined",
        "haiku",
        &check,
    );
}

#[test]
fn screenshots_of_local_pages() {
    let env = env_with_runs();
    run_baskets(&env);
    let ui = serve(&env);
    let browser = open_browser(&env, &ui);
    let task_url = |query: &str| {
        browser.open_url(&format!("{}/?q={query}", ui.origin));
        let link = browser.run_script("return document.querySelector('tr.row a.go').href", &[]);
        link.as_str().unwrap().to_owned()
    };
    let (rescued, review) = (task_url("discounted+baskets"), task_url("empty"));
    let place = browser.run_script("return document.querySelector('td.repo a').href", &[]);
    let place = place.as_str().unwrap().to_owned();
    take(
        &browser,
        &[
            ("tasks", format!("{}/", ui.origin), false),
            ("task", rescued.clone(), true),
            ("diff", format!("{rescued}/attempts/2/diff"), false),
            ("output", format!("{rescued}/attempts/1/checks/1"), false),
            ("session", format!("{rescued}/attempts/2/session"), false),
            ("compare", format!("{rescued}/compare"), false),
            ("review", review.clone(), false),
            ("review-lines", format!("{review}/review"), false),
            ("stats", format!("{}/stats", ui.origin), true),
            ("repository", place, true),
            ("nothing", format!("{}/?q=nothing+at+all", ui.origin), false),
            ("trouble", format!("{}/nowhere", ui.origin), false),
        ],
    );
}

#[test]
fn screenshots_of_a_busy_hub() {
    let env = env_with_repo();
    let quick = json!([[{ "say": "Done." }, write("greeting", "hello\n"), ending(0.0312)]]);
    let slow = json!([
        [{ "say": "I read the tests first." }, write("answer", "41\n"), ending(0.0284)],
        [
            { "say": "The test wants another number: I look for where it comes from." },
            write("answer", "42\n"),
            { "say": "It is in `answer`. I write it, and look once more." },
            { "hang": true },
        ],
    ]);
    agents(&env, &[("sonnet", quick), ("opus", slow)]);
    let hub = DashboardHub::start(&env, "127.0.0.1:0", "sonnet,opus");
    let browser = hub.open_browser(&env);
    let empty = [
        ("hub-empty", format!("{}/", hub.origin), false),
        ("fleet-empty", format!("{}/fleet", hub.origin), false),
        ("stats-empty", format!("{}/stats", hub.origin), false),
    ];
    take(&browser, &empty);
    let task = |about: &str, agent: &str, check: &str, labels: &[&str]| {
        hub.submit(&json!({
            "description": about, "workspace": env.work_dir(), "agent": agent, "labels": labels,
            "max_verification_retries": 2,
            "verification_steps": [{ "type": "command", "target": check }],
        }))
    };
    let _workers = ["loom", "spindle"].map(|name| hub.worker(&env, name));
    let page = |id: &str| format!("{}/tasks/{id}", hub.origin);
    for about in [
        "Greet the world, in one line",
        "Count the threads of the whole cloth",
    ] {
        browser.open_url(&page(&task(about, "sonnet", "test -s greeting", &[])));
        browser.wait_for_text(".title .badge", "verified");
        // Otherwise the next task would find its work done.
        std::fs::remove_file(env.work_dir().join("greeting")).unwrap();
    }
    task(
        "Train the shuttle to find its way back",
        "opus",
        "true",
        &["gpu"],
    );
    let at_work = task(
        "Write the answer to everything",
        "opus",
        "grep -q 42 answer",
        &[],
    );
    browser.open_url(&page(&at_work));
    browser.wait_for_text("#live", "look once more");
    take(
        &browser,
        &[
            ("hub-tasks", format!("{}/", hub.origin), false),
            ("live", page(&at_work), true),
            ("fleet", format!("{}/fleet", hub.origin), false),
            ("worker", format!("{}/worker?name=loom", hub.origin), true),
            ("new", format!("{}/new?from={at_work}", hub.origin), false),
        ],
    );
}

//! Pictures of the pages, for people: into the folder that `SELVEDGE_UI_PICTURES` names, else beside
//! the tests' other leavings.

use std::path::PathBuf;

use crate::stage::{enter, populated, serve};

#[test]
fn pictures_are_taken_of_the_pages() {
    let folder = std::env::var_os("SELVEDGE_UI_PICTURES").map_or_else(
        || PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("pictures"),
        PathBuf::from,
    );
    std::fs::create_dir_all(&folder).unwrap();
    let env = populated();
    let ui = serve(&env);
    let browser = enter(&env, &ui);
    browser.resize(1280, 860, false);
    let keep = |name: &str, whole: bool| {
        let picture = browser.screenshot(whole);
        assert!(picture.starts_with(b"\x89PNG"), "{name}");
        std::fs::write(folder.join(format!("{name}.png")), picture).unwrap();
    };
    let of = |query: &str| {
        browser.go(&format!("{}/?q={query}", ui.origin));
        let link = browser.script("return document.querySelector('tr.row a.go').href", &[]);
        link.as_str().unwrap().to_owned()
    };
    let (rescued, review) = (of("friendly"), of("complete"));
    let pages = [
        ("tasks", format!("{}/", ui.origin)),
        ("task", rescued.clone()),
        ("diff", format!("{rescued}/attempts/2/diff")),
        ("output", format!("{rescued}/attempts/1/checks/1")),
        ("review", review),
        ("stats", format!("{}/stats", ui.origin)),
    ];
    for dark in [false, true] {
        browser.prefer_dark(dark);
        for (name, address) in &pages {
            browser.go(address);
            keep(
                &format!("{name}{}", if dark { "-dark" } else { "" }),
                *name == "task",
            );
        }
    }
    browser.prefer_dark(false);
    browser.resize(390, 844, true);
    for (name, address) in &pages {
        browser.go(address);
        keep(&format!("{name}-phone"), false);
    }
}

//! What `inspect` says of single changes, and that no bytes make it panic.

use super::*;

fn of(path: &str, before: Option<&str>, after: Option<&str>, task: &str) -> Vec<Finding> {
    let protection = Protection::new(&[], &[], task).unwrap();
    let change = ChangedFile {
        path,
        before: before.map(str::as_bytes),
        after: after.map(str::as_bytes),
    };
    inspect(&protection, &[change])
}

#[test]
fn smoke() {
    let f = of(
        "conftest.py",
        None,
        Some("def pytest_runtest_makereport(item, call):\n    pass\n"),
        "",
    );
    assert_eq!(f[0].action, Action::Remove, "{f:?}");
    let f = of(
        "package.json",
        Some("{\"scripts\":{\"test\":\"jest\"}}"),
        Some("{\"scripts\":{\"test\":\"jest || true\"},\"dependencies\":{}}"),
        "",
    );
    assert_eq!(f[0].action, Action::PutBack, "{f:?}");
    assert!(f[0].what.contains("scripts.test"));
}

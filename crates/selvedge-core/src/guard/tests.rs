//! Findings of `inspect` for single changes; no bytes make it panic.

use proptest::collection::vec;
use proptest::prelude::{any, proptest};
use proptest::sample::select;

use super::*;

fn findings(rules: &[Rule], path: &str, before: Option<&str>, after: Option<&str>) -> Vec<Finding> {
    let protection = Protection::new(rules, &[]).unwrap();
    let change = ChangedFile {
        path,
        before: before.map(str::as_bytes),
        after: after.map(str::as_bytes),
    };
    inspect(&protection, &[change], &[])
}

fn rule(glob: &str, policy: Policy) -> Rule {
    Rule {
        glob: glob.to_owned(),
        policy,
    }
}

#[test]
fn protection_follows_the_last_rule_that_fits() {
    let action = |rules: &[Rule], before, after| {
        let findings = findings(rules, "Sub/conftest.py", before, after);
        findings.first().map(|finding| finding.action)
    };
    let (some, other) = (Some("a = 1\n"), Some("a = 2\n"));
    let restore = [rule("conftest.py", Policy::Restore)];
    assert_eq!(action(&[], some, other), None);
    assert_eq!(action(&restore, None, other), Some(Action::Remove));
    assert_eq!(action(&restore, some, None), Some(Action::PutBack));
    assert_eq!(action(&restore, some, some), None);
    assert_eq!(
        action(&[rule("*.py", Policy::Fail)], some, other),
        Some(Action::Fail)
    );
    let allowed = [rule("*.py", Policy::Fail), rule("sub/**", Policy::Allow)];
    assert_eq!(action(&allowed, None, other), None);
}

#[test]
fn protection_yields_to_what_the_task_allows() {
    let protection = Protection::new(&[rule("*.py", Policy::Fail)], &["a.py".to_owned()]).unwrap();
    assert!(!protection.protects("x/a.py") && protection.protects("b.py"));
    let error = Protection::new(&[rule("a[", Policy::Restore)], &[]).unwrap_err();
    assert!(
        error.to_string().starts_with("`a[` is not a glob: "),
        "{error}"
    );
}

#[test]
fn inspect_flags_attacks_in_sources_alone() {
    let exit = Some("import os\n\n\ndef run():\n    os._exit(0)\n");
    let found = findings(&[], "lib/run.py", None, exit);
    assert_eq!(
        (found[0].kind, found[0].line),
        (FindingKind::EarlyExit, Some(5))
    );
    assert_eq!(found[0].strength, Strength::Strong);
    assert!(findings(&[], "tests/test_run.py", None, exit).is_empty());
    let class = Some("class NotThere(Exception):\n    pass\n");
    assert!(findings(&[], "lib/errors.py", None, class).is_empty());
}

#[test]
fn inspect_weighs_suppressions_by_what_was_reported() {
    let protection = Protection::new(&[], &[]).unwrap();
    let strength = |before: &str, after: &str| {
        let change = ChangedFile {
            path: "lib/a.py",
            before: Some(before.as_bytes()),
            after: Some(after.as_bytes()),
        };
        let reported = KnownDiagnostic {
            file: "./lib/a.py".to_owned(),
            line: 2,
        };
        let found = inspect(&protection, &[change], &[reported]);
        found.first().map(|finding| finding.strength)
    };
    let before = "import os\nx: int = name()\ny = 1\n";
    let suppressed = before.replace("name()", "name()  # type: ignore");
    assert_eq!(strength(before, &suppressed), Some(Strength::Strong));
    let elsewhere = before.replace("y = 1", "y = 2  # noqa");
    assert_eq!(strength(before, &elsewhere), Some(Strength::Weak));
    let whole = format!("# mypy: ignore-errors\n{before}");
    assert_eq!(strength(before, &whole), Some(Strength::Strong));
    let hidden = before.replace("x: int", "x: Any");
    assert_eq!(strength(before, &hidden), Some(Strength::Strong));
    assert_eq!(strength(before, &before.replace("name()", "1")), None);
}

proptest! {
    #[test]
    fn inspect_takes_any_bytes(
        before in vec(any::<u8>(), 0..300),
        after in "(\\PC|\n|[\"'`#/*{}()]){0,200}",
        path in select(vec!["a.py", "a.ts", "a.rs", "a.go", "a.rb", "a.php", "a.java", "a.exs", "a.sh"]),
    ) {
        let change = ChangedFile { path, before: Some(&before), after: Some(after.as_bytes()) };
        for finding in inspect(&Protection::new(&[], &[]).unwrap(), &[change], &[]) {
            assert_eq!(finding.path, path);
        }
    }
}

//! What `inspect` says of single changes, and that no bytes make it panic. The corpus under
//! `tests/trust` holds the rest.

use proptest::collection::{btree_map, vec};
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use proptest::sample::select;

use super::*;

/// One file of every kind that is compared or read.
const PATHS: [&str; 34] = [
    "conftest.py",
    "pytest.ini",
    "pyproject.toml",
    "Cargo.toml",
    ".cargo/config.toml",
    "clippy.toml",
    "package.json",
    "tsconfig.json",
    ".eslintrc.json",
    "jest.config.js",
    ".github/workflows/a.yml",
    "Makefile",
    "justfile",
    "pom.xml",
    "build.gradle",
    "mix.exs",
    "spec_helper.rb",
    ".npmrc",
    ".gitattributes",
    "selvedge.toml",
    "Cargo.lock",
    "test_a.py",
    "a.py",
    "a.test.ts",
    "src/a.js",
    "src/lib.rs",
    "tests/a.rs",
    "a_test.go",
    "a.go",
    "check.sh",
    "a_spec.rb",
    "ATest.php",
    "a_test.exs",
    "ATest.java",
];

fn of_user(user: &[Rule], path: &str, before: Option<&str>, after: Option<&str>) -> Vec<Finding> {
    let protection = Protection::new(user, &[], "Fix it.").unwrap();
    let change = ChangedFile {
        path,
        before: before.map(str::as_bytes),
        after: after.map(str::as_bytes),
    };
    inspect(&protection, &[change])
}

fn rule(glob: &str, policy: Policy) -> Rule {
    Rule {
        glob: glob.to_owned(),
        policy,
    }
}

#[test]
fn a_policy_says_what_becomes_of_a_file() {
    let hook = Some("def pytest_runtest_call(item):\n    item.obj = None\n");
    let action = |user: &[Rule], before, after| {
        let findings = of_user(user, "sub/conftest.py", before, after);
        findings
            .iter()
            .map(|finding| finding.action)
            .collect::<Vec<_>>()
    };
    assert_eq!(action(&[], None, hook), [Action::Remove]);
    assert_eq!(action(&[], Some(""), hook), [Action::PutBack]);
    assert_eq!(
        action(&[rule("conftest.py", Policy::Fail)], None, hook),
        [Action::Fail]
    );
    let allowed = [rule("*.py", Policy::Fail), rule("sub/**", Policy::Allow)];
    assert_eq!(action(&allowed, None, hook), []);
    assert_eq!(
        action(&[rule("/sub/", Policy::Restore)], hook, None),
        [Action::PutBack]
    );
}

#[test]
fn the_users_own_globs_protect_every_byte() {
    let user = [rule("tests/golden/**", Policy::Restore)];
    let findings = of_user(&user, "Tests/golden/a/b.bin", Some("1"), Some("2"));
    assert_eq!(findings[0].action, Action::PutBack);
    assert!(of_user(&user, "tests/other.bin", Some("1"), Some("2")).is_empty());
    assert!(of_user(&user, "tests/golden/a", Some("1"), Some("1")).is_empty());
}

#[test]
fn a_finding_says_what_where_and_why() {
    let before = Some("{\"scripts\": {\"test\": \"jest\"}}");
    let after = Some("{\"scripts\": {\"test\": \"jest || true\"}, \"dependencies\": {}}");
    let findings = of_user(&[], "package.json", before, after);
    assert_eq!(
        findings[0].what,
        "`scripts.test` is `jest || true` instead of `jest`; put back: checks run with the \
         configuration of the start"
    );
    let source = "import os\n\n\ndef test_a():\n    os._exit(0)\n";
    let findings = of_user(&[], "test_a.py", None, Some(source));
    let line = findings
        .iter()
        .find(|finding| finding.kind == FindingKind::EarlyExit);
    assert_eq!(line.unwrap().line, Some(5));
}

#[test]
fn a_bad_glob_is_named() {
    let error = Protection::new(&[rule("a[", Policy::Restore)], &[], "").unwrap_err();
    assert!(
        error.to_string().starts_with("`a[` is no glob: "),
        "{error}"
    );
}

#[test]
fn only_what_matters_is_wanted() {
    let protection = Protection::new(&[rule("data/*.csv", Policy::Fail)], &[], "").unwrap();
    for path in [
        "data/a.csv",
        "a/CONFTEST.py",
        "src/a.rs",
        "x/__snapshots__/a.snap",
        "Cargo.lock",
    ] {
        assert!(protection.wants(path), "{path}");
    }
    for path in [
        "a.png",
        "data/b/a.csv",
        "node_modules/x/index.js",
        "a/__pycache__/b.pyc",
        "README.md",
    ] {
        assert!(!protection.wants(path), "{path}");
    }
    assert!(protection.protects("conftest.py") && !protection.protects("Cargo.lock"));
}

/// Bytes, and pieces that the readers take seriously.
fn content() -> impl Strategy<Value = Option<Vec<u8>>> {
    let piece = select(vec![
        "\"",
        "'''",
        "\"\"\"",
        "`",
        "/*",
        "*/",
        "#",
        "//",
        "r#\"",
        "\\",
        "\n",
        "\r\n",
        "\t",
        " ",
        "[",
        "{",
        "]",
        "}",
        "(",
        "<a>",
        "</a>",
        "<plugin>",
        "=",
        ":",
        ",",
        "é",
        "\u{0}",
        "def test_a():",
        "assert x",
        "#[test]",
        "fn a() {",
        "it('a', () => {",
        "expect(1).toBe(1)",
        "[tool.pytest.ini_options]",
        "addopts",
        "- run: x || true",
        "@pytest.mark.skip",
        "except:",
        "pass",
        "scripts",
        "$(shell x)",
    ]);
    let pieces = vec(piece, 0..60).prop_map(|pieces| pieces.concat().into_bytes());
    prop_oneof![
        1 => Just(None),
        4 => pieces.prop_map(Some),
        1 => vec(any::<u8>(), 0..200).prop_map(Some),
    ]
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(
        files in btree_map(select(PATHS.as_slice()), (content(), content()), 0..4),
        task in "[a-zA-Z ./'\\-é!]{0,80}",
    ) {
        let protection = Protection::new(&[], &[], &task).unwrap();
        let changes: Vec<ChangedFile<'_>> = files
            .iter()
            .map(|(path, (before, after))| ChangedFile {
                path,
                before: before.as_deref(),
                after: after.as_deref(),
            })
            .collect();
        for finding in inspect(&protection, &changes) {
            let flagged = finding.strength != Strength::Offence;
            assert_eq!(flagged, finding.action == Action::Flag);
            let change = changes.iter().find(|change| change.path == finding.path).unwrap();
            let lines = change.after.map_or(0, |after| String::from_utf8_lossy(after).lines().count());
            assert!(finding.line.is_none_or(|line| line >= 1 && line as usize <= lines));
        }
    }
}

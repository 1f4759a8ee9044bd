//! Tests of reports that a hostile or faulty runner leaves.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use super::*;
use crate::checks::{runners, to_argv};

/// A runner from which a report was requested, with the folder and the arguments of the request.
struct ReportFixture {
    root: TempDir,
    awaited: ExpectedReport,
    argv: Vec<String>,
}

fn stage(line: &str) -> ReportFixture {
    let root = tempfile::tempdir().unwrap();
    let argv = to_argv(line);
    let call = runners::find_reporting_runner(&argv).unwrap();
    let expected = ExpectedReport::prepare(call, root.path(), directory(root.path())).unwrap();
    let argv = expected.argv(&argv);
    ReportFixture {
        root,
        awaited: expected,
        argv,
    }
}

impl ReportFixture {
    /// Returns the path that the runner should write to.
    fn report(&self) -> PathBuf {
        let path = self
            .argv
            .iter()
            .find_map(|word| word.strip_prefix("--junitxml="));
        PathBuf::from(path.unwrap())
    }
}

const PASSED: &str = r#"<?xml version="1.0"?><testsuites><testsuite name="pytest" tests="1">
<testcase classname="t" name="a" file="t.py"/></testsuite></testsuites>"#;

fn pytest(write: impl FnOnce(&PathBuf, &TempDir)) -> ParsedReport {
    let stage = stage("pytest");
    write(&stage.report(), &stage.root);
    stage.awaited.read(None)
}

fn why(report: ParsedReport) -> String {
    match report {
        ParsedReport::Unreadable(why) => why,
        other => panic!("{other:?}"),
    }
}

fn directory(path: &Path) -> CheckDirectory {
    CheckDirectory {
        sandbox_path: path.to_owned(),
        host_path: path.to_owned(),
    }
}

#[test]
fn report_complete_has_tests() {
    let ParsedReport::Complete(tests) = pytest(|report, _| fs::write(report, PASSED).unwrap())
    else {
        panic!("a whole report");
    };
    assert_eq!((tests.executed, tests.failed), (1, 0));
    assert_eq!(tests.passed_ids.ids, ["t.py::a"]);
}

#[test]
fn report_incomplete_is_rejected() {
    assert_eq!(pytest(|_, _| {}), ParsedReport::Missing);
    let written = |text: &'static str| why(pytest(|report, _| fs::write(report, text).unwrap()));
    assert_eq!(written(""), "is empty");
    assert_eq!(written(&PASSED[..PASSED.len() - 20]), "is incomplete");
    assert!(written("PASS PASS PASS").contains("unknown format"));

    let linked = pytest(|report, root| {
        let elsewhere = root.path().join("elsewhere");
        fs::write(&elsewhere, PASSED).unwrap();
        symlink(elsewhere, report).unwrap();
    });
    assert!(why(linked).contains("cannot be read"));
    let folder = pytest(|report, _| fs::create_dir(report).unwrap());
    assert!(why(folder).contains("cannot be read"));
    let pipe = pytest(|report, _| {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        mknodat(CWD, report, FileType::Fifo, Mode::RWXU, 0).unwrap();
    });
    assert!(why(pipe).contains("cannot be read"));
}

#[test]
fn report_replaced_folder_is_rejected() {
    let parsed = pytest(|report, root| {
        let folder = report.parent().unwrap();
        fs::rename(folder, root.path().join("away")).unwrap();
        fs::create_dir(folder).unwrap();
        fs::write(report, PASSED).unwrap();
    });
    assert_eq!(parsed, ParsedReport::Missing);
}

#[test]
fn report_passing_canary_is_rejected() {
    let parse = |outcomes: &'static str| {
        pytest(|report, _| {
            fs::write(report, PASSED).unwrap();
            fs::write(report.with_file_name("canary"), outcomes).unwrap();
        })
    };
    assert!(why(parse("failed\npassed\n")).contains("must fail, so"));
    assert!(why(parse("failed\npassed expect.toBe\n")).contains("must fail (expect.toBe), so"));
    assert!(matches!(parse("failed\n"), ParsedReport::Complete(_)));
    assert!(matches!(parse(""), ParsedReport::Complete(_)));
}

#[test]
fn report_of_each_wrapped_runner() {
    let parse = |files: &[(&str, &str)]| {
        let root = tempfile::tempdir().unwrap();
        let call = runners::wrapper_invocation(&to_argv("make test")).unwrap();
        let expected = ExpectedReport::prepare(call, root.path(), directory(root.path())).unwrap();
        for (name, text) in files {
            fs::write(expected.folder().join(name), text).unwrap();
        }
        expected.read(None)
    };
    assert_eq!(parse(&[]), ParsedReport::NotExpected);
    assert_eq!(
        parse(&[("report-pytest-1", PASSED)]),
        ParsedReport::NotExpected
    );
    let missing = [
        ("started-pytest-1", ""),
        ("started-jest-2", ""),
        ("report-pytest-1", PASSED),
    ];
    assert_eq!(
        why(parse(&missing)),
        "is missing: jest was started but did not write one"
    );
    let both = [
        ("started-pytest-1", ""),
        ("report-pytest-1", PASSED),
        ("started-rspec-2", ""),
        ("report-rspec-2", &class("Cart")),
        ("canary", "failed\n"),
    ];
    let ParsedReport::Complete(tests) = parse(&both) else {
        panic!("whole reports");
    };
    assert_eq!(tests.passed_ids.ids, ["t.py::a", "Cart.adds"]);
    let empty = r#"<testsuites><testsuite name="pytest" tests="0"></testsuite></testsuites>"#;
    let none = [("started-pytest-1", ""), ("report-pytest-1", empty)];
    assert_eq!(parse(&none), ParsedReport::NotExpected);
    assert!(why(parse(&[("canary", "passed assert.equal\n")])).contains("(assert.equal)"));
}

#[test]
fn report_size_is_limited() {
    let mut remaining_bytes = 1 << 20;
    let report = parse_report(io::repeat(b' '), &mut remaining_bytes);
    assert!(why(report).contains("more than"));
}

#[test]
fn report_folder_is_private_and_removed() {
    use std::os::unix::fs::PermissionsExt;
    let stage = stage("mocha");
    let folder = stage.awaited.folder.path().to_owned();
    assert_eq!(
        fs::metadata(&folder).unwrap().permissions().mode() & 0o777,
        0o700
    );
    let aid = fs::read_to_string(folder.join("mocha.cjs")).unwrap();
    assert!(aid.contains(&format!("listen(runner, \"{}/report\")", folder.display())));
    drop(stage.awaited);
    assert!(!folder.exists());
}

fn class(name: &str) -> String {
    format!(
        r#"<testsuite name="{name}" tests="1"><testcase classname="{name}" name="adds"/></testsuite>"#
    )
}

#[test]
fn report_in_project_must_be_new() {
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("a/target/surefire-reports/TEST-Old.xml", &class("Old"));
    write("b/target/surefire-reports/TEST-Again.xml", "");
    let call = runners::find_reporting_runner(&to_argv("mvn test")).unwrap();
    let private = tempfile::tempdir().unwrap();
    let expected = ExpectedReport::prepare(call, private.path(), directory(root.path())).unwrap();
    write("b/target/surefire-reports/TEST-Again.xml", &class("Again"));
    write("a/target/failsafe-reports/TEST-New.xml", &class("New"));
    write("a/target/surefire-reports/notes.xml", "");
    write("TEST-Elsewhere.xml", &class("Elsewhere"));
    let ParsedReport::Complete(tests) = expected.read(None) else {
        panic!("whole reports");
    };
    assert_eq!(tests.passed_ids.ids, ["New.adds", "Again.adds"]);
}

#[test]
fn report_of_gradle_ignores_old_files() {
    let root = tempfile::tempdir().unwrap();
    let old = root.path().join("build/test-results/test/TEST-Old.xml");
    fs::create_dir_all(old.parent().unwrap()).unwrap();
    fs::write(&old, class("Old")).unwrap();
    let call = runners::find_reporting_runner(&to_argv("gradle test")).unwrap();
    let private = tempfile::tempdir().unwrap();
    let expected = ExpectedReport::prepare(call, private.path(), directory(root.path())).unwrap();
    assert!(!old.exists());
    assert_eq!(expected.read(None), ParsedReport::NotExpected);
}

fn results(test: &str, outcome: &str) -> String {
    format!(
        r#"<TestRun id="1"><Results><UnitTestResult testId="1" testName="{test}" outcome="{outcome}"/>
        </Results><ResultSummary outcome="Completed"/></TestRun>"#
    )
}

#[test]
fn report_of_several_projects() {
    let stage = stage("dotnet test");
    let folder = stage.awaited.folder.path().to_owned();
    assert_eq!(stage.awaited.read(None), ParsedReport::NotExpected);
    fs::write(folder.join("dev_box_1.trx"), results("Shop.Adds", "Passed")).unwrap();
    fs::write(folder.join("dev_box_2.trx"), results("Tax.Adds", "Passed")).unwrap();
    fs::write(folder.join("coverage.xml"), "<coverage/>").unwrap();
    let ParsedReport::Complete(tests) = stage.awaited.read(None) else {
        panic!("whole reports");
    };
    assert_eq!(tests.passed_ids.ids, ["Shop.Adds", "Tax.Adds"]);
    fs::write(folder.join("dev_box_3.trx"), "<TestRun id=\"1\">").unwrap();
    assert_eq!(why(stage.awaited.read(None)), "is incomplete");
}

#[test]
fn report_ids_are_relative_to_project() {
    let stage = stage("mocha");
    let report = stage.awaited.folder.path().join(REPORT_FILE);
    let file = stage.root.path().join("test/shop.js");
    let text = format!(
        r#"{{"stats": {{"suites": 0}}, "passes": [{{"fullTitle": "adds", "file": "{}"}}],
        "pending": [], "failures": []}}"#,
        file.display()
    );
    fs::write(report, text).unwrap();
    let ParsedReport::Complete(tests) = stage.awaited.read(None) else {
        panic!("a whole report");
    };
    assert_eq!(tests.passed_ids.ids, ["test/shop.js > adds"]);
}

/// Pytest finds its settings in a folder above the project, and names tests from there.
#[test]
fn report_ids_from_a_folder_above_are_relative_to_project() {
    let stage = stage("pytest");
    let project = stage.root.path();
    let name = project.file_name().unwrap().to_str().unwrap();
    fs::create_dir_all(project.join(name)).unwrap();
    for file in ["test_a.py", &format!("{name}/test_b.py")] {
        fs::write(project.join(file), "").unwrap();
    }
    let case = |file: &str| format!(r#"<testcase classname="t" name="a" file="{file}"/>"#);
    let cases = [
        case(&format!("{name}/test_a.py")),
        case(&format!("{name}/test_b.py")),
        case(&format!("{name}/gone.py")),
    ];
    let report = PASSED.replace(&case("t.py"), &cases.concat());
    fs::write(stage.report(), report.replace("tests=\"1\"", "tests=\"3\"")).unwrap();
    let ParsedReport::Complete(tests) = stage.awaited.read(None) else {
        panic!("a whole report");
    };
    let expected = [
        "test_a.py::a".to_owned(),
        format!("{name}/test_b.py::a"),
        format!("{name}/gone.py::a"),
    ];
    let mut expected = expected.to_vec();
    expected.sort();
    let mut found = tests.passed_ids.ids.clone();
    found.sort();
    assert_eq!(found, expected);
}

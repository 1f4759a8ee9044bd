//! The recorded outputs under `fixtures/`, and a compact form of what was read from them.

use std::fmt::Write;
use std::path::Path;

use selvedge_digest::{Analysis, CommandStatus, DigestBudget, Hints, TestIds, analyse};

/// The bytes of a recorded log.
#[allow(clippy::disallowed_methods, reason = "a test reads its fixtures")]
pub(crate) fn log(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/fixtures")
        .join(name);
    std::fs::read(path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The names of all recorded logs.
#[allow(clippy::disallowed_methods, reason = "a test reads its fixtures")]
pub(crate) fn names() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures");
    let files = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| Path::new(name).extension() == Some("log".as_ref()))
        .collect();
    names.sort();
    names
}

/// Analyses a recorded log.
pub(crate) fn read(name: &str, exit: i32) -> Analysis {
    analyse(&log(name), Hints::default(), CommandStatus::Code(exit))
}

/// The records and the digest of a recorded log.
pub(crate) fn records_and_digest(name: &str, exit: i32) -> String {
    let analysis = read(&format!("{name}.log"), exit);
    // A budget below the size of the log, so that the log is not shown whole.
    let digest = analysis.render(DigestBudget::tokens(220)).text;
    format!("{}\n--- digest\n{digest}", table(&analysis))
}

/// A snapshot test for each recording: its name, and the exit code of the tool.
macro_rules! recorded {
    ($($name:ident => $exit:literal,)*) => { $(
        #[test]
        fn $name() {
            let name = stringify!($name);
            let actual = crate::recorded::records_and_digest(name, $exit);
            insta::assert_snapshot!(name, actual);
        }
    )* };
}
pub(crate) use recorded;

/// One line per failure, then the tests: the form that the assertions of the format tests use.
pub(crate) fn table(analysis: &Analysis) -> String {
    let mut out = String::new();
    for failure in &analysis.failures {
        let kind = failure.kind.as_str();
        let tool = failure.tool.as_deref().unwrap_or("-");
        let id = failure.id.as_deref().unwrap_or("-");
        let file = failure.file.as_deref().unwrap_or("-");
        let line = failure.line.map_or("-".to_owned(), |line| line.to_string());
        let code = failure.code.as_deref().unwrap_or("-");
        let summary = &failure.summary;
        writeln!(
            out,
            "{kind} {tool} | {id} | {file}:{line} | {code} | {summary}"
        )
        .unwrap();
    }
    if let Some(tests) = &analysis.tests {
        let (executed, passed, failed, skipped) =
            (tests.executed, tests.passed, tests.failed, tests.skipped);
        let complete = if tests.complete {
            "complete"
        } else {
            "incomplete"
        };
        writeln!(
            out,
            "{executed} executed: {passed} passed, {failed} failed, {skipped} skipped, {complete}"
        )
        .unwrap();
        for (name, ids) in [
            ("passed", &tests.passed_ids),
            ("failed", &tests.failed_ids),
            ("skipped", &tests.skipped_ids),
        ] {
            list(&mut out, name, ids);
        }
    }
    out
}

fn list(out: &mut String, name: &str, ids: &TestIds) {
    for id in &ids.ids {
        writeln!(out, "  {name}: {id}").unwrap();
    }
}

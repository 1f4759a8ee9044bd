//! go test, go build and go vet.
//!
//! A failed test is headed by `--- FAIL: TestX (0.00s)`; its messages follow, indented. With `-v`
//! they come before, under `=== RUN   TestX`. A panic takes the whole package down.

use std::borrow::Cow;

use super::prelude::*;

const TOOL: &str = "go test";
/// How many lines of a running test's output are remembered until its result is known.
const REMEMBERED: usize = 24;
/// Maximum number of remembered lines of all running tests.
const REMEMBERED_OF_ALL: usize = 400;

/// A line that a running test printed.
#[derive(Debug)]
struct TestOutputLine {
    test: String,
    number: u64,
    text: String,
}

/// Reads go's text.
#[derive(Debug, Default)]
pub(super) struct GoTestParser {
    /// The package of all lines, if known.
    package: String,
    draft: Option<FailureBuilder>,
    panicking: bool,
    /// Output of tests with `-v`, each with its test, until their results are known.
    remembered: Vec<TestOutputLine>,
    /// The test that is running, with `-v`.
    running: String,
    verbose: bool,
    /// Under `# package`, compile errors follow.
    building: bool,
    /// The test that failed last.
    failed: String,
    /// A test of this package failed, or it panicked.
    has_failure: bool,
    /// Where Go's own source is, as the frames of a trace show.
    goroot: Option<String>,
}

static RESULT: LinePattern = LinePattern::new(
    r"^ *--- (?P<outcome>PASS|FAIL|SKIP|BENCH): (?P<id>\S.*?)(?: \([\d.]+m?s\))?$",
);
static MESSAGE: LinePattern =
    LinePattern::new(r"^ +(?P<file>[\w./-]+\.go):(?P<line>\d+): ?(?P<message>.*)$");
static FRAME: LinePattern =
    LinePattern::new(r"^\t(?P<file>\S+\.go):(?P<line>\d+)(?: \+0x[0-9a-f]+)?$");
static COMPILE: LinePattern = LinePattern::new(
    r"^(?:vet: |\t)?(?P<file>[\w./@+-]+\.go):(?P<line>\d+)(?::(?P<column>\d+))?: (?P<message>.+)$",
);

impl FormatParser for GoTestParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        if line.body().starts_with("--- ")
            && let Some(result) = RESULT.captures(text)
        {
            self.building = false;
            self.record_result(&result["outcome"], &result["id"], line, findings);
            return if &result["outcome"] == "FAIL" {
                LineClaim::Evidence
            } else {
                LineClaim::Suppress
            };
        }
        if let Some(frame) = text.strip_prefix("=== ") {
            self.close(findings);
            self.verbose |= frame.starts_with("RUN");
            frame
                .split_once(' ')
                .map_or("", |(_, test)| test.trim_start())
                .clone_into(&mut self.running);
            return LineClaim::Suppress;
        }
        if text == "testing: warning: no tests to run" {
            return LineClaim::Ignore;
        }
        if let Some(claim) = self.parse_package_line(line, findings) {
            return claim;
        }
        if self.building
            && let Some(error) = COMPILE.captures(text)
        {
            let draft = FailureBuilder::captured(FailureKind::Compile, "go", &error, line);
            findings.add_tool("go");
            findings.add(draft.build());
            return LineClaim::Evidence;
        }
        if text.starts_with("panic: ") || text.starts_with("fatal error: ") {
            return self.start_panic(line, findings);
        }
        self.parse_output(line)
    }

    fn is_open(&self) -> bool {
        self.draft.is_some() || self.building || self.verbose
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl GoTestParser {
    /// Sets the test of the following output, as named by a machine-readable report. The previous test's
    /// output is complete, except for its subtests.
    pub(super) fn set_running_test(&mut self, test: &str, findings: &mut Findings) {
        let read = self
            .draft
            .as_ref()
            .and_then(|draft| draft.failure.id.as_deref());
        let other = read.is_some_and(|id| id != test && !is_subtest(test, id));
        if other {
            self.close(findings);
        }
        test.clone_into(&mut self.running);
    }

    /// Reads the text of one package.
    pub(super) fn for_package(package: &str) -> Self {
        Self {
            package: package.to_owned(),
            ..Self::default()
        }
    }

    fn record_result(
        &mut self,
        outcome: &str,
        id: &str,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) {
        findings.add_tool(TOOL);
        let draft = self.draft.take();
        // A test that failed because of its subtest is reported by the subtest.
        let child = |draft: &FailureBuilder| {
            let parent = draft.failure.id.as_deref().unwrap_or_default();
            draft.failure.message.is_none() && is_subtest(id, parent)
        };
        match draft {
            Some(draft) if child(&draft) => self.draft = (outcome != "FAIL").then_some(draft),
            Some(draft) => findings.add(draft.build()),
            None => {}
        }
        self.panicking = false;
        self.has_failure |= outcome == "FAIL";
        if self.running == id {
            self.running.clear();
        }
        let (output, others) = std::mem::take(&mut self.remembered)
            .into_iter()
            .partition::<Vec<_>, _>(|it| it.test == id);
        self.remembered = others;
        // Tests of other packages may have the same name.
        let within_all: Cow<'_, str> = match self.package.as_str() {
            "" => id.into(),
            package => format!("{package}.{id}").into(),
        };
        let mut record = |outcome| findings.record_test(TOOL, outcome, &within_all);
        match outcome {
            "PASS" => record(TestOutcome::Passed),
            "SKIP" => record(TestOutcome::Skipped),
            "FAIL" => {
                record(TestOutcome::Failed);
                // The other order: the subtest was reported first.
                if output.is_empty() && is_subtest(&self.failed, id) {
                    return;
                }
                id.clone_into(&mut self.failed);
                let mut draft = FailureBuilder::test(TOOL, id, line);
                for line in output {
                    append_message(&mut draft, &line.text);
                    findings.mark_reported(line.number..=line.number);
                }
                self.draft = Some(draft);
            }
            _ => {}
        }
    }

    /// `ok`, `FAIL` and `?` lines close a package, `# package` heads the errors of its build.
    fn parse_package_line(
        &mut self,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) -> Option<LineClaim> {
        let text = line.text;
        let closes =
            text.starts_with("ok  \t") || text.starts_with("FAIL\t") || text.starts_with("?   \t");
        if closes {
            self.close(findings);
            self.building = false;
            self.remembered.clear();
            // A package whose tests were reported one by one does not count as a test.
            let was_verbose = std::mem::take(&mut self.verbose);
            findings.add_tool(TOOL);
            let mut fields = text.split('\t').skip(1);
            let (package, rest) = (
                fields.next().unwrap_or_default(),
                fields.next().unwrap_or_default(),
            );
            let broken = ["[build failed]", "[setup failed]"]
                .iter()
                .any(|end| text.ends_with(end));
            let whole =
                std::mem::take(&mut self.has_failure) || broken || !text.starts_with("FAIL");
            if !whole {
                self.record_early_exit(package, line, findings);
            }
            if !broken {
                let ran = !rest.contains("[no test") && !text.contains("[no tests to run]");
                if ran && !was_verbose && text.starts_with("ok") {
                    findings.record_test(TOOL, TestOutcome::Passed, package);
                }
                if ran && !was_verbose {
                    findings.runs.mark_package_only();
                }
                let mode = match (was_verbose, self.package.is_empty()) {
                    (_, false) => "report",
                    (true, true) => "verbose",
                    (false, true) => "packages",
                };
                if ran {
                    findings.runs.set_mode(TOOL, mode);
                }
                findings.runs.close_as_seen(TOOL);
            }
            return Some(LineClaim::Ignore);
        }
        if text == "FAIL" || text == "PASS" {
            self.close(findings);
            return findings.has_tool(TOOL).then_some(LineClaim::Ignore);
        }
        if text.strip_prefix("# ").is_some_and(is_package) {
            self.close(findings);
            self.building = true;
            return Some(LineClaim::Ignore);
        }
        if self.draft.is_none() && !self.verbose && text.strip_prefix("# ").is_some_and(is_word) {
            // Any tool may print such a heading: only errors below it show that it names a package.
            self.building = true;
            return Some(LineClaim::NotMine);
        }
        if self.building && !text.starts_with(['\t', ' ']) && !COMPILE.is_match(text) {
            self.building = text.starts_with("package ") || text.starts_with("note: ");
        }
        None
    }

    /// Records a package that failed without a failed test: the program ended early.
    fn record_early_exit(&mut self, package: &str, line: &CleanLine<'_>, findings: &mut Findings) {
        let running = std::mem::take(&mut self.running);
        let id = if running.is_empty() {
            package
        } else {
            &running
        };
        let mut draft = FailureBuilder::test(TOOL, id, line);
        draft.push_message("the package ended before its tests did");
        draft.push_excerpt(line);
        findings.add_test(draft);
    }

    fn start_panic(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        findings.add_tool(TOOL);
        let draft = self
            .draft
            .get_or_insert_with(|| FailureBuilder::new(FailureKind::Runtime, "go", line));
        draft.push_message(line.text);
        draft.push_excerpt(line);
        self.panicking = true;
        self.has_failure = true;
        LineClaim::Evidence
    }

    fn parse_output(&mut self, line: &CleanLine<'_>) -> LineClaim {
        let Some(draft) = &mut self.draft else {
            if !self.verbose {
                return LineClaim::NotMine;
            }
            self.remember(line);
            return if MESSAGE.is_match(line.text) {
                LineClaim::Evidence
            } else {
                LineClaim::NotMine
            };
        };
        if self.panicking {
            let Some(frame) = FRAME.captures(line.text) else {
                draft.skip_line(line);
                return LineClaim::Evidence;
            };
            let file = &frame["file"];
            if let Some(root) = goroot_of(file) {
                self.goroot = Some(root.to_owned());
            }
            let goroot = self.goroot.as_deref();
            // A frame of the standard library may come before the frames that show where it is.
            if draft
                .failure
                .file
                .as_deref()
                .is_some_and(|known| is_library(known, goroot))
            {
                (draft.failure.file, draft.failure.line) = (None, None);
            }
            if is_library(file, goroot) {
                draft.skip_line(line);
            } else {
                draft.locate(&frame);
                draft.push_excerpt(line);
            }
            return LineClaim::Evidence;
        }
        if line.indent() == 0 && !line.is_blank() && !self.verbose {
            // Output of the program under test, printed between the results.
            draft.push_excerpt(line);
            return LineClaim::NotMine;
        }
        append_message(draft, line.text);
        draft.skip_line(line);
        LineClaim::Evidence
    }

    /// Remembers output of the running test.
    fn remember(&mut self, line: &CleanLine<'_>) {
        let own = |it: &&TestOutputLine| it.test == self.running;
        if self.remembered.iter().filter(own).count() < REMEMBERED
            && self.remembered.len() < REMEMBERED_OF_ALL
        {
            self.remembered.push(TestOutputLine {
                test: self.running.clone(),
                number: line.number,
                text: line.text.to_owned(),
            });
        }
    }

    fn close(&mut self, findings: &mut Findings) {
        self.panicking = false;
        findings.add_draft(&mut self.draft);
    }
}

/// Go's installation folder, if the file is part of its runtime or of its package `testing`, which are in every trace.
fn goroot_of(file: &str) -> Option<&str> {
    [
        "/src/testing/testing.go",
        "/src/runtime/panic.go",
        "/src/runtime/proc.go",
    ]
    .iter()
    .find_map(|end| file.strip_suffix(end))
}

/// Whether a frame is in Go's own source or in a module that was downloaded.
fn is_library(file: &str, goroot: Option<&str>) -> bool {
    let in_goroot = |root: &str| {
        file.strip_prefix(root)
            .is_some_and(|rest| rest.starts_with("/src/"))
    };
    goroot.is_some_and(in_goroot)
        || file.starts_with("/usr/local/go/src/")
        || ["/pkg/mod/", "/vendor/"]
            .iter()
            .any(|part| file.contains(part))
}

/// Whether a test is a subtest of another one: `TestTable/even` of `TestTable`.
fn is_subtest(id: &str, whole: &str) -> bool {
    id.strip_prefix(whole)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// `example.com/shop/cart`, or `example.com/shop/cart [example.com/shop/cart.test]`, or `shop [shop.test]`.
fn is_package(text: &str) -> bool {
    let (path, test) = text.split_once(' ').unwrap_or((text, "["));
    let is_import = path.contains(['/', '.']) && !path.contains(':') && !path.starts_with('/');
    let is_path = is_import && test.starts_with('[');
    is_path || is_word(path) && test.starts_with('[') && test.ends_with(".test]")
}

/// The path of a module of one word: `shop`, `command-line-arguments`.
fn is_word(path: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '~');
    !path.is_empty() && path.chars().all(is_part)
}

fn append_message(draft: &mut FailureBuilder, text: &str) {
    if let Some(message) = MESSAGE.captures(text) {
        draft.locate(&message);
        draft.push_message(&message["message"]);
    } else {
        draft.push_message(text.trim());
    }
}

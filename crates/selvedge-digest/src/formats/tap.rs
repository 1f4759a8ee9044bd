//! The Test Anything Protocol, as node:test, tape, Perl's and many others' runners write it.

use super::location::{is_foreign, parse_colon_frame};
use super::node_error::{NodeError, NodeErrorReader};
use super::prelude::*;
use super::prove;
use super::tap_comment::{apply_comment, is_total, parse_description};
use crate::findings::TestRuns;
use crate::record::FailureSource;

const TOOL: &str = "tap";
/// How deep groups may be nested.
const GROUPS: usize = 64;

/// How many failures are held back until a plan shows that the output is TAP.
const EARLY: usize = 100;

/// Reads TAP, versions 12 to 14.
#[derive(Debug, Default)]
pub(super) struct TapParser {
    draft: Option<FailureBuilder>,
    yaml: TapYamlState,
    /// The groups that are open, written with braces, and their indentations.
    groups: Vec<(usize, String)>,
    /// The entry that the lines of the current block belong to.
    block: TapYamlEntry,
    begun: bool,
    /// A version or a plan was read. Without one the output is not known to be TAP.
    has_plan: bool,
    /// A version was read, so comments are titles of tests. Perl's tools write none, and explain failures in comments.
    has_version: bool,
    /// The current test, if its runner writes a title before the results of its assertions, as tape does.
    titled: Option<TitledTest>,
    /// Results that were read before a version or a plan.
    early: TestRuns,
    /// Failures of tests without numbers.
    early_failures: Vec<FailureBuilder>,
    count: TapCount,
    /// The test points have numbers, so a bare `ok` belongs to another tool.
    numbered: bool,
    /// The tests that are open, each announced by its name, from the outermost to the innermost.
    subtests: Vec<Subtest>,
    /// The draft is the result of a test whose failed assertions were read.
    is_consequence: bool,
    /// The draft's test is recorded when its own result is read.
    is_recorded: bool,
    error: NodeErrorReader,
    /// What explains the draft, if it is a file that could not be loaded.
    load_error: Option<NodeError>,
}

/// A test that a comment announces before its results, as node-tap does: `# Subtest: name`. Its own result follows
/// below those of its parts, at the indentation of the comment. node:test announces each result, and prints no others.
#[derive(Debug)]
struct Subtest {
    indent: usize,
    name: String,
    /// The worst result of its assertions, which have no announcements; none before the first one.
    asserted: Option<TestOutcome>,
    /// A test within it has assertions.
    has_inner: bool,
    /// The failure of a part of it was recorded.
    is_explained: bool,
}

/// A test with several results. The messages of its assertions may differ from run to run, so they are not used as
/// names.
#[derive(Debug)]
struct TitledTest {
    title: String,
    line: u64,
    /// The worst result so far; none before the first one.
    outcome: Option<TestOutcome>,
}

impl TitledTest {
    fn add(&mut self, outcome: TestOutcome) {
        self.outcome = Some(worst(self.outcome, outcome));
    }
}

/// The worse of two results.
fn worst(known: Option<TestOutcome>, outcome: TestOutcome) -> TestOutcome {
    match (known, outcome) {
        (Some(TestOutcome::Failed), _) | (_, TestOutcome::Failed) => TestOutcome::Failed,
        (Some(TestOutcome::Passed), _) | (_, TestOutcome::Passed) => TestOutcome::Passed,
        (_, outcome) => outcome,
    }
}

fn join_path(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        path => format!("{path} > {name}"),
    }
}

/// Number of tests by the plans, and number of results. Nested groups have plans of their own, which are not
/// counted.
#[derive(Debug, Default)]
struct TapCount {
    planned: Option<u64>,
    points: u64,
    bailed_out: bool,
}

impl TapCount {
    fn is_complete(&self) -> bool {
        !self.bailed_out && self.planned == Some(self.points)
    }
}

/// The YAML block below a failure.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum TapYamlState {
    #[default]
    Before,
    Begun,
    /// Its entries have this indentation.
    Entries(usize),
    /// The following lines belong to no failure.
    Ended,
}

/// An entry of the YAML block.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum TapYamlEntry {
    #[default]
    Other,
    Error,
    Place,
    Stack,
}

static POINT: LinePattern = LinePattern::new(
    r"^\s*(?P<not>not )?ok(?P<number> \d+)?(?: - | |$)(?P<id>.*?)(?P<group> \{)?$",
);
static PLAN: LinePattern = LinePattern::new(r"^1\.\.(?:(?P<count>\d+)\s*(?:#.*)?|0\s.*)$");
static VERSION: LinePattern = LinePattern::new(r"^TAP version \d+");

impl FormatParser for TapParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        let is_version = text.starts_with("TAP version") && VERSION.is_match(text);
        let plan = PLAN.captures_prefixed(text, "1..");
        if is_version || plan.is_some() {
            if !self.has_plan && !findings.runs.is_inner(TOOL) {
                self.recognise(findings);
            }
            self.has_version |= is_version;
            if let Some(plan) = plan {
                let count = plan
                    .get("count")
                    .map_or(Some(0), |count| count.parse().ok());
                let planned = self.count.planned.unwrap_or_default();
                self.count.planned = Some(planned.saturating_add(count.unwrap_or(u64::MAX)));
            }
            return LineClaim::Ignore;
        }
        if text.starts_with("Bail out!") {
            self.count.bailed_out = true;
            return LineClaim::NotMine;
        }
        if self.has_version
            && let Some(name) = line.body().strip_prefix("# Subtest: ")
        {
            self.close(findings);
            self.open_subtest(line.indent(), name);
            return LineClaim::Ignore;
        }
        if let Some(comment) = text.strip_prefix("# ").filter(|_| self.is_between_tests())
            && self.error.parse_line(comment, line.number)
        {
            return LineClaim::Ignore;
        }
        if let Some(title) = self.title(text) {
            self.close(findings);
            self.close_titled(findings);
            match title.strip_prefix("SKIP ") {
                Some(skipped) => self.record_result(TestOutcome::Skipped, skipped, findings),
                None => {
                    self.titled = Some(TitledTest {
                        title: title.to_owned(),
                        line: line.number,
                        outcome: None,
                    });
                }
            }
            return LineClaim::Ignore;
        }
        if self.has_version && text.strip_prefix("# ").is_some_and(is_total) {
            self.close(findings);
            return LineClaim::Suppress;
        }
        let head = if self.begun { line.body() } else { text };
        let point = (head.starts_with("not ok") || head.starts_with("ok"))
            .then(|| POINT.captures(text))
            .flatten();
        if let Some(point) = point {
            return self.parse_test_point(&point, line, findings);
        }
        self.parse_body(line)
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
        self.close_titled(findings);
        if self.has_plan && self.count.is_complete() {
            findings.runs.close_as_seen(TOOL);
        }
        *self = Self::default();
    }
}

impl TapParser {
    /// The title of a test in a comment between results; not below a failure, before its explanation has ended.
    fn title<'t>(&self, text: &'t str) -> Option<&'t str> {
        let title = text
            .strip_prefix("# ")
            .filter(|_| self.is_between_tests())?;
        let is_other = title.starts_with("Subtest: ") || is_total(title) || title.trim() == "ok";
        (!is_other).then(|| title.trim_end())
    }

    /// Whether a comment belongs to no result that was read.
    fn is_between_tests(&self) -> bool {
        self.has_version && (self.draft.is_none() || self.yaml == TapYamlState::Ended)
    }

    /// Records the test whose title was read last.
    fn close_titled(&mut self, findings: &mut Findings) {
        if let Some(TitledTest {
            title,
            line,
            outcome,
        }) = self.titled.take()
            && let Some(outcome) = outcome
        {
            self.record_result(outcome, &title, findings);
            findings.mark_reported(line..=line);
        }
    }

    /// The output is TAP, including the results that were read before.
    fn recognise(&mut self, findings: &mut Findings) {
        findings.add_tool(TOOL);
        findings.runs.begin(TOOL);
        findings.runs.absorb(std::mem::take(&mut self.early));
        for draft in self.early_failures.drain(..) {
            findings.add(draft.build());
        }
        (self.begun, self.has_plan) = (true, true);
    }

    fn parse_test_point(
        &mut self,
        point: &Groups<'_>,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) -> LineClaim {
        let numbered = point.has("number");
        let (id, is_directive) = parse_description(&point["id"]);
        let outcome = match (point.get("not"), is_directive) {
            (_, true) => TestOutcome::Skipped,
            (None, false) => TestOutcome::Passed,
            (Some(_), false) => TestOutcome::Failed,
        };
        let bare = !numbered && point["id"].trim().is_empty();
        if bare && self.numbered {
            return LineClaim::NotMine;
        }
        if !self.begun && !numbered {
            // A plan may follow. Go's `ok  package` is aligned by more than one space.
            if !point["id"].starts_with(char::is_whitespace) {
                let id = if id.is_empty() { line.body() } else { id };
                self.count.points += 1;
                self.record_result(outcome, id, findings);
                if outcome == TestOutcome::Failed && self.early_failures.len() < EARLY {
                    self.early_failures.push(start_failure(id, line));
                }
            }
            return LineClaim::NotMine;
        }
        self.numbered |= numbered;
        self.close(findings);
        self.load_error = self.error.take();
        self.begun = true;
        self.count.points += u64::from(line.indent() == 0);
        let id = if id.is_empty() { line.body() } else { id };
        self.groups.retain(|(indent, _)| *indent < line.indent());
        if point.has("group") {
            // The group's tests follow with their own results.
            if self.groups.len() < GROUPS {
                self.groups.push((line.indent(), id.to_owned()));
            }
            return LineClaim::Ignore;
        }
        if let Some(claim) = self.parse_subtest_point(id, outcome, line, findings) {
            return claim;
        }
        let path = self.groups.iter().map(|(_, group)| group.as_str());
        let id = path.chain([id]).collect::<Vec<_>>().join(" > ");
        let id = id.as_str();
        if let Some(titled) = self.titled.as_mut().filter(|_| line.indent() == 0) {
            titled.add(outcome);
            if outcome != TestOutcome::Failed {
                return LineClaim::Ignore;
            }
            let mut draft = start_failure(&titled.title, line);
            if id != titled.title {
                draft.push_message(id);
            }
            self.begin_block(draft);
            return LineClaim::Evidence;
        }
        if outcome != TestOutcome::Failed {
            self.record_result(outcome, id, findings);
            return LineClaim::Ignore;
        }
        if findings.has_tool(prove::TOOL) && findings.has_test_failure(id) {
            // Test::More explained it, on standard error.
            return LineClaim::Suppress;
        }
        self.begin_block(start_failure(id, line));
        LineClaim::Evidence
    }

    fn open_subtest(&mut self, indent: usize, name: &str) {
        self.subtests.retain(|outer| outer.indent < indent);
        if self.subtests.len() < GROUPS {
            self.subtests.push(Subtest {
                indent,
                name: name.trim_end().to_owned(),
                asserted: None,
                has_inner: false,
                is_explained: false,
            });
        }
    }

    /// A result below the announcement of a test: of an assertion, or of the test itself. None if the result is a
    /// separate test.
    fn parse_subtest_point(
        &mut self,
        id: &str,
        outcome: TestOutcome,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) -> Option<LineClaim> {
        if self.subtests.is_empty() {
            return None;
        }
        let indent = line.indent();
        let own = self
            .subtests
            .pop_if(|test| test.indent == indent && test.name == id);
        if let Some(test) = own {
            return self.close_subtest(&test, outcome, line, findings);
        }
        self.subtests.retain(|test| test.indent < indent);
        let path = self.subtest_path();
        let test = self.subtests.last_mut()?;
        if outcome == TestOutcome::Skipped {
            // A test that was not run is not announced.
            test.has_inner = true;
            self.record_result(outcome, &format!("{path} > {id}"), findings);
            return Some(LineClaim::Ignore);
        }
        test.asserted = Some(worst(test.asserted, outcome));
        if outcome != TestOutcome::Failed {
            return Some(LineClaim::Ignore);
        }
        test.is_explained = true;
        let mut draft = start_failure(&path, line);
        draft.push_message(id);
        self.begin_block(draft);
        self.is_recorded = true;
        Some(LineClaim::Evidence)
    }

    /// The result of an announced test itself. None if none of its parts was read.
    fn close_subtest(
        &mut self,
        test: &Subtest,
        outcome: TestOutcome,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) -> Option<LineClaim> {
        if test.asserted.is_none() && !test.has_inner {
            return None;
        }
        let outer = self.subtest_path();
        if let Some(outer) = self.subtests.last_mut() {
            outer.has_inner = true;
            outer.is_explained |= test.is_explained;
        }
        let path = join_path(&outer, &test.name);
        let failed = outcome == TestOutcome::Failed;
        if failed && !test.is_explained {
            if let Some(outer) = self.subtests.last_mut() {
                outer.is_explained = true;
            }
            self.record_result(outcome, &path, findings);
            self.begin_block(start_failure(&path, line));
            self.is_recorded = true;
            return Some(LineClaim::Evidence);
        }
        if test.asserted.is_some() {
            self.record_result(outcome, &path, findings);
        }
        if failed {
            self.begin_block(start_failure(&path, line));
            self.is_consequence = true;
        }
        Some(LineClaim::Suppress)
    }

    /// The names of the open tests.
    fn subtest_path(&self) -> String {
        let names = self.subtests.iter().map(|test| test.name.as_str());
        names.fold(String::new(), |path, name| join_path(&path, name))
    }

    fn begin_block(&mut self, draft: FailureBuilder) {
        self.draft = Some(draft);
        self.block = TapYamlEntry::Other;
        self.yaml = TapYamlState::Before;
    }

    /// Records a test's result, or holds it back until it is clear that this is TAP.
    fn record_result(&mut self, outcome: TestOutcome, id: &str, findings: &mut Findings) {
        let runs = if self.has_plan {
            &mut findings.runs
        } else {
            &mut self.early
        };
        runs.record_test(TOOL, outcome, Some(id));
    }

    fn parse_body(&mut self, line: &CleanLine<'_>) -> LineClaim {
        let body = line.body();
        let Some(draft) = &mut self.draft else {
            return LineClaim::ignore_if(self.has_version && body.starts_with('#'));
        };
        match (body, self.yaml) {
            ("---", TapYamlState::Before) => {
                self.yaml = TapYamlState::Begun;
                self.block = TapYamlEntry::Other;
            }
            ("...", TapYamlState::Begun | TapYamlState::Entries(_)) => {
                self.yaml = TapYamlState::Ended;
            }
            (_, TapYamlState::Begun | TapYamlState::Entries(_)) => {
                let indent = match self.yaml {
                    TapYamlState::Entries(indent) => indent,
                    _ => line.indent(),
                };
                self.yaml = TapYamlState::Entries(indent);
                let key = (line.indent() == indent).then(|| split_key(body)).flatten();
                match key {
                    Some((key, value)) => self.block = parse_yaml_entry(draft, key, value, body),
                    None => parse_nested_yaml_line(draft, self.block, line),
                }
            }
            (_, yaml) => match body.strip_prefix('#') {
                // A heading of the next section, or a total.
                Some(_) if yaml == TapYamlState::Ended => return LineClaim::Ignore,
                Some(comment) if comment.starts_with(" Subtest: ") || is_total(comment) => {}
                Some(comment) => apply_comment(draft, comment.trim()),
                // mocha explains without a block.
                None if line.indent() > 0 && yaml == TapYamlState::Before => {
                    parse_plain_line(draft, line);
                }
                // Output between the tests belongs to another tool, or to none.
                None if !line.is_blank() => return LineClaim::NotMine,
                None => {}
            },
        }
        draft.skip_line(line);
        LineClaim::Evidence
    }

    fn close(&mut self, findings: &mut Findings) {
        let load_error = self.load_error.take();
        let Some(mut draft) = self.draft.take() else {
            return;
        };
        let explains_nothing = draft.failure.message.as_deref() == Some("test failed");
        if let Some(error) = load_error.filter(|_| explains_nothing) {
            error.explain(&mut draft, findings);
        }
        if std::mem::take(&mut self.is_consequence) {
            findings.mark_reported(draft.lines());
            return;
        }
        // A group that failed because of one of its tests is not shown.
        let consequence = draft.failure.message.as_deref().is_some_and(|message| {
            message.starts_with(|c: char| c.is_ascii_digit()) && message.contains(" subtest")
        });
        if consequence {
            findings.mark_reported(draft.lines());
        } else if std::mem::take(&mut self.is_recorded) {
            findings.add(draft.build());
        } else {
            let id = draft.failure.id.clone().unwrap_or_default();
            // A test with a title is recorded once.
            if self.titled.as_ref().is_none_or(|it| it.title != id) {
                self.record_result(TestOutcome::Failed, &id, findings);
            }
            findings.add(draft.build());
        }
    }
}

fn start_failure(id: &str, line: &CleanLine<'_>) -> FailureBuilder {
    let mut draft = FailureBuilder::test(TOOL, id, line);
    draft.failure.source = FailureSource::Structured;
    draft
}

/// `key: value`, or `key:` with its value in the lines below.
fn split_key(body: &str) -> Option<(&str, &str)> {
    body.split_once(": ")
        .or_else(|| Some((body.strip_suffix(':')?, "")))
}

/// Reads an entry of the YAML block. Returns the entry that deeper indented lines below it belong to.
fn parse_yaml_entry(
    draft: &mut FailureBuilder,
    key: &str,
    value: &str,
    body: &str,
) -> TapYamlEntry {
    let value = value.trim_matches(['\'', '"']);
    match key {
        "error" | "message" | "details" => {
            draft.push_message(value.trim_start_matches(['|', '>', '-']));
            TapYamlEntry::Error
        }
        "expected" | "actual" | "got" | "wanted" | "found" | "diff" => {
            draft.push_message(body.trim_end_matches(" |-").trim_end_matches(" |"));
            TapYamlEntry::Error
        }
        "location" | "at" | "# at" | "file" | "fileName" | "line" | "lineNumber" => {
            apply_location(draft, key, value);
            TapYamlEntry::Place
        }
        "stack" => TapYamlEntry::Stack,
        _ => TapYamlEntry::Other,
    }
}

/// Reads a line with a deeper indentation than the entries of the YAML block.
fn parse_nested_yaml_line(draft: &mut FailureBuilder, block: TapYamlEntry, line: &CleanLine<'_>) {
    let body = line.body();
    match block {
        TapYamlEntry::Error => match split_key(body) {
            Some(("name", _)) => {}
            Some(("message", message)) => {
                draft.push_message(message.trim_matches(['\'', '"', ',']));
            }
            // The heading of a block of text.
            Some((key, "|-" | "|" | "|2-" | ">-")) => {
                draft.push_message(key.trim_matches(['\'', '"']).trim_end_matches(':'));
            }
            _ => draft.push_message(body),
        },
        TapYamlEntry::Place => {
            if let Some((key, value)) = split_key(body) {
                apply_location(draft, key, value.trim_matches(['\'', '"']));
            }
        }
        TapYamlEntry::Stack => {
            if let Some(place) = parse_colon_frame(body).filter(|place| !is_foreign(place.file)) {
                draft.set_location(place.file, place.line, place.column);
                draft.push_excerpt(line);
            }
        }
        TapYamlEntry::Other => {}
    }
}

/// Either `at: f (a.js:3:7)`, or `file: a.js` and `line: 3`.
fn apply_location(draft: &mut FailureBuilder, key: &str, value: &str) {
    match key {
        "file" | "fileName" => draft.set_location(value, None, None),
        "line" | "lineNumber" => draft.failure.line = draft.failure.line.or(value.parse().ok()),
        _ => {
            let value = value.rsplit_once('(').map_or(value, |(_, at)| at);
            if let Some(place) = parse_colon_frame(value) {
                draft.set_location(place.file, place.line, place.column);
            }
        }
    }
}

/// A line below a failure that has no YAML block.
fn parse_plain_line(draft: &mut FailureBuilder, line: &CleanLine<'_>) {
    match parse_colon_frame(line.body()).filter(|_| line.body().starts_with("at ")) {
        Some(place) if is_foreign(place.file) => {}
        Some(place) => {
            draft.set_location(place.file, place.line, place.column);
            draft.push_excerpt(line);
        }
        None if draft.failure.file.is_none() => draft.push_message(line.body()),
        None => {}
    }
}

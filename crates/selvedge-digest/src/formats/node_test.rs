//! node:test with its spec reporter: a tree of ticks and crosses, its totals (`ℹ tests 4` and others), then
//! every failure again under `✖ failing tests:`, headed by `test at file:line:column`.
//!
//! Other runners print trees of ticks, too, so results in the tree count only once the totals follow.

use super::location::{is_foreign, parse_colon_frame};
use super::node_error::{NodeError, NodeErrorReader};
use super::prelude::*;
use crate::findings::TestRuns;

const TOOL: &str = "node:test";
/// How deep groups may be nested.
const GROUPS: usize = 64;
/// How many errors of files are kept for the list of failures.
const LOAD_ERRORS: usize = 100;

/// Reads the spec reporter.
#[derive(Debug, Default)]
pub(super) struct NodeTestParser {
    tree: NodeTestTree,
    totals: Option<TestTotals>,
    /// Complete totals; they come before the list of failures that they count.
    closing: Option<TestTotals>,
    /// The place of the failure whose heading comes next.
    place: Option<(String, Option<u32>, Option<u32>)>,
    draft: Option<FailureBuilder>,
    message: bool,
    error: NodeErrorReader,
    /// The errors of files that could not be loaded, by the names of their results in the tree.
    load_errors: Vec<(String, NodeError)>,
}

/// The tree of results, held until the totals identify the runner.
#[derive(Debug, Default)]
struct NodeTestTree {
    /// The groups that are open, and their indentations.
    open: Vec<(usize, String)>,
    tests: TestRuns,
    /// Results of groups: suites, which are not tests, and tests with subtests, which are.
    groups: TestRuns,
    closed_groups: u64,
}

impl NodeTestTree {
    fn open(&mut self, indent: usize, name: &str) {
        self.open.retain(|(outer, _)| *outer < indent);
        if self.open.len() < GROUPS {
            self.open.push((indent, name.to_owned()));
        }
    }

    /// Records a result, but no failed test, which is reported again below the totals.
    fn add(&mut self, indent: usize, name: &str, outcome: Option<TestOutcome>) {
        self.open.retain(|(open, _)| *open <= indent);
        let group = self
            .open
            .pop_if(|(open, group)| *open == indent && group == name);
        self.closed_groups += u64::from(group.is_some());
        let runs = group.map_or(&mut self.tests, |_| &mut self.groups);
        if let Some(outcome) = outcome {
            runs.record_test(TOOL, outcome, Some(name));
        }
    }
}

static RESULT: LinePattern = LinePattern::new(
    r"^\s*(?P<mark>✔|✖|﹣|▶) (?P<id>.+?)(?P<time> \((?:\d+(?P<fraction>\.\d+)?)ms\))?(?P<skip> # (?:SKIP|TODO).*)?$",
);
static TOTAL: LinePattern = LinePattern::new(
    r"^(?:ℹ|#) (?P<what>tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) (?P<count>[\d.]+)$",
);

impl FormatParser for NodeTestParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        if line.text.starts_with(['ℹ', '#'])
            && let Some(total) = TOTAL.captures(line.text)
        {
            self.record_total(
                &total["what"],
                total["count"].parse().unwrap_or(0),
                findings,
            );
            return LineClaim::Ignore;
        }
        if let Some(place) = line.text.strip_prefix("test at ") {
            self.close(findings);
            self.place = parse_colon_frame(place).map(|p| (p.file.to_owned(), p.line, p.column));
            return LineClaim::Evidence;
        }
        if line.body().starts_with(['✔', '✖', '﹣', '▶'])
            && let Some(result) = RESULT.captures(line.text)
        {
            return self.parse_result(&result, line, findings);
        }
        if self.draft.is_none() {
            self.error.parse_line(line.text, line.number);
        }
        self.parse_body(line)
    }

    fn is_open(&self) -> bool {
        self.draft.is_some() || self.error.is_open()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
        self.close_run(findings);
        self.tree = NodeTestTree::default();
    }
}

impl NodeTestParser {
    fn parse_result(
        &mut self,
        result: &Groups<'_>,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) -> LineClaim {
        let id = &result["id"];
        if &result["mark"] == "▶" {
            if !result.has("time") {
                self.tree.open(line.indent(), id);
            }
            return LineClaim::NotMine;
        }
        let error = self.error.take();
        if &result["mark"] == "✖" {
            self.close(findings);
            // Without a place it is in the tree, and is repeated at the end.
            let Some((file, at, column)) = self.place.take() else {
                // `✖ failing tests:` heads the list; in the tree each has its time.
                if !result.has("time") {
                    return LineClaim::NotMine;
                }
                self.close_run(findings);
                self.tree.add(line.indent(), id, None);
                if let Some(error) = error.filter(|_| self.load_errors.len() < LOAD_ERRORS) {
                    self.load_errors.push((id.to_owned(), error));
                }
                return LineClaim::Evidence;
            };
            findings.add_tool(TOOL);
            let mut draft = FailureBuilder::test(TOOL, id, line);
            draft.set_location(&file, at, column);
            let known = self.load_errors.iter().position(|(file, _)| file == id);
            let known = known.map(|index| self.load_errors.swap_remove(index));
            self.message = known.is_none();
            if let Some((_, error)) = known {
                error.explain(&mut draft, findings);
            }
            self.draft = Some(draft);
            return LineClaim::Evidence;
        }
        if !result.has("fraction") {
            // Other runners use the same marks, without times or with whole milliseconds.
            return LineClaim::NotMine;
        }
        self.close_run(findings);
        let skipped = result.has("skip") || &result["mark"] == "﹣";
        let outcome = TestOutcome::unfailed(skipped);
        self.tree.add(line.indent(), id, Some(outcome));
        LineClaim::Ignore
    }

    fn parse_body(&mut self, line: &CleanLine<'_>) -> LineClaim {
        let Some(draft) = &mut self.draft else {
            return LineClaim::NotMine;
        };
        let body = line.body();
        if body.starts_with("at ")
            && let Some(place) = parse_colon_frame(body.trim_end_matches([' ', '{']))
        {
            self.message = false;
            if is_foreign(place.file) {
                draft.skip_line(line);
            } else {
                draft.push_excerpt(line);
            }
            return LineClaim::Evidence;
        }
        if self.message {
            draft.push_message(line.text.strip_prefix("  ").unwrap_or(body));
        }
        draft.skip_line(line);
        LineClaim::Evidence
    }

    fn record_total(&mut self, what: &str, count: u64, findings: &mut Findings) {
        if what == "tests" {
            self.close_run(findings);
        }
        let totals = self.totals.get_or_insert_default();
        match what {
            "suites" => {
                let tree = &mut self.tree;
                if count == tree.closed_groups {
                    tree.groups = TestRuns::default();
                }
            }
            "pass" => totals.passed = count,
            "fail" | "cancelled" => totals.failed += count,
            "skipped" | "todo" => totals.skipped += count,
            "duration_ms" => {
                findings.add_tool(TOOL);
                let tree = std::mem::take(&mut self.tree);
                findings.runs.absorb(tree.tests);
                findings.runs.absorb(tree.groups);
                self.closing = self.totals.take();
            }
            _ => {}
        }
    }

    fn close_run(&mut self, findings: &mut Findings) {
        if let Some(totals) = self.closing.take() {
            findings.runs.close(TOOL, totals);
        }
    }

    fn close(&mut self, findings: &mut Findings) {
        if let Some(draft) = self.draft.take() {
            findings.add_test(draft);
        }
    }
}

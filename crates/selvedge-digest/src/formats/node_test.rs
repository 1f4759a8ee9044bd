//! node:test with its spec reporter: a tree of ticks and crosses, then every failure again under
//! `✖ failing tests:`, headed by `test at file:line:column`.

use std::sync::LazyLock;

use regex::Regex;

use super::place::{colon_frame, is_foreign};
use super::{Claim, Format};
use crate::findings::{Draft, Findings, Outcome, Totals};
use crate::line::Line;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "node:test";

/// Reads the spec reporter.
#[derive(Debug, Default)]
pub(super) struct NodeTest {
    totals: Option<Totals>,
    /// Totals that are whole; they stand before the list of failures, which they count.
    closing: Option<Totals>,
    /// The place of the failure whose heading comes next.
    place: Option<(String, Option<u32>, Option<u32>)>,
    draft: Option<Draft>,
    message: bool,
}

static RESULT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\s*(?P<mark>✔|✖|﹣) (?P<id>.+?)(?P<time> \([\d.]+ms\))?(?P<skip> # (?:SKIP|TODO).*)?$",
    )
});
static TOTAL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:ℹ|#) (?P<what>tests|pass|fail|cancelled|skipped|todo|duration_ms) (?P<count>[\d.]+)$",
    )
});

impl Format for NodeTest {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        if line.text.starts_with(['ℹ', '#'])
            && let Some(total) = TOTAL.captures(line.text)
        {
            self.total(
                &total["what"],
                total["count"].parse().unwrap_or(0),
                findings,
            );
            return Claim::Noise;
        }
        if let Some(place) = line.text.strip_prefix("test at ") {
            self.close(findings);
            self.place = colon_frame(place).map(|p| (p.file.to_owned(), p.line, p.column));
            return Claim::Evidence;
        }
        if line.body().starts_with(['✔', '✖', '﹣'])
            && let Some(result) = RESULT.captures(line.text)
        {
            return self.result(&result, line, findings);
        }
        self.body(line)
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
        self.close_run(findings);
    }
}

impl NodeTest {
    fn result(
        &mut self,
        result: &regex::Captures<'_>,
        line: &Line<'_>,
        findings: &mut Findings,
    ) -> Claim {
        let id = &result["id"];
        if &result["mark"] == "✖" {
            self.close(findings);
            // Without a place it stands in the tree, and is told again at the end.
            let Some((file, at, column)) = self.place.take() else {
                // `✖ failing tests:` heads the list; in the tree each has its time.
                if result.name("time").is_none() {
                    return Claim::Foreign;
                }
                self.close_run(findings);
                return Claim::Evidence;
            };
            findings.tool(TOOL);
            let mut draft = Draft::new(FailureKind::Test, TOOL, line);
            draft.failure.id = Some(id.to_owned());
            draft.place(&file, at, column);
            self.draft = Some(draft);
            self.message = true;
            return Claim::Evidence;
        }
        if result.name("time").is_none() {
            // Other runners mark their lines so.
            return Claim::Foreign;
        }
        self.close_run(findings);
        let skipped = result.name("skip").is_some() || &result["mark"] == "﹣";
        let outcome = if skipped {
            Outcome::Skipped
        } else {
            Outcome::Passed
        };
        findings.tool(TOOL);
        findings.runs.test(TOOL, outcome, Some(id));
        Claim::Noise
    }

    fn body(&mut self, line: &Line<'_>) -> Claim {
        let Some(draft) = &mut self.draft else {
            return Claim::Foreign;
        };
        let body = line.body();
        if body.starts_with("at ")
            && let Some(place) = colon_frame(body.trim_end_matches([' ', '{']))
        {
            self.message = false;
            if is_foreign(place.file) {
                draft.skip(line);
            } else {
                draft.excerpt(line);
            }
            return Claim::Evidence;
        }
        if self.message {
            draft.message(line.text.strip_prefix("  ").unwrap_or(body));
        }
        draft.skip(line);
        Claim::Evidence
    }

    fn total(&mut self, what: &str, count: u64, findings: &mut Findings) {
        if what == "tests" {
            self.close_run(findings);
        }
        let totals = self.totals.get_or_insert_default();
        match what {
            "pass" => totals.passed = count,
            "fail" | "cancelled" => totals.failed += count,
            "skipped" | "todo" => totals.skipped += count,
            "duration_ms" => {
                findings.tool(TOOL);
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
            findings.add_test(TOOL, draft);
        }
    }
}

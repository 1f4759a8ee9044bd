//! The statement: in-toto's format with Selvedge's predicate. It contains no fractions, because they would not read
//! back exactly, and no task text but its hash, because statements are shared.

use selvedge_core::export::ReportVerdict;
use selvedge_core::format::hex;
use selvedge_core::model::{
    AgentKind, CheckMarks, CheckReport, CheckStatus, Evidence, ExcludedContent, GuardStatus,
    KnownFailures, Outcome, Report, RunId, StepKind, TaskId, Timestamp, TreeId,
};
use selvedge_core::run::Run;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::subject::Subject;

const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// Names the predicate below; must change with its shape.
const PREDICATE_TYPE: &str = "urn:selvedge:verification:v1";

/// An in-toto statement about one tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Statement {
    #[serde(rename = "_type")]
    kind: String,
    /// The verified tree.
    pub(crate) subject: [Subject; 1],
    predicate_type: String,
    /// The result of the verification.
    pub(crate) predicate: Predicate,
}

/// The result of a verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Predicate {
    pub(crate) verifier: Verifier,
    pub(crate) verified_at: Timestamp,
    /// The outcome as on the wire; for a standalone verification `verified`, `unchecked`, `not_verified` or
    /// `infrastructure`.
    pub(crate) outcome: String,
    pub(crate) reason: String,
    /// The person's decision that ended the run; absent if the checks and judges decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) review: Option<AttestedReview>,
    /// Absent for a standalone verification.
    pub(crate) run: Option<AttestedRun>,
    pub(crate) checks: Vec<AttestedCheck>,
    pub(crate) gates: Vec<AttestedGate>,
    pub(crate) guard: Option<AttestedGuard>,
    /// Hash of the report as `show --format json` and `verify --format json` print it, on one line.
    pub(crate) report_sha256: Option<String>,
    /// Files that the tree does not cover, because the same command wrote them.
    pub(crate) not_covered: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Verifier {
    pub(crate) name: String,
    pub(crate) version: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AttestedRun {
    pub(crate) run_id: RunId,
    pub(crate) task_id: TaskId,
    pub(crate) task_sha256: String,
    pub(crate) agent: AttestedAgent,
    /// The attempt that the report belongs to.
    pub(crate) attempt: Option<u32>,
    pub(crate) attempts: usize,
    /// The checks before the agent began, in the same order; absent if there was no baseline.
    pub(crate) baseline: Option<Vec<CheckStatus>>,
    pub(crate) known_failures: KnownFailures,
    /// Whether the agent changed no files; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) unchanged: Option<bool>,
    /// Deleted content that no tree holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) deleted_unkept: Option<ExcludedContent>,
    pub(crate) froze_with: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AttestedAgent {
    pub(crate) name: String,
    pub(crate) kind: AgentKind,
    pub(crate) model: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AttestedCheck {
    #[serde(rename = "type")]
    pub(crate) kind: StepKind,
    pub(crate) target: String,
    pub(crate) name: Option<String>,
    pub(crate) status: CheckStatus,
    pub(crate) reason: Option<String>,
    pub(crate) exit_code: Option<i32>,
    pub(crate) evidence: Option<Evidence>,
    pub(crate) tests: Option<AttestedTests>,
    /// The applicable ones of `preexisting`, `flaky`, `regression`, `fixed`, `weakened`, `missing`.
    pub(crate) marks: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AttestedTests {
    pub(crate) executed: u64,
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AttestedGate {
    pub(crate) tier: u8,
    pub(crate) passed: Option<bool>,
    pub(crate) judges: Vec<AttestedJudge>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AttestedJudge {
    pub(crate) name: String,
    pub(crate) model: Option<String>,
    pub(crate) passed: Option<bool>,
}

/// A person's decision. Their comment is part of the outcome's reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AttestedReview {
    pub(crate) accepted: bool,
    pub(crate) by: String,
    pub(crate) attempt: Option<u32>,
    pub(crate) tree: Option<TreeId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AttestedGuard {
    pub(crate) status: GuardStatus,
    pub(crate) findings: usize,
}

/// The statement about a run.
pub(crate) fn run_statement(run: &Run, subject: Subject, not_covered: Vec<String>) -> Statement {
    let (outcome, reason) = run.conclusion();
    let delivered = run
        .conclusion
        .as_ref()
        .and_then(|decided| decided.final_attempt);
    let delivered = delivered.and_then(|number| run.attempt(number)?.report.as_ref());
    let last = run
        .verified_attempts()
        .next_back()
        .map(|(_, report)| report);
    let report = delivered.or(last);
    let spec = &run.spec;
    let mut models = run.sessions().filter_map(|session| session.model.clone());
    let baseline = run.baseline.as_ref();
    let attempt = report.and_then(|report| run.attempt(report.attempt_number));
    let agent = spec.agent_of(attempt.map_or(0, |attempt| attempt.retry));
    let facts = AttestedRun {
        run_id: run.run_id,
        task_id: spec.task_id,
        task_sha256: sha256_hex(spec.description.as_bytes()),
        agent: AttestedAgent {
            name: agent.name.clone(),
            kind: agent.kind,
            model: models.next_back().or_else(|| agent.model.clone()),
        },
        attempt: report.map(|report| report.attempt_number),
        attempts: run.attempts.len(),
        baseline: baseline.map(|it| it.checks.iter().map(|check| check.status).collect()),
        known_failures: spec.known_failures.clone(),
        unchanged: run.is_unchanged(),
        deleted_unkept: run.deleted_excluded().cloned(),
        froze_with: spec.selvedge_version.clone(),
    };
    let predicate = Predicate {
        outcome: outcome.as_str().to_owned(),
        reason,
        review: run.result().review.map(|review| AttestedReview {
            accepted: review.accepted,
            by: review.by,
            attempt: review.target.attempt,
            tree: review.target.tree,
        }),
        run: Some(facts),
        ..base_predicate(report, run.updated_at, not_covered)
    };
    build_statement(subject, predicate)
}

/// The statement about a standalone verification.
pub(crate) fn verification_statement(
    report: &Report,
    subject: Subject,
    not_covered: Vec<String>,
) -> Statement {
    let ReportVerdict {
        label: word,
        reason,
        ..
    } = ReportVerdict::of_report(report);
    let predicate = Predicate {
        outcome: word.replace(' ', "_"),
        reason,
        ..base_predicate(Some(report), report.started_at, not_covered)
    };
    build_statement(subject, predicate)
}

impl Predicate {
    /// Whether the statement asserts that the tree is verified.
    pub(crate) fn is_verified(&self) -> bool {
        self.outcome == Outcome::Verified.as_str()
    }
}

fn build_statement(subject: Subject, predicate: Predicate) -> Statement {
    Statement {
        kind: STATEMENT_TYPE.to_owned(),
        subject: [subject],
        predicate_type: PREDICATE_TYPE.to_owned(),
        predicate,
    }
}

impl Statement {
    /// Whether this program writes statements of this kind.
    pub(crate) fn is_known(&self) -> bool {
        self.kind == STATEMENT_TYPE && self.predicate_type == PREDICATE_TYPE
    }
}

fn base_predicate(report: Option<&Report>, at: Timestamp, not_covered: Vec<String>) -> Predicate {
    let gates = report.iter().flat_map(|report| &report.gates);
    let guard = report.and_then(|report| report.guard.as_ref());
    let line = report.and_then(|report| serde_json::to_vec(report).ok());
    Predicate {
        verifier: Verifier {
            name: "selvedge".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        },
        verified_at: at,
        outcome: String::new(),
        reason: String::new(),
        review: None,
        run: None,
        checks: report
            .iter()
            .flat_map(|it| &it.checks)
            .map(attested_check)
            .collect(),
        gates: gates
            .map(|gate| AttestedGate {
                tier: gate.tier,
                passed: gate.passed,
                judges: gate
                    .judgements
                    .iter()
                    .map(|it| AttestedJudge {
                        name: it.judge.clone(),
                        model: it.model.clone(),
                        passed: it.passed,
                    })
                    .collect(),
            })
            .collect(),
        guard: guard.map(|guard| AttestedGuard {
            status: guard.status,
            findings: guard.findings.len(),
        }),
        report_sha256: line.map(|line| sha256_hex(&line)),
        not_covered,
    }
}

fn attested_check(check: &CheckReport) -> AttestedCheck {
    let CheckMarks {
        preexisting,
        flaky,
        regression,
        fixed,
        weakened,
        missing,
    } = check.marks;
    let marks = [
        (preexisting, "preexisting"),
        (flaky, "flaky"),
        (regression, "regression"),
        (fixed, "fixed"),
        (weakened, "weakened"),
        (missing, "missing"),
    ];
    let marks = marks.into_iter().filter(|(holds, _)| *holds);
    AttestedCheck {
        kind: check.kind,
        target: check.target.clone(),
        name: check.name.clone(),
        status: check.status,
        reason: check.reason.clone(),
        exit_code: check.exit_code,
        evidence: check.evidence,
        tests: check.tests.as_ref().map(|tests| AttestedTests {
            executed: tests.executed,
            passed: tests.passed,
            failed: tests.failed,
            skipped: tests.skipped,
        }),
        marks: marks.map(|(_, mark)| mark.to_owned()).collect(),
    }
}

fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

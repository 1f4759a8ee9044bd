//! Tiers 2 and 3: asks judges about work whose checks pass. A judge is an agent's session without tools, in an empty
//! folder, that shares nothing with the session that did the work. [`selvedge_core::gate`] interprets the answers; a
//! judge that is unavailable, or gives an invalid answer twice, has given no verdict.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use selvedge_core::gate::{JudgeAnswer, parse, summarize_votes};
use selvedge_core::model::{
    AgentSpec, Cost, GateReport, Judgement, JudgingSpec, Prompt, Report, SessionLimits,
    SessionOutcome, SessionStatus,
};
use selvedge_core::prompt::{JudgedWork, judge_prompt};
use selvedge_core::run::RemainingBudget;
use tokio_util::sync::CancellationToken;

use super::check_runner::millis;
use super::trees::{VerificationTrees, run_blocking};
use crate::activity::{Activity, NullProgress, Progress};
use crate::agents::{SessionRequest, SessionRole, agent_for};
use crate::check_error::CheckError;
use crate::process::Supervisor;
use crate::workspace::{DiffOptions, Workspace};

/// Time limit of one answer.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(5);
/// Why a judge that was stopped by the run's time limit gave no answer.
const RUN_LIMIT_REACHED: &str = "stopped: the run's time limit was reached";
/// Maximum turns of a judge, which only has to answer.
const MAX_TURNS: u32 = 2;
/// Maximum bytes of a diff that are read.
const MAX_DIFF_BYTES: usize = 256 * 1024;

/// A tier above the checks, for one piece of work.
#[derive(Debug)]
pub struct JudgeGate<'a> {
    /// The task's description.
    pub task: &'a str,
    /// Acceptance criteria, if there are any.
    pub criteria: Option<&'a str>,
    /// The report of the checks.
    pub report: &'a Report,
    /// The session that did the work, if there was one.
    pub session: Option<&'a SessionOutcome>,
    /// The work: from the start to the tree that the checks judged.
    pub trees: Option<VerificationTrees>,
    /// 2 or 3.
    pub tier: u8,
    /// The judges.
    pub judging: &'a JudgingSpec,
    /// The budget that is left for their sessions.
    pub remaining_budget: RemainingBudget,
    /// Limits of a session, as for agents.
    pub limits: SessionLimits,
    /// Directory for answers; exists.
    pub run_dir: &'a Path,
    /// Prefix of the tag of every process.
    pub tag: String,
    /// Held as long as any process of the judges lives.
    pub lock: PathBuf,
    /// Starts supervised processes.
    pub supervisor: &'a Supervisor,
}

/// The parts of the prompt that all judges share, with the seed of the fence around untrusted text.
struct JudgePrompt {
    diff: String,
    is_truncated: bool,
    seed: u64,
}

impl JudgeGate<'_> {
    /// Asks as many judges as the tier needs, in parallel, and waits for all of them within their limits: each session
    /// is paid for, and only a judge that ends by itself reports its cost.
    ///
    /// # Errors
    ///
    /// [`CheckError`] if it is being stopped, or the work cannot be read or stored.
    pub async fn run_judges(
        &self,
        progress: &dyn Progress,
        cancel: &CancellationToken,
    ) -> Result<GateReport, CheckError> {
        let began = Instant::now();
        let brief = self.build_prompt().await?;
        let room = self.run_dir.join("judging");
        let made = tokio::fs::create_dir_all(&room).await;
        made.map_err(|error| {
            CheckError::Infrastructure(format!("cannot create {}: {error}", room.display()))
        })?;
        let votes = self.judging.votes_in(self.tier);
        let judges = (0..votes).zip(self.judging.judges.iter().cycle());
        let (brief, room) = (&brief, &room);
        let answers = judges.map(|(index, judge)| {
            let name = judge_name(judge);
            progress.on_activity(Activity::Note(format!("tier {}: asking {name}", self.tier)));
            self.ask_judge(judge, index, brief, room, began, cancel)
        });
        let judgements = join_all(answers).await;
        if cancel.is_cancelled() {
            return Err(CheckError::Cancelled);
        }
        let floor = self.judging.confidence_floor;
        Ok(GateReport {
            duration_ms: millis(began.elapsed()),
            ..summarize_votes(self.tier, votes, judgements, floor)
        })
    }

    /// Builds the prompt, with the diff from the start of the run to the judged tree.
    async fn build_prompt(&self) -> Result<JudgePrompt, CheckError> {
        let seed = RandomState::new().build_hasher().finish();
        let Some(trees) = &self.trees else {
            let (diff, is_cut) = (String::new(), false);
            return Ok(JudgePrompt {
                diff,
                is_truncated: is_cut,
                seed,
            });
        };
        let (start, judged) = (trees.start.clone(), trees.judged.clone());
        let compare = move |workspace: &Workspace| {
            let options = DiffOptions {
                max_bytes: MAX_DIFF_BYTES,
                ..DiffOptions::default()
            };
            workspace.diff(&start, &judged, options)
        };
        let diff = run_blocking(&trees.workspace, "cannot compare the trees", compare).await?;
        Ok(JudgePrompt {
            diff: String::from_utf8_lossy(&diff.bytes).into_owned(),
            is_truncated: diff.truncated,
            seed,
        })
    }

    /// Asks one judge, and once more if its answer is invalid.
    async fn ask_judge(
        &self,
        judge: &AgentSpec,
        index: u32,
        brief: &JudgePrompt,
        room: &Path,
        asked_at: Instant,
        cancel: &CancellationToken,
    ) -> Judgement {
        let began = Instant::now();
        let mut judgement = Judgement {
            judge: judge.name.clone(),
            cost: Cost::ZERO,
            ..Judgement::default()
        };
        let mut again = None;
        while judgement.asked < 2 {
            let worked_ms = millis(asked_at.elapsed());
            let share = self
                .remaining_budget
                .divide_among(self.judging.votes_in(self.tier));
            let remaining = share.subtract_spent(judgement.cost, judgement.usage, worked_ms);
            if remaining.duration_ms == Some(0) {
                judgement.error = Some(RUN_LIMIT_REACHED.to_owned());
                break;
            }
            judgement.asked += 1;
            let files = format!(
                "attempt-{}.tier-{}.{}-{}",
                self.report.attempt_number,
                self.tier,
                index + 1,
                judgement.asked
            );
            let request =
                self.session_request(judge, files, brief, room, remaining, again.as_deref());
            let outcome = agent_for(judge).run(&request, &NullProgress, cancel).await;
            let is_out_of_time = outcome.status == SessionStatus::Timeout
                && remaining.duration_ms == Some(request.limits.wall_ms);
            match self.record_answer(&mut judgement, outcome) {
                _ if is_out_of_time => {
                    judgement.error = Some(RUN_LIMIT_REACHED.to_owned());
                    break;
                }
                Ok(answer) => {
                    judgement.passed = Some(answer.passed);
                    judgement.confidence = Some(answer.confidence);
                    judgement.issues = answer.issues;
                    judgement.suggestion = answer.suggestion;
                    judgement.error = None;
                    break;
                }
                Err(JudgeError::InvalidAnswer(why)) => {
                    judgement.error = Some(why.clone());
                    again = Some(why);
                }
                Err(JudgeError::NoAnswer(why)) => {
                    judgement.error = Some(why);
                    break;
                }
            }
        }
        judgement.duration_ms = millis(began.elapsed());
        judgement
    }

    /// Adds the cost of a session, and parses its answer.
    fn record_answer(
        &self,
        judgement: &mut Judgement,
        outcome: SessionOutcome,
    ) -> Result<JudgeAnswer, JudgeError> {
        judgement.usage = judgement.usage + outcome.usage;
        judgement.cost = judgement.cost + outcome.cost;
        judgement.transcript = outcome.transcript;
        judgement.model = outcome.model.or(judgement.model.take());
        let worked = self.session.and_then(|session| session.model.as_ref());
        judgement.same_model = worked.is_some() && worked == judgement.model.as_ref();
        if outcome.status == SessionStatus::Success {
            return parse(&outcome.text).map_err(|why| JudgeError::InvalidAnswer(why.to_string()));
        }
        let why = outcome
            .error
            .unwrap_or_else(|| "no reason given".to_owned());
        Err(JudgeError::NoAnswer(format!(
            "{} did not answer: {why}",
            judgement.judge
        )))
    }

    fn session_request(
        &self,
        judge: &AgentSpec,
        files: String,
        brief: &JudgePrompt,
        room: &Path,
        remaining: RemainingBudget,
        again: Option<&str>,
    ) -> SessionRequest {
        // The diff contains the files unredacted.
        let redactor = self.supervisor.redactor();
        let wall_ms = millis(ANSWER_TIMEOUT)
            .min(self.limits.wall_ms)
            .min(remaining.duration_ms.unwrap_or(u64::MAX));
        SessionRequest {
            agent: judge.clone(),
            prompt: Prompt {
                task: redactor
                    .redact_text(&self.prompt_text(brief, again))
                    .into_owned(),
                correction: None,
            },
            previous_output: None,
            attempt_number: self.report.attempt_number,
            role: SessionRole::Judge,
            file_prefix: files,
            workspace: room.to_owned(),
            limits: SessionLimits {
                wall_ms,
                idle_timeout_ms: wall_ms.min(self.limits.idle_timeout_ms),
                max_turns: Some(MAX_TURNS),
            },
            cost_left: remaining.cost,
            tokens_left: remaining.tokens,
            run_dir: self.run_dir.to_owned(),
            tag: self.tag.clone(),
            lock: self.lock.clone(),
            supervisor: self.supervisor.clone(),
        }
    }

    fn prompt_text(&self, brief: &JudgePrompt, again: Option<&str>) -> String {
        let work = JudgedWork {
            task: self.task,
            criteria: self.criteria,
            report: self.report,
            session: self.session,
            diff: &brief.diff,
            is_diff_truncated: brief.is_truncated,
        };
        judge_prompt(&work, brief.seed, again)
    }
}

/// Reasons for a missing answer.
enum JudgeError {
    /// The answer is invalid: asking again may help.
    InvalidAnswer(String),
    /// The judge's session failed.
    NoAnswer(String),
}

fn judge_name(judge: &AgentSpec) -> String {
    match &judge.model {
        None => judge.name.clone(),
        Some(model) => format!("{} ({model})", judge.name),
    }
}

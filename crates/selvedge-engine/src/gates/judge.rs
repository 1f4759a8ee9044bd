//! Tiers 2 and 3: judges are asked about work whose checks pass. A judge is an agent's session with
//! no tools, in an empty folder, that shares nothing with the one that did the work. What its answer
//! means is for [`selvedge_core::gate`] to say; a judge that is down, or answers nonsense twice,
//! has given no verdict.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use selvedge_core::gate::{Answer, parse, sum_up};
use selvedge_core::machine::Left;
use selvedge_core::model::{
    AgentSpec, Cost, GateReport, Judgement, Judging, Prompt, Report, SessionLimits, SessionOutcome,
    SessionStatus,
};
use selvedge_core::prompt::{Work, judgement};
use tokio_util::sync::CancellationToken;

use super::look::millis;
use super::trees::{Trees, blocking};
use crate::activity::{Activity, Progress, Quiet};
use crate::agents::{Role, SessionRequest, agent_for};
use crate::checks::CheckAborted;
use crate::process::Supervisor;
use crate::workspace::{self, DiffOptions, Workspace};

/// How long one answer may take at most.
const LIMIT: Duration = Duration::from_mins(5);
/// Why a judge that was stopped by the run's cap gave no answer.
const TIME_IS_UP: &str = "stopped: the run's cap on time was reached";
/// Turns of a judge, which has nothing to do but answer.
const TURNS: u32 = 2;
/// Bytes of a diff that are read.
const DIFF: usize = 256 * 1024;

/// A tier above the checks, to be asked about one piece of work.
#[derive(Debug)]
pub struct Gate<'a> {
    /// What the work was to do.
    pub task: &'a str,
    /// When it is done, as far as somebody said so.
    pub criteria: Option<&'a str>,
    /// What the checks said.
    pub report: &'a Report,
    /// The session that did the work, where there was one.
    pub session: Option<&'a SessionOutcome>,
    /// The work: from the start to what was judged by the checks.
    pub trees: Option<Trees>,
    /// 2 or 3.
    pub tier: u8,
    /// Who is asked.
    pub judging: &'a Judging,
    /// What their sessions may still use.
    pub left: Left,
    /// How long a session may take, as agents are limited too.
    pub limits: SessionLimits,
    /// Where what they say is kept; exists.
    pub run_dir: &'a Path,
    /// Begins the mark of every process.
    pub tag: String,
    /// Held for as long as anything of their process trees lives.
    pub lock: PathBuf,
    /// How to start a supervised process.
    pub supervisor: &'a Supervisor,
}

/// What all judges are told, and which fence it stands in.
struct Brief {
    diff: String,
    is_cut: bool,
    seed: u64,
}

impl Gate<'_> {
    /// Asks as many judges as the tier needs, side by side. All of them are waited for, each within its limits: what
    /// was asked is paid for, and only a judge that ends by itself says what it cost.
    ///
    /// # Errors
    ///
    /// [`CheckAborted`] when it is being stopped, or the work cannot be read or kept.
    pub async fn ask(
        &self,
        progress: &dyn Progress,
        cancel: &CancellationToken,
    ) -> Result<GateReport, CheckAborted> {
        let began = Instant::now();
        let brief = self.brief().await?;
        let room = self.run_dir.join("judging");
        let made = tokio::fs::create_dir_all(&room).await;
        made.map_err(|error| {
            CheckAborted::Infrastructure(format!("cannot make {}: {error}", room.display()))
        })?;
        let votes = self.judging.votes_in(self.tier);
        let judges = (0..votes).zip(self.judging.judges.iter().cycle());
        let (brief, room) = (&brief, &room);
        let asked = judges.map(|(index, judge)| {
            let name = named(judge);
            progress.activity(Activity::Note(format!("tier {}: asks {name}", self.tier)));
            self.judgement(judge, index, brief, room, began, cancel)
        });
        let judgements = join_all(asked).await;
        if cancel.is_cancelled() {
            return Err(CheckAborted::Cancelled);
        }
        let floor = self.judging.confidence_floor;
        Ok(GateReport {
            duration_ms: millis(began.elapsed()),
            ..sum_up(self.tier, votes, judgements, floor)
        })
    }

    /// From before the run to what was judged by the checks.
    async fn brief(&self) -> Result<Brief, CheckAborted> {
        let seed = RandomState::new().build_hasher().finish();
        let Some(trees) = &self.trees else {
            let (diff, is_cut) = (String::new(), false);
            return Ok(Brief { diff, is_cut, seed });
        };
        let (start, judged) = (trees.start.clone(), trees.judged.clone());
        let compare = move |workspace: &Workspace| {
            let id = |tree: &str| workspace::TreeId::parse(tree);
            let options = DiffOptions {
                max_bytes: DIFF,
                ..DiffOptions::default()
            };
            workspace.diff(&id(start.as_str())?, &id(judged.as_str())?, options)
        };
        let diff = blocking(&trees.workspace, "cannot compare the trees", compare).await?;
        Ok(Brief {
            diff: String::from_utf8_lossy(&diff.bytes).into_owned(),
            is_cut: diff.truncated,
            seed,
        })
    }

    /// Asks one judge, and once more if its answer cannot be used.
    async fn judgement(
        &self,
        judge: &AgentSpec,
        index: u32,
        brief: &Brief,
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
            let share = self.left.shared_by(self.judging.votes_in(self.tier));
            let left = share.after(judgement.cost, judgement.usage, worked_ms);
            if left.wall_ms == Some(0) {
                judgement.error = Some(TIME_IS_UP.to_owned());
                break;
            }
            judgement.asked += 1;
            let files = format!(
                "attempt-{}.tier-{}.{}-{}",
                self.report.run_number,
                self.tier,
                index + 1,
                judgement.asked
            );
            let request = self.request(judge, files, brief, room, left, again.as_deref());
            let outcome = agent_for(judge).run(&request, &Quiet, cancel).await;
            let is_out_of_time = outcome.status == SessionStatus::Timeout
                && left.wall_ms == Some(request.limits.wall_ms);
            match self.take(&mut judgement, outcome) {
                _ if is_out_of_time => {
                    judgement.error = Some(TIME_IS_UP.to_owned());
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
                Err(Unheard::Unusable(why)) => {
                    judgement.error = Some(why.clone());
                    again = Some(why);
                }
                Err(Unheard::Silent(why)) => {
                    judgement.error = Some(why);
                    break;
                }
            }
        }
        judgement.duration_ms = millis(began.elapsed());
        judgement
    }

    /// Adds what a session cost, and reads its answer.
    fn take(&self, judgement: &mut Judgement, outcome: SessionOutcome) -> Result<Answer, Unheard> {
        judgement.usage = judgement.usage + outcome.usage;
        judgement.cost = judgement.cost + outcome.cost;
        judgement.transcript = outcome.transcript;
        judgement.model = outcome.model.or(judgement.model.take());
        let worked = self.session.and_then(|session| session.model.as_ref());
        judgement.same_model = worked.is_some() && worked == judgement.model.as_ref();
        if outcome.status == SessionStatus::Success {
            return parse(&outcome.text).map_err(|why| Unheard::Unusable(why.to_string()));
        }
        let why = outcome
            .error
            .unwrap_or_else(|| "no reason given".to_owned());
        Err(Unheard::Silent(format!(
            "{} did not answer: {why}",
            judgement.judge
        )))
    }

    fn request(
        &self,
        judge: &AgentSpec,
        files: String,
        brief: &Brief,
        room: &Path,
        left: Left,
        again: Option<&str>,
    ) -> SessionRequest {
        // The diff is of the files as they are.
        let redactor = self.supervisor.redactor();
        let wall_ms = millis(LIMIT)
            .min(self.limits.wall_ms)
            .min(left.wall_ms.unwrap_or(u64::MAX));
        SessionRequest {
            agent: judge.clone(),
            prompt: Prompt {
                task: redactor.text(&self.told(brief, again)).into_owned(),
                correction: None,
            },
            previous_output: None,
            run_number: self.report.run_number,
            role: Role::Judge,
            files,
            workspace: room.to_owned(),
            limits: SessionLimits {
                wall_ms,
                silence_ms: wall_ms.min(self.limits.silence_ms),
                max_turns: Some(TURNS),
            },
            cost_left: left.cost,
            tokens_left: left.tokens,
            run_dir: self.run_dir.to_owned(),
            tag: self.tag.clone(),
            lock: self.lock.clone(),
            supervisor: self.supervisor.clone(),
        }
    }

    fn told(&self, brief: &Brief, again: Option<&str>) -> String {
        let work = Work {
            task: self.task,
            criteria: self.criteria,
            report: self.report,
            session: self.session,
            diff: &brief.diff,
            diff_is_cut: brief.is_cut,
        };
        judgement(&work, brief.seed, again)
    }
}

/// Why there is no answer.
enum Unheard {
    /// There is one that cannot be used: asking again may help.
    Unusable(String),
    /// The judge's session failed.
    Silent(String),
}

fn named(judge: &AgentSpec) -> String {
    match &judge.model {
        None => judge.name.clone(),
        Some(model) => format!("{} ({model})", judge.name),
    }
}

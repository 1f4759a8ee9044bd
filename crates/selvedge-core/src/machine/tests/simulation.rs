//! A simulated driver: random results of agents and checks are sent to the machine, with the journal in memory.

use jiff::SignedDuration;
use selvedge_digest::{TestIds, TestSummary};

use super::super::{Input, JournalState, decide, evolve};
use crate::model::ReviewTarget;
use crate::model::{
    AgentKind, AgentSpec, Baseline, Budget, CheckReport, CheckStatus, Cost, ENVELOPE_VERSION,
    EffectId, EffectKind, Envelope, Event, GateReport, JudgingSpec, KnownFailures, MicroUsd,
    Report, ReportStatus, ReportSummary, RunId, RunSpec, SessionLimits, SessionOutcome,
    SessionStatus, SnapshotReason, Step, StepKind, TaskId, Timestamp, TreeId, Usage, UsageLimit,
    VerificationPlan,
};
use crate::run::{Run, RunControl};

/// The script of one attempt.
#[derive(Debug, Clone)]
pub(in crate::machine) struct AttemptScript {
    pub(in crate::machine) session: SessionStatus,
    pub(in crate::machine) cost: Option<u64>,
    pub(in crate::machine) report: ReportStatus,
    /// Seconds until the usage limit is reset that a failed session reports.
    pub(in crate::machine) usage_limit_wait: Option<i64>,
    /// The tree after the attempt: few different ones, so that trees repeat.
    pub(in crate::machine) tree: u8,
}

/// An interruption of a running effect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::machine) enum EffectInterruption {
    None,
    Crash,
    Suspend,
    Cancel,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct SimulatedWorld {
    pub(in crate::machine) retries: u32,
    pub(in crate::machine) shell: bool,
    pub(in crate::machine) snapshots: bool,
    pub(in crate::machine) baseline: bool,
    pub(in crate::machine) cap: Option<u64>,
    /// The tiers above the checks, and their answers in order; then they pass.
    pub(in crate::machine) tiers: Vec<u8>,
    pub(in crate::machine) gates: Vec<GateReport>,
    /// By attempt; the last one applies to all further attempts.
    pub(in crate::machine) scripts: Vec<AttemptScript>,
    /// One for each session or verification; no interruption once they are used up.
    pub(in crate::machine) interruptions: Vec<EffectInterruption>,
}

pub(crate) fn spec(world: &SimulatedWorld) -> RunSpec {
    RunSpec {
        task_id: TaskId::new(uuid::Uuid::from_u128(7)),
        part_of: None,
        description: "mend it".into(),
        acceptance_criteria: None,
        workspace: "/w".into(),
        repository: None,
        agent: AgentSpec {
            name: "a".into(),
            kind: if world.shell {
                AgentKind::Shell
            } else {
                AgentKind::Command
            },
            program: vec!["a".into()],
            model: None,
            base_url: None,
            env: std::collections::BTreeMap::new(),
            env_from: std::collections::BTreeMap::new(),
            api_retries: 0,
            deterministic: world.shell,
            prompt_as_argument: false,
            server_by_repository: false,
            effort: None,
            max_turns: None,
            price: None,
        },
        verification: VerificationPlan::Steps {
            steps: vec![Step::new(StepKind::Command, "c")],
        },
        judging: (!world.tiers.is_empty()).then(|| JudgingSpec {
            tiers: world.tiers.clone(),
            judges: Vec::new(),
            votes: 3,
            confidence_floor: 0.5,
        }),
        max_verification_retries: world.retries,
        verification_timeout_ms: 1000,
        limits: SessionLimits {
            wall_ms: 1,
            idle_timeout_ms: 1,
            max_turns: None,
        },
        usage_limit: crate::model::UsageLimitPolicy::default(),
        budget: Budget {
            cost_micro_usd: world.cap.map(MicroUsd),
            ..Budget::default()
        },
        between_attempts: crate::model::BetweenAttempts::Keep,
        on_exhausted: crate::model::OnExhausted::Best,
        baseline: world.baseline,
        known_failures: KnownFailures::default(),
        rerun_failed: true,
        escalation: Vec::new(),
        syntax: None,
        fail_on_unresolved_write_errors: true,
        protect: Vec::new(),
        allow: Vec::new(),
        expect_test_changes: Vec::new(),
        test_base: None,
        snapshots: world.snapshots,
        sandbox: crate::model::SandboxSpec::default(),
        environment: crate::model::EnvironmentSpec::default(),
        setup: crate::model::SetupSpec::default(),
        selvedge_version: "test".into(),
    }
}

/// A complete summary of these tests.
pub(crate) fn test_summary(passed: &[&str], failed: &[&str]) -> TestSummary {
    let list = |ids: &[&str]| TestIds {
        ids: ids.iter().map(|&id| id.to_owned()).collect(),
        omitted: 0,
    };
    TestSummary {
        executed: (passed.len() + failed.len()) as u64,
        passed: passed.len() as u64,
        failed: failed.len() as u64,
        complete: true,
        passed_ids: list(passed),
        failed_ids: list(failed),
        ..TestSummary::default()
    }
}

pub(crate) fn report(attempt_number: u32, status: ReportStatus, tree: Option<TreeId>) -> Report {
    let status_of_check = match status {
        ReportStatus::Pass => CheckStatus::Pass,
        ReportStatus::Error => CheckStatus::Error,
        _ => CheckStatus::Fail,
    };
    let check = CheckReport::new(&Step::new(StepKind::Command, "c"), status_of_check);
    // A second check passes only on some trees, so that some attempts are better than others.
    let odd = tree
        .as_ref()
        .is_some_and(|tree| tree.as_str().ends_with('1'));
    let second = if odd { CheckStatus::Pass } else { check.status };
    let checks = vec![
        check.clone(),
        CheckReport {
            target: "d".into(),
            status: second,
            ..check
        },
    ];
    Report {
        task_id: TaskId::new(uuid::Uuid::from_u128(7)),
        attempt_number,
        status,
        summary: ReportSummary::of(&checks),
        checks,
        gates: Vec::new(),
        guard: None,
        crossed: None,
        changed_tools: None,
        written_files: Vec::new(),
        sandbox: None,
        tree,
        started_at: Timestamp::UNIX_EPOCH,
        duration_ms: 1,
        setup_ms: None,
    }
}

/// A simulated driver: the journal in memory, random results of effects.
pub(in crate::machine) struct Simulation {
    pub(in crate::machine) state: JournalState,
    pub(in crate::machine) journal: Vec<Envelope>,
}

impl Simulation {
    pub(in crate::machine) fn say(&mut self, input: Input) {
        let name = input.name();
        let events = decide(&self.state, input).unwrap_or_else(|e| panic!("{name}: {e}"));
        for event in events {
            let envelope = Envelope {
                v: ENVELOPE_VERSION,
                run_id: RunId::new(uuid::Uuid::from_u128(1)),
                seq: self.state.seq + 1,
                at: Timestamp::UNIX_EPOCH,
                event,
            };
            self.state = evolve(std::mem::take(&mut self.state), &envelope);
            self.journal.push(envelope);
        }
    }

    pub(in crate::machine) fn run(&self) -> &Run {
        self.state.run.as_ref().unwrap()
    }

    /// Runs a simulation to its end.
    pub(in crate::machine) fn play(world: &SimulatedWorld) -> Self {
        let mut simulation = Self {
            state: JournalState::default(),
            journal: Vec::new(),
        };
        let mut interruptions = world.interruptions.iter().copied();
        simulation.say(Input::Create {
            spec: Box::new(spec(world)),
        });
        for _ in 0..500 {
            let run = simulation.run();
            match run.control {
                _ if run.finished => return simulation,
                _ if run.review.is_some() => simulation.say(Input::Review {
                    named: ReviewTarget::default(),
                    accepted: false,
                    retry: false,
                    by: "a person".into(),
                    stated_by: None,
                    reason: "test".into(),
                }),
                RunControl::Suspended => simulation.say(Input::Resume),
                RunControl::Suspending | RunControl::Cancelling => simulation.say(Input::Settled),
                RunControl::Running => simulation.carry_out(world, &mut interruptions),
            }
        }
        panic!("the run does not end: {:#?}", simulation.journal)
    }

    pub(in crate::machine) fn carry_out(
        &mut self,
        world: &SimulatedWorld,
        interruptions: &mut impl Iterator<Item = EffectInterruption>,
    ) {
        let pending = self
            .run()
            .pending
            .first()
            .cloned()
            .expect("something is to be done");
        let effect = pending.id;
        let number = self.run().attempts.len().saturating_sub(1);
        let script = world
            .scripts
            .get(number)
            .or(world.scripts.last())
            .unwrap()
            .clone();
        let reason = "test".to_owned();
        match pending.kind {
            EffectKind::Snapshot { moment } => {
                let tree = match moment {
                    SnapshotReason::Start => 0,
                    SnapshotReason::After | SnapshotReason::Backup => script.tree,
                };
                let tree = TreeId::of_name(&format!("t{tree}"));
                self.say(Input::Snapshotted {
                    effect,
                    tree,
                    left_out: 0,
                    unkept: None,
                    changed_tools: None,
                });
            }
            EffectKind::Restore { .. } => self.say(Input::Restored {
                effect,
                replaced: None,
            }),
            EffectKind::Baseline => {
                match interruptions.next().unwrap_or(EffectInterruption::None) {
                    EffectInterruption::None | EffectInterruption::Crash => {
                        let checks = report(1, ReportStatus::Fail, None).checks;
                        let baseline = Baseline {
                            checks,
                            written_files: Vec::new(),
                            cached: 0,
                            duration_ms: 1,
                        };
                        let baseline = Box::new(baseline);
                        self.say(Input::BaselineTaken { effect, baseline });
                    }
                    EffectInterruption::Suspend => self.say(Input::Suspend { reason }),
                    EffectInterruption::Cancel => self.say(Input::Cancel { reason }),
                }
            }
            EffectKind::Execute { .. } => {
                self.say(Input::Start { effect });
                let cancelled = AttemptScript {
                    session: SessionStatus::Cancelled,
                    ..script.clone()
                };
                match interruptions.next().unwrap_or(EffectInterruption::None) {
                    EffectInterruption::None => self.end_session(effect, &script),
                    EffectInterruption::Crash => self.say(Input::Resume),
                    EffectInterruption::Suspend => {
                        self.say(Input::Suspend { reason });
                        self.end_session(effect, &cancelled);
                    }
                    EffectInterruption::Cancel => {
                        self.say(Input::Cancel { reason });
                        self.end_session(effect, &cancelled);
                    }
                }
            }
            EffectKind::Wait { .. } => {
                match interruptions.next().unwrap_or(EffectInterruption::None) {
                    EffectInterruption::None => self.say(Input::Waited { effect }),
                    EffectInterruption::Crash => self.say(Input::Resume),
                    EffectInterruption::Suspend => self.say(Input::Suspend { reason }),
                    EffectInterruption::Cancel => self.say(Input::Cancel { reason }),
                }
            }
            EffectKind::Verify { attempt_number } => {
                match interruptions.next().unwrap_or(EffectInterruption::None) {
                    EffectInterruption::None => {
                        let tree = self.run().attempts.last().unwrap().tree.clone();
                        let report = Box::new(report(attempt_number, script.report, tree));
                        self.say(Input::Verified { effect, report });
                    }
                    EffectInterruption::Crash => self.say(Input::Resume),
                    EffectInterruption::Suspend => self.say(Input::Suspend { reason }),
                    EffectInterruption::Cancel => self.say(Input::Cancel { reason }),
                }
            }
            EffectKind::Judge { tier, .. } => {
                self.say(Input::Start { effect });
                match interruptions.next().unwrap_or(EffectInterruption::None) {
                    EffectInterruption::None => {
                        let judged = self.count(|event| matches!(event, Event::GateJudged { .. }));
                        let agrees = GateReport {
                            passed: Some(true),
                            ..GateReport::default()
                        };
                        let gate = world.gates.get(judged).cloned().unwrap_or(agrees);
                        let gate = Box::new(GateReport { tier, ..gate });
                        self.say(Input::Judged { effect, gate });
                    }
                    EffectInterruption::Crash => self.say(Input::Resume),
                    EffectInterruption::Suspend => self.say(Input::Suspend { reason }),
                    EffectInterruption::Cancel => self.say(Input::Cancel { reason }),
                }
            }
        }
    }

    pub(in crate::machine) fn end_session(&mut self, effect: EffectId, script: &AttemptScript) {
        let cost = script
            .cost
            .map_or(Cost::UNKNOWN, |it| Cost::reported(MicroUsd(it)));
        let usage = Usage {
            output: 3,
            ..Usage::default()
        };
        let outcome = SessionOutcome {
            usage,
            cost,
            usage_limit: script.usage_limit_wait.map(|wait| UsageLimit {
                resets_at: Timestamp::UNIX_EPOCH + SignedDuration::from_secs(wait),
                reported_at: Timestamp::UNIX_EPOCH,
            }),
            ..SessionOutcome::new(script.session)
        };
        self.say(Input::SessionEnded {
            effect,
            outcome: Box::new(outcome),
        });
    }

    pub(in crate::machine) fn count(&self, wanted: impl Fn(&Event) -> bool) -> usize {
        self.journal
            .iter()
            .filter(|envelope| wanted(&envelope.event))
            .count()
    }
}

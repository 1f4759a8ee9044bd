//! `selvedge init`: proposes checks, tries each once, writes `selvedge.toml`.

mod trial_copy;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use selvedge_core::config::Flags;
use selvedge_core::format::counted;
use selvedge_core::model::{
    CheckReport, EnvironmentSpec, KnownFailures, SandboxSpec, Step, VerificationPlan, exit_code,
};
use selvedge_core::sanitize::sanitize_text;
use selvedge_engine::activity::{Activity, Progress};
use selvedge_engine::verification_room_root;
use tokio_util::sync::CancellationToken;
use trial_copy::TrialCopy;

use super::run_checks::{
    CheckRoom, ProjectChecks, build_runtime, run_checks_cancellable, run_checks_in_room,
};
use super::{canonical_directory, environment, load_settings};
use crate::cli::InitArgs;
use crate::error::CliError;
use crate::init::{self, Proposal, Trial, TriedProposal, UncoveredCi};
use crate::local::StateDir;
use crate::output::human_reporter::HumanReporter;
use crate::output::{ReportOutputs, print_notice};
use crate::settings::REPOSITORY_FILE;
use crate::terminal::{indent_lines, one_line, style};

/// Limit for the lines that are printed of a check that did not pass.
const MAX_PRINTED_LINES: usize = 20;
/// Limits for the commands of CI that are printed.
const MAX_PRINTED_COMMANDS: usize = 5;
const MAX_PRINTED_CHARS: usize = 120;

pub(super) fn run(args: &InitArgs) -> Result<u8, CliError> {
    let dir = canonical_directory(args.dir.as_deref())?;
    let file = dir.join(REPOSITORY_FILE);
    // Checked first, because trying the checks takes minutes.
    if file.exists() && !args.force && !args.dry_run {
        return Err(
            CliError::usage(format!("{} already exists", file.display()))
                .hint("use --force to replace it, or --dry-run to print the new file"),
        );
    }
    let (proposals, setup, uncovered) = init::detect(&dir);
    let limit = Duration::from_millis(args.check_timeout.0);
    // Only the user's settings apply: the repository's file is about to be overwritten. An invalid one must not cause
    // the checks to run without the user's sandbox.
    let settings = load_settings(Path::new("/"), &Flags::default(), &environment())?.resolved;
    let runs_checks = !args.skip_check_run && !proposals.is_empty();
    let interrupted = CancellationToken::new();
    let runtime = build_runtime()?;
    runtime.spawn(cancel_on_ctrl_c(interrupted.clone()));
    let trials = TrialContext {
        dir: &dir,
        limit,
        sandbox: settings.sandbox,
        environment: settings.environment,
        interrupted: &interrupted,
        reports: ReportOutputs::default(),
    };
    let place = if runs_checks {
        errln!("running the detected checks once");
        runtime.block_on(trials.prepare_place())?
    } else {
        TrialPlace::Repository
    };
    let tried = runtime.block_on(init::try_proposals(proposals, async |proposal| {
        if runs_checks && !interrupted.is_cancelled() {
            trials.try_once(proposal, &place).await
        } else {
            Trial::Skipped
        }
    }));
    drop(place);
    if interrupted.is_cancelled() {
        errln!("interrupted; nothing was written");
        return Ok(exit_code::INTERRUPTED);
    }
    let uncovered = uncovered.without_contained(&tried);
    let text =
        init::settings_document(&tried, &setup, is_in_path) + &init::uncovered_comment(&uncovered);
    if args.dry_run {
        out!("{text}");
    } else {
        let written = init::write(&dir, &text, args.force).map_err(CliError::usage)?;
        outln!("wrote {}", written.display());
    }
    if !tried.iter().any(TriedProposal::is_active) {
        print_remedy(&tried, &uncovered);
        return Ok(exit_code::CHECKS_FAILED);
    }
    if !args.dry_run {
        print_next_steps(&tried, &uncovered);
    }
    Ok(exit_code::VERIFIED)
}

/// Whether the search path contains the program.
fn is_in_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Ctrl-C must not end the program immediately: the copy would be left behind.
async fn cancel_on_ctrl_c(interrupted: CancellationToken) {
    if tokio::signal::ctrl_c().await.is_ok() {
        interrupted.cancel();
    }
}

/// Where proposed checks run, so that they leave no files behind.
enum TrialPlace {
    /// A copy that is mounted at the repository's path, as in a run.
    Room(CheckRoom),
    /// A copy at another path, because nothing can be mounted.
    Copy(TrialCopy),
    /// The repository itself, because it cannot be copied.
    Repository,
}

/// Data that all trials share.
struct TrialContext<'a> {
    dir: &'a Path,
    /// Time limit of each check.
    limit: Duration,
    sandbox: SandboxSpec,
    environment: EnvironmentSpec,
    interrupted: &'a CancellationToken,
    /// None.
    reports: ReportOutputs,
}

impl TrialContext<'_> {
    async fn prepare_place(&self) -> Result<TrialPlace, CliError> {
        let checks = self.checks(Vec::new(), self.dir);
        if let Some(room) = CheckRoom::create(&checks, &self.reporter()).await? {
            return Ok(TrialPlace::Room(room));
        }
        let home = StateDir::from_environment(&environment())?;
        if let Some(copy) = TrialCopy::create(&home, self.dir) {
            return Ok(TrialPlace::Copy(copy));
        }
        print_notice("the checks run in the repository, not in a copy, and may leave files in it");
        Ok(TrialPlace::Repository)
    }

    fn reporter(&self) -> HumanReporter<'_> {
        HumanReporter::with_reports(&self.reports)
    }

    fn checks(&self, steps: Vec<Step>, dir: &Path) -> ProjectChecks {
        ProjectChecks {
            plan: VerificationPlan::Steps { steps },
            dir: dir.to_owned(),
            known_failures: KnownFailures::default(),
            limit: self.limit,
            sandbox: self.sandbox.clone(),
            environment: self.environment.clone(),
        }
    }

    async fn try_once(&self, proposal: &Proposal, place: &TrialPlace) -> Trial {
        let dir = match place {
            TrialPlace::Copy(copy) => copy.dir(),
            TrialPlace::Room(_) | TrialPlace::Repository => self.dir,
        };
        let checks = self.checks(vec![proposal.step.clone()], dir);
        let paths = ShownPaths::new(place, self.dir);
        let progress = TrialProgress {
            reporter: self.reporter(),
            label: describe_proposal(proposal),
            paths: &paths,
        };
        let ran = match place {
            TrialPlace::Room(room) => {
                run_checks_in_room(&checks, room, &progress, self.interrupted).await
            }
            TrialPlace::Copy(_) | TrialPlace::Repository => {
                run_checks_cancellable(&checks, &progress, self.interrupted).await
            }
        };
        match ran {
            Ok(mut report) => report
                .checks
                .first_mut()
                .map_or(Trial::Skipped, |check| self.judge(check, proposal, &paths)),
            Err(error) => Trial::Unusable {
                why: error.to_string(),
                output: Vec::new(),
            },
        }
    }

    /// Interprets the report of a check, and prints its first failure if it did not pass.
    fn judge(&self, check: &mut CheckReport, proposal: &Proposal, paths: &ShownPaths) -> Trial {
        paths.replace_in(check);
        let trial = Trial::from_report(check, proposal, self.dir);
        if !matches!(trial, Trial::Passed { .. } | Trial::Skipped) {
            let lines = init::explain_failure(check, MAX_PRINTED_LINES);
            if !lines.is_empty() {
                errln!("{}", indent_lines(&lines.join("\n"), "    │ ").trim_end());
            }
        }
        trial
    }
}

/// Describes a proposal in one line with its command, because proposals for the same purpose have
/// the same label.
fn describe_proposal(proposal: &Proposal) -> String {
    let step = &proposal.step;
    let label = step.label();
    if label.ends_with(&step.target) {
        label.to_owned()
    } else {
        format!("{label} (`{}`)", step.target)
    }
}

/// Replaces the paths of the copy in which checks run, which cannot be opened later.
struct ShownPaths {
    /// The path of the copy, and the path that replaces it.
    replaced: Option<(String, String)>,
    /// The directory of Selvedge's own files, such as the reports that it requests from test runners.
    private: Option<String>,
}

impl ShownPaths {
    fn new(place: &TrialPlace, repository: &Path) -> Self {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let replaced = match place {
            TrialPlace::Room(room) => {
                let root = room.origin.repository_root().unwrap_or(repository);
                let copy = verification_room_root(room.folder.path());
                Some((text(&copy), text(root)))
            }
            TrialPlace::Copy(copy) => Some((text(copy.dir()), text(repository))),
            TrialPlace::Repository => None,
        };
        let state = StateDir::from_environment(&environment());
        Self {
            replaced,
            private: state.ok().map(|state| text(state.root())),
        }
    }

    fn replace(&self, text: &str) -> String {
        let text = match &self.replaced {
            Some((from, to)) => text.replace(from, to),
            None => text.to_owned(),
        };
        let Some(private) = self.private.as_deref() else {
            return text;
        };
        let lines = text.lines().filter(|line| !line.contains(private));
        lines.collect::<Vec<_>>().join("\n")
    }

    fn replace_in(&self, check: &mut CheckReport) {
        check.output = self.replace(&check.output);
        let reason = check.reason.as_deref().map(|reason| self.replace(reason));
        check.reason = reason.filter(|reason| !reason.is_empty());
        let ids = check
            .tests
            .iter_mut()
            .flat_map(|tests| &mut tests.failed_ids.ids);
        for id in ids {
            *id = self.replace(id);
        }
        for failure in &mut check.failures {
            failure.summary = self.replace(&failure.summary);
            for text in [&mut failure.id, &mut failure.file, &mut failure.excerpt] {
                *text = text.as_deref().map(|text| self.replace(text));
            }
        }
    }
}

/// Reports a trial with its command, and without private paths.
struct TrialProgress<'a> {
    reporter: HumanReporter<'a>,
    label: String,
    paths: &'a ShownPaths,
}

impl Progress for TrialProgress<'_> {
    fn on_activity(&self, activity: Activity) {
        let label = self.label.clone();
        self.reporter.on_activity(match activity {
            Activity::CheckStarted { .. } => Activity::CheckStarted { label },
            Activity::CheckEnded {
                status,
                reason,
                duration_ms,
                ..
            } => Activity::CheckEnded {
                label,
                status,
                reason: reason.map(|reason| self.paths.replace(&reason)),
                duration_ms,
            },
            other => other,
        });
    }
}

fn print_next_steps(tried: &[TriedProposal], uncovered: &UncoveredCi) {
    let fails =
        |tried: &TriedProposal| tried.is_active() && matches!(tried.trial, Trial::Failed { .. });
    if tried.iter().any(fails) {
        let message = "some checks fail now: fix or remove them, otherwise no run can be verified";
        outln!("{} {message}", style::warning("note:"));
    }
    if !tried.iter().any(TriedProposal::runs_tests) {
        let message =
            "no check shows that tests ran: add one that does, otherwise a run proves little";
        outln!("{} {message}", style::warning("note:"));
    }
    let is_unusable = |tried: &&TriedProposal| {
        !tried.is_active() && !matches!(tried.trial, Trial::Contained { .. })
    };
    let unusable = tried.iter().filter(is_unusable);
    let unusable = unusable.count() as u64;
    if unusable > 0 {
        let message = "not usable now: the file contains the reasons in comments";
        outln!(
            "{} {} {message}",
            style::warning("note:"),
            counted(unusable, "check")
        );
    }
    for file in &uncovered.unreadable_files {
        outln!(
            "{} the commands of CI in {} are unknown, because it is not valid YAML",
            style::warning("note:"),
            sanitize_text(&file.path)
        );
    }
    if !uncovered.commands.is_empty() {
        let commands = counted(uncovered.commands.len() as u64, "command");
        outln!(
            "{} CI also runs {commands} that no check covers: see the end of the file",
            style::warning("note:")
        );
    }
    if let Some(installs) = missing_installs(tried) {
        let needing = tried.iter().filter(|it| it.missing_install().is_some());
        let message =
            format!("needing what {installs} installs: run it, then `selvedge init --force`");
        outln!(
            "{} {} {message}",
            style::warning("note:"),
            counted(needing.count() as u64, "check")
        );
    }
    outln!("next: selvedge run \"description of the task\"");
}

/// The commands that install what checks miss, with the package managers that have to be installed first.
fn missing_installs(tried: &[TriedProposal]) -> Option<String> {
    let installs = tried.iter().filter_map(TriedProposal::missing_install);
    let installs: BTreeSet<String> = installs
        .map(|install| {
            let program = install.split(' ').next().unwrap_or(install);
            if is_in_path(program) {
                format!("`{install}`")
            } else {
                format!("`{install}` (program {program} is not installed)")
            }
        })
        .collect();
    let installs: Vec<String> = installs.into_iter().collect();
    (!installs.is_empty()).then(|| installs.join(" and "))
}

/// Hint if no check can be used.
fn print_remedy(tried: &[TriedProposal], uncovered: &UncoveredCi) {
    if tried.is_empty() {
        errln!("no checks were detected in the repository");
    } else {
        errln!("none of the detected checks works here");
        for TriedProposal { proposal, trial } in tried {
            if let Trial::Unusable { why, .. } = trial {
                let line = format!("{}: {why}", describe_proposal(proposal));
                errln!("{}", indent_lines(&line, "  ").trim_end());
            }
        }
    }
    if !uncovered.commands.is_empty() {
        errln!("commands that CI runs:");
        for command in uncovered.commands.iter().take(MAX_PRINTED_COMMANDS) {
            errln!("  {}", one_line(&command.run, MAX_PRINTED_CHARS));
        }
        let further = uncovered
            .commands
            .len()
            .saturating_sub(MAX_PRINTED_COMMANDS);
        if further > 0 {
            errln!("  and {further} more, at the end of the file");
        }
    }
    if let Some(installs) = missing_installs(tried) {
        errln!("next: run {installs}, then `selvedge init --force`");
        return;
    }
    errln!(
        "next: add a command that tests the project to {REPOSITORY_FILE}, then run `selvedge verify`"
    );
    if !tried.is_empty() {
        errln!("  or fix the problems above, then run `selvedge init --force`");
    }
}

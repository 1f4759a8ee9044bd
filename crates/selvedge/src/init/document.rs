//! The `selvedge.toml` that `init` writes: every check with where it comes from and how it did.

use std::fmt::Write as _;
use std::time::Duration;

use selvedge_core::config::HumanDuration;
use selvedge_core::model::{Step, StepKind};

use super::setup::SetupLine;
use super::trial::{Trial, TriedProposal};

const HEADER: &str = "\
# What must hold before `selvedge run` calls an agent's work verified.
#
# Every setting with what it means: `selvedge config default`.
# The values in force, and where each comes from: `selvedge config show`.
";

const NOTHING_FOUND: &str = "
# No check was found by looking at the repository. Add what should hold, for example:
#
#[[checks]]
#name = \"tests\"
#type = \"test_passes\"
#run = \"make test\"
";

/// The default of `verification.timeout`.
pub(super) const DEFAULT_TIMEOUT: Duration = Duration::from_mins(2);

/// The text of the file.
pub(crate) fn settings_document(tried: &[TriedProposal], setup: &[SetupLine]) -> String {
    let mut text = HEADER.to_owned();
    if let Some(timeout) = verification_timeout(tried) {
        let _ = write!(
            text,
            "\n# Together the checks took {} when they were tried; this leaves them room.\n\
             [verification]\ntimeout = \"{timeout}\"\n",
            format_duration(tried.iter().map(|tried| trial_duration(&tried.trial)).sum()),
        );
    }
    if !setup.is_empty() {
        text.push_str(&setup_table(setup));
    }
    for tried in tried {
        text.push('\n');
        text.push_str(&check_table(tried));
    }
    if tried.is_empty() {
        text.push_str(NOTHING_FOUND);
    }
    text
}

fn setup_table(setup: &[SetupLine]) -> String {
    let files: Vec<&str> = setup.iter().map(|line| line.found_in).collect();
    let lines = setup.iter().map(|line| line.run.into());
    let run = match setup {
        [line] => toml::Value::String(line.run.to_owned()),
        _ => toml::Value::Array(lines.collect()),
    };
    format!(
        "\n# From {}. Installs dependencies in a fresh clone, and again where an attempt changed them.\n\
         [setup]\nrun = {run}\n",
        files.join(", ")
    )
}

fn check_table(tried: &TriedProposal) -> String {
    let fields = check_fields(&tried.proposal.step);
    let (told, fields) = match &tried.trial {
        Trial::Passed { took } => (format!("Passed in {}.", format_duration(*took)), fields),
        Trial::Failed { took, why } => {
            let failed = format!("Fails today ({why}, after {}):", format_duration(*took));
            (
                format!(
                    "{failed}\nno work will be verified until it passes. Remove it if it need not."
                ),
                fields,
            )
        }
        Trial::TimedOut { limit } => {
            let late = format!("Did not end within {}.", format_duration(*limit));
            (
                format!("{late}\nGive it a `timeout` of its own, or remove it."),
                fields,
            )
        }
        Trial::NotStarted { why } => {
            let told = format!("Could not be started here: {why}.\nOnce it can, remove the `#`.");
            (told, comment_out(&fields))
        }
        Trial::Skipped => ("Not tried.".to_owned(), fields),
    };
    let found_in = without_control(&tried.proposal.found_in);
    format!(
        "# From {found_in}. {}\n{fields}",
        told.split('\n')
            .map(without_control)
            .collect::<Vec<_>>()
            .join("\n# ")
    )
}

/// A name from the disk, or a tool's words, must not end the comment that it stands in.
fn without_control(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

fn check_fields(step: &Step) -> String {
    let text = |text: &str| toml::Value::String(text.to_owned());
    let mut fields = "[[checks]]\n".to_owned();
    let mut field = |key: &str, value: toml::Value| {
        let _ = writeln!(fields, "{key} = {value}");
    };
    if let Some(name) = &step.name {
        field("name", text(name));
    }
    if step.kind != StepKind::Command {
        field("type", text(step.kind.as_str()));
    }
    field("run", text(&step.target));
    if let Some(directory) = &step.directory {
        field("directory", text(directory));
    }
    fields
}

fn comment_out(fields: &str) -> String {
    let lines: Vec<_> = fields.lines().map(|line| format!("#{line}")).collect();
    lines.join("\n") + "\n"
}

/// A time for the whole verification where the default would be tight: three times what the checks
/// took, in whole minutes.
fn verification_timeout(tried: &[TriedProposal]) -> Option<HumanDuration> {
    let total: Duration = tried.iter().map(|tried| trial_duration(&tried.trial)).sum();
    let wanted = total * 3;
    let minutes = wanted.as_secs().div_ceil(60);
    (wanted > DEFAULT_TIMEOUT).then_some(HumanDuration(minutes * 60_000))
}

fn trial_duration(trial: &Trial) -> Duration {
    match trial {
        Trial::Passed { took } | Trial::Failed { took, .. } => *took,
        Trial::TimedOut { limit } => *limit,
        Trial::NotStarted { .. } | Trial::Skipped => Duration::ZERO,
    }
}

/// To a tenth of a second below a minute, to a second above.
fn format_duration(time: Duration) -> String {
    if time < Duration::from_mins(1) {
        format!("{:.1} s", time.as_secs_f64())
    } else {
        format!("{} min {} s", time.as_secs() / 60, time.as_secs() % 60)
    }
}

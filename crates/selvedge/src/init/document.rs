//! Renders the `selvedge.toml` that `init` writes: each check with its source and the result of its trial.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use selvedge_core::config::HumanDuration;
use selvedge_core::format::duration;
use selvedge_core::model::{Step, StepKind};

use super::setup::SetupLine;
use super::trial::{Trial, TriedProposal};

/// The line by which editors find the schema: descriptions, completion and errors while typing.
const SCHEMA: &str = concat!(
    "#:schema ",
    env!("CARGO_PKG_REPOSITORY"),
    "/raw/v",
    env!("CARGO_PKG_VERSION"),
    "/docs/schemas/config.json\n"
);

const HEADER: &str = "
# Checks that must pass before `selvedge run` reports an agent's work as verified.
#
# All settings and their documentation: `selvedge config default`.
# Current values and their sources: `selvedge config show`.
";

const NOTHING_FOUND: &str = "
# No checks were detected in the repository. Add one, for example:
#
#[[checks]]
#name = \"tests\"
#type = \"test_passes\"
#run = \"make test\"
";

const KNOWN_FAILURES: &str = "
# These fail now. With this setting they do not keep runs from being verified.
";

/// Longer lists belong into a file.
const MAX_KNOWN_FAILURES: usize = 50;

/// A longer list of known failures has a line for each.
const MAX_LINE_CHARS: usize = 100;
const KNOWN_FAILURES_FILE: &str = "known_failures_file = \"known-failures.txt\"  \
     # create it: selvedge known-failures --output known-failures.txt";

/// The default of `verification.timeout`.
pub(super) const DEFAULT_TIMEOUT: Duration = Duration::from_mins(2);

/// Renders the file. `has_program` returns whether a program is installed.
pub(crate) fn settings_document(
    tried: &[TriedProposal],
    setup: &[SetupLine],
    has_program: impl Fn(&str) -> bool,
) -> String {
    let mut text = SCHEMA.to_owned() + HEADER;
    text.push_str(&verification_table(tried));
    let (usable, unusable): (Vec<&SetupLine>, Vec<&SetupLine>) =
        setup.iter().partition(|line| has_program(line.program()));
    if !usable.is_empty() {
        let comment =
            "Installs dependencies in a fresh clone, and again after an attempt changed them.";
        text.push_str(&setup_table(&usable, comment, str::to_owned));
    }
    for line in unusable {
        let comment = format!(
            "Does not work here: program {} not found in PATH.",
            line.program()
        );
        text.push_str(&setup_table(&[line], &comment, comment_out));
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

/// The timeout, if the default is too short, and as a comment the list of what fails now.
fn verification_table(tried: &[TriedProposal]) -> String {
    let timeout = verification_timeout(tried);
    let known_failures = known_failures(tried);
    let mut text = String::new();
    if let Some(timeout) = timeout {
        let _ = write!(
            text,
            "\n# The checks took {} together when they were run; this limit leaves room.\n\
             [verification]\ntimeout = \"{timeout}\"\n",
            format_duration(duration_of_checks(tried)),
        );
    }
    if let Some(setting) = known_failures {
        text.push_str(KNOWN_FAILURES);
        if timeout.is_none() {
            text.push_str("#[verification]\n");
        }
        text.push_str(&comment_out(&setting));
    }
    text
}

/// The setting that lists all failures, or names a file for them if there are many.
fn known_failures(tried: &[TriedProposal]) -> Option<String> {
    let ids = tried.iter().flat_map(|tried| match &tried.trial {
        Trial::Failed { known_failures, .. } if tried.is_active() => known_failures.as_slice(),
        _ => &[],
    });
    // Several checks may run the same tests.
    let mut seen = BTreeSet::new();
    let ids = ids.filter(|id| seen.insert(id.as_str()));
    let ids: Vec<toml::Value> = ids.map(|id| id.as_str().into()).collect();
    if ids.is_empty() {
        None
    } else if ids.len() > MAX_KNOWN_FAILURES {
        Some(KNOWN_FAILURES_FILE.to_owned())
    } else {
        let lines = ids.iter().map(|id| format!("  {id},\n"));
        let many = format!("known_failures = [\n{}]", lines.collect::<String>());
        let one = format!("known_failures = {}", toml::Value::Array(ids));
        let is_short = one.chars().count() <= MAX_LINE_CHARS;
        Some(if is_short { one } else { many })
    }
}

fn setup_table(setup: &[&SetupLine], comment: &str, render: impl Fn(&str) -> String) -> String {
    let files: Vec<&str> = setup.iter().map(|line| line.found_in).collect();
    let lines = setup.iter().map(|line| line.run.into());
    let run = match setup {
        [line] => toml::Value::String(line.run.to_owned()),
        _ => toml::Value::Array(lines.collect()),
    };
    let table = render(&format!("[setup]\nrun = {run}\n"));
    format!("\n# From {}. {comment}\n{table}", files.join(", "))
}

fn check_table(tried: &TriedProposal) -> String {
    let fields = check_fields(&tried.proposal.step);
    let comment = match &tried.trial {
        Trial::Passed { took } => format!("Passed in {}.", format_duration(*took)),
        Trial::Failed { took, why, .. } if !tried.is_active() => {
            let failed = format!("Fails now ({why}, after {})", format_duration(*took));
            let reason = if tried.proposal.is_guess {
                "and nothing in the project asks for it"
            } else {
                "so no run could be verified"
            };
            format!("{failed}, {reason}.\nRemove the `#` once it passes.")
        }
        Trial::Failed {
            took,
            why,
            shows_tests,
            ..
        } => {
            let failed = format!("Fails now ({why}, after {}):", format_duration(*took));
            let evidence = if *shows_tests {
                ""
            } else {
                "\nNothing in its output shows that tests ran: only its exit code counts."
            };
            format!(
                "{failed}\nno run can be verified until it passes. Remove it if it is not required.{evidence}"
            )
        }
        Trial::WithoutEvidence { took } => {
            let passed = format!("Exited with 0 in {}", format_duration(*took));
            if tried.is_active() {
                format!(
                    "{passed}, but nothing in its output shows that tests ran:\n\
                     only its exit code counts. `type = \"test_passes\"` needs evidence of tests."
                )
            } else {
                format!("{passed}, but nothing in its output shows that tests ran.")
            }
        }
        Trial::TimedOut { limit } => {
            let late = format!("Did not finish within {}.", format_duration(*limit));
            format!("{late}\nRemove the `#` and set `verification.timeout` if it is required.")
        }
        Trial::Unusable { why, output } => {
            let quoted: Vec<_> = output.iter().map(|line| format!("\n  {line}")).collect();
            let quoted = quoted.concat();
            let why = why.trim_end_matches('.');
            format!("Does not work here: {why}.{quoted}\nRemove the `#` once it does.")
        }
        Trial::Skipped => "Not run.".to_owned(),
        Trial::Contained { by } => {
            format!("Disabled, because `{by}` runs it.\nRemove the `#` to run it on its own.")
        }
    };
    let fields = if tried.is_active() {
        fields
    } else {
        comment_out(&fields)
    };
    let found_in = without_control(&tried.proposal.found_in);
    format!(
        "# From {found_in}. {}\n{fields}",
        comment
            .split('\n')
            .map(without_control)
            .collect::<Vec<_>>()
            .join("\n# ")
    )
}

/// Replaces control characters, so that a file name or a tool's message cannot end the comment that contains it.
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

/// A timeout for the whole verification if the default is too short: three times the duration of all checks, rounded up
/// to minutes.
fn verification_timeout(tried: &[TriedProposal]) -> Option<HumanDuration> {
    let timeout = duration_of_checks(tried) * 3;
    let minutes = timeout.as_secs().div_ceil(60);
    (timeout > DEFAULT_TIMEOUT).then_some(HumanDuration(minutes * 60_000))
}

fn duration_of_checks(tried: &[TriedProposal]) -> Duration {
    let active = tried.iter().filter(|tried| tried.is_active());
    active.map(|tried| trial_duration(&tried.trial)).sum()
}

fn trial_duration(trial: &Trial) -> Duration {
    match trial {
        Trial::Passed { took } | Trial::Failed { took, .. } | Trial::WithoutEvidence { took } => {
            *took
        }
        Trial::TimedOut { .. }
        | Trial::Unusable { .. }
        | Trial::Skipped
        | Trial::Contained { .. } => Duration::ZERO,
    }
}

fn format_duration(time: Duration) -> String {
    duration(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

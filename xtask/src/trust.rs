//! `cargo xtask trust [WORD]`: measures the reliability of verdicts. Each measurement is a test of the
//! ordinary suites in its long form, which prints the rows of a table. This command runs the tests,
//! prints the tables, and writes them to `docs/explanation/trust-measured.md`; sections that were not measured
//! stay. A failed test makes the command fail after its table was written.
//!
//! `cargo xtask wild` does the same for the table of `docs/explanation/real-projects.md`.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use crate::bench::table::describe_machine;
use crate::program::{self, cargo};
use crate::{XtaskResult, e2e, workspace};

/// A document that consists of measured tables.
struct MeasuredDocument {
    /// Its path below the root.
    file: &'static str,
    introduction: &'static str,
    measurements: &'static [Measurement],
}

const TRUST: MeasuredDocument = MeasuredDocument {
    file: "docs/explanation/trust-measured.md",
    introduction: "# Measured trust\n\n\
        Written by `cargo xtask trust`. [How a verdict is reached](verdict.md#measurements) describes the\n\
        measurements.\n",
    measurements: &MEASUREMENTS,
};

const WILD: MeasuredDocument = MeasuredDocument {
    file: "docs/explanation/real-projects.md",
    introduction: "# Real projects\n\n\
        Written by `cargo xtask wild`, which downloads each project from a package registry, in the pinned version,\n\
        installs its dependencies as its maintainers do, and seeds a bug into its sources. Nothing is configured:\n\
        `selvedge init` finds the checks. Then a scripted agent works on the bug three times, with a wrong edit, the fix\n\
        and a cheat that makes the check pass outside of Selvedge (a control proves it).\n",
    measurements: &[Measurement {
        title: "Verdicts",
        about: "*Checks* are the commands that `init` wrote. The *verdicts* are those on the wrong edit (whose \
                corrective prompt must name the failing test), the fix and the cheat: only the fix may be verified. \
                *Own time* is the part of the runs' wall time in neither agents, setups nor the project's checks, in \
                percent, and in seconds for each run; *reruns* is the part in repeated checks, in percent. With the \
                optimized build; the limits are 2 and 5 % of all runs together. The agent takes no time.",
        columns: &[
            "ecosystem",
            "project",
            "runner",
            "checks",
            "verdicts",
            "own time",
            "seconds",
            "reruns",
        ],
        command: wild_command,
    }],
};

/// The test that tries all projects, with the optimized build.
fn wild_command() -> XtaskResult<Command> {
    let mut command = e2e::suite_command(&["wild_projects", "--ignored", "--nocapture"])?;
    command.env("SELVEDGE_WILD_PROGRAM", program::build_optimized()?);
    Ok(command)
}

/// A test that prints a table.
struct Measurement {
    title: &'static str,
    /// Introduction of the table.
    about: &'static str,
    columns: &'static [&'static str],
    command: fn() -> XtaskResult<Command>,
}

const MEASUREMENTS: [Measurement; 5] = [
    Measurement {
        title: "Cheats and honest changes",
        about: "Outcomes of whole runs with one attempt. A cheat makes the check exit with 0 although the work is not \
                done (a control proves both); after an honest change the work is done. No detectable cheat may be \
                verified; 1 % of the honest changes may be refused, none reported as tampering, and 5 % may need a \
                review (none of those that declare their changes to tests).",
        columns: &[
            "runner",
            "cheats",
            "verified",
            "verified, not detectable",
            "honest changes",
            "verified",
            "need review",
            "refused",
            "tampered",
        ],
        command: || e2e::suite_command(&["corpus", "--ignored", "--nocapture"]),
    },
    Measurement {
        title: "Releases of real projects",
        about: "Two releases of each project, as whole runs: an agent turned the earlier one into the later one. None \
                may be refused; a release whose sources pass the earlier tests must be verified, as must the \
                sources for later tests that failed. Reverted work, or tests alone, must not be verified.",
        columns: &[
            "project", "releases", "runner", "change", "expected", "outcome", "reason",
        ],
        command: || e2e::suite_command(&["replays", "--ignored", "--nocapture"]),
    },
    Measurement {
        title: "Flakes",
        about: "Failures of a simulated check that fails with probability p before and after the agent, \
                and of the same check once it is really broken.",
        columns: &[
            "p",
            "failures",
            "flaky",
            "newly flaky",
            "read as broken",
            "bar: p² + 3 σ",
            "real failures",
            "lost",
        ],
        command: || {
            Ok(test_command(
                "selvedge-core",
                "",
                "no_more_often_than_chance",
                &[],
            ))
        },
    },
    Measurement {
        title: "Random trees",
        about: "Trees that were snapshotted, scrambled and restored, and then the scrambled state. Files \
                that the rules exclude were listed; a restore that was obstructed was refused and \
                changed nothing.",
        columns: &[
            "trees",
            "files",
            "links",
            "empty folders",
            "names that are no text",
            "nested repositories",
            "left out, listed",
            "restores refused",
            "bytes lost",
        ],
        command: || {
            Ok(test_command(
                "selvedge-engine",
                "it",
                "a_scrambled_tree_comes_back",
                &[("PROPTEST_CASES", "1000")],
            ))
        },
    },
    Measurement {
        title: "Processes",
        about: "Processes that outlive the program that started them, unless Selvedge ends them.",
        columns: &["of", "started as", "runs", "ended", "survivors", "method"],
        command: || {
            Ok(test_command(
                "selvedge",
                "it",
                "survivors::",
                &[("SELVEDGE_ROUNDS", "100")],
            ))
        },
    },
];

/// Measures, prints and writes the tables of `trust-measured.md` whose titles contain `word`.
pub(crate) fn run(word: &str) -> XtaskResult {
    TRUST.measure(word)
}

/// Tries the real projects, and writes their table.
pub(crate) fn run_wild() -> XtaskResult {
    WILD.measure("")
}

impl MeasuredDocument {
    fn measure(&self, word: &str) -> XtaskResult {
        let is_meant =
            |proof: &&Measurement| proof.title.to_lowercase().contains(&word.to_lowercase());
        let path = workspace::root().join(self.file);
        let mut sections = parse_sections(&std::fs::read_to_string(&path)?);
        let mut failed = Vec::new();
        for proof in self.measurements.iter().filter(is_meant) {
            println!("measuring: {}", proof.title.to_lowercase());
            let rows = collect_rows(&mut (proof.command)()?)?;
            let table = proof.to_markdown(&rows.rows)?;
            println!("{table}");
            sections.insert(proof.title.to_owned(), table);
            failed.extend(rows.failure);
            let measured = self.measurements.iter();
            let all: Vec<&str> = measured
                .filter_map(|proof| Some(sections.get(proof.title)?.as_str()))
                .collect();
            let all = all.join("\n");
            std::fs::write(&path, format!("{}\n{all}", self.introduction))?;
        }
        println!("wrote {}", self.file);
        match failed.as_slice() {
            [] => Ok(()),
            failed => Err(failed.join("\n\n").into()),
        }
    }
}

/// Parses the sections of the document, by title.
fn parse_sections(document: &str) -> BTreeMap<String, String> {
    let sections = document.split("\n## ").skip(1);
    let titled = sections.filter_map(|section| {
        let title = section.lines().next()?.to_owned();
        Some((title, format!("## {}\n", section.trim_end())))
    });
    titled.collect()
}

impl Measurement {
    fn to_markdown(&self, rows: &[String]) -> XtaskResult<String> {
        let day = program::capture_output(Command::new("date").args(["-u", "+%F"]))?;
        let (title, about, columns) = (self.title, self.about, self.columns);
        let head = columns.join(" | ");
        let rule = "---|".repeat(columns.len());
        let rows = rows.join("\n");
        Ok(format!(
            "## {title}\n\n{about}\n\n{}; {}.\n\n| {head} |\n|{rule}\n{rows}\n",
            day.trim(),
            describe_machine()
        ))
    }
}

/// The command that runs the tests whose names contain `word`, with the variables that select the long
/// form. An empty target selects the library's own tests.
fn test_command(package: &str, target: &str, word: &str, long: &[(&str, &str)]) -> Command {
    let mut command = cargo(["test", "--package", package]);
    match target {
        "" => command.arg("--lib"),
        target => command.args(["--test", target]),
    };
    command.args([word, "--", "--nocapture"]);
    command.envs(long.iter().copied());
    command
}

/// The rows that a test printed.
struct MeasuredRows {
    /// Sorted, because the order of a test runner varies.
    rows: Vec<String>,
    /// The other output, if the test failed.
    failure: Option<String>,
}

fn collect_rows(command: &mut Command) -> XtaskResult<MeasuredRows> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    let printed = String::from_utf8(output.stdout)?;
    // A row may follow text that the test runner printed on the same line.
    let row = |line: &str| {
        let row = line[line.find("| ")?..].trim_end();
        row.ends_with('|').then(|| row.to_owned())
    };
    let mut rows: Vec<String> = printed.lines().filter_map(row).collect();
    if rows.is_empty() {
        return Err(format!("{printed}\nno test printed a table row: {}", output.status).into());
    }
    // Parallel tests print in any order. Rows with the same first cell keep their order.
    rows.sort_by_key(|row| row.split('|').nth(1).map(str::to_owned));
    let others = printed.lines().filter(|line| row(line).is_none());
    let others: Vec<&str> = others.collect();
    let failure = (!output.status.success()).then(|| {
        format!(
            "{}\nthe measurement failed: {}",
            others.join("\n"),
            output.status
        )
    });
    Ok(MeasuredRows { rows, failure })
}

//! `cargo xtask trust`: what a verdict is worth, measured anew. Each proof is a test of the ordinary
//! suites in its long form, which prints the rows of a table; this runs them, prints the tables and
//! writes `docs/trust-measured.md`. A proof that does not hold fails here as it does there.

use std::fmt::Write;
use std::process::{Command, Stdio};

use crate::bench::table::machine;
use crate::program::{self, cargo};
use crate::{Done, e2e, workspace};

const FILE: &str = "docs/trust-measured.md";

const OPENING: &str = "# What a verdict is worth, measured\n\n\
    Written by `cargo xtask trust`; [trust.md](trust.md) says what is measured and how.\n";

/// One table.
struct Proof {
    title: &'static str,
    /// What the table says as a whole.
    about: &'static str,
    columns: &'static [&'static str],
    rows: fn() -> Done<Command>,
}

const PROOFS: [Proof; 5] = [
    Proof {
        title: "Cheats and honest changes",
        about: "How whole runs of one attempt ended. A cheat makes the check exit 0 while the work is undone (a control \
                proves both); after an honest change the work is done. No cheat that can be detected may be verified; \
                1 % of the honest changes may be refused, none called tampering, and 5 % may need a person (none of \
                those that declare their changes to tests).",
        columns: &["runner", "kind", "class", "change", "outcome", "reason"],
        rows: || e2e::suite(&["corpus", "--ignored", "--nocapture"]),
    },
    Proof {
        title: "Releases of real projects",
        about: "Two releases of each project, as whole runs: an agent made the later one of the earlier one. None may be \
                refused; a release whose sources pass the earlier tests must be verified, as must the sources for \
                later tests that failed. What is undone or only tested must not be verified.",
        columns: &[
            "project", "releases", "runner", "change", "expected", "outcome", "reason",
        ],
        rows: || e2e::suite(&["replays", "--ignored", "--nocapture"]),
    },
    Proof {
        title: "Flakes",
        about: "Failures of a simulated check that fails with probability p before the agent began as \
                after it, and of the same check once it is really broken.",
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
        rows: || Ok(test("selvedge-core", "", "no_more_often_than_chance", &[])),
    },
    Proof {
        title: "Random trees",
        about: "Trees that were snapshotted, scrambled and put back, and the scramble after them. What \
                the rules leave out was listed; a restore that something stood in the way of was \
                refused and changed nothing.",
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
        rows: || {
            Ok(test(
                "selvedge-engine",
                "it",
                "a_scrambled_tree_comes_back",
                &[("PROPTEST_CASES", "1000")],
            ))
        },
    },
    Proof {
        title: "Processes",
        about: "What outlives the program that started it, unless Selvedge ends it.",
        columns: &["of", "started as", "runs", "ended", "survivors", "method"],
        rows: || {
            Ok(test(
                "selvedge",
                "it",
                "survivors::",
                &[("SELVEDGE_ROUNDS", "100")],
            ))
        },
    },
];

/// Measures, prints, writes.
pub(crate) fn run() -> Done {
    let day = program::read(Command::new("date").args(["-u", "+%F"]))?;
    let mut text = format!("{OPENING}\n{}; {}.\n", day.trim(), machine());
    for proof in &PROOFS {
        let table = proof.table()?;
        println!("{table}");
        text += &table;
    }
    std::fs::write(workspace::root().join(FILE), text)?;
    println!("wrote {FILE}");
    Ok(())
}

impl Proof {
    fn table(&self) -> Done<String> {
        println!("measuring: {}", self.title.to_lowercase());
        let rows = rows(&mut (self.rows)()?)?;
        let mut text = format!("\n## {}\n\n{}\n\n", self.title, self.about);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {} |", self.columns.join(" | "));
        let _ = writeln!(text, "|{}", "---|".repeat(self.columns.len()));
        for row in rows {
            let _ = writeln!(text, "{row}");
        }
        Ok(text)
    }
}

/// The tests whose names hold the word, with what makes them long. No target is the library's own.
fn test(package: &str, target: &str, word: &str, long: &[(&str, &str)]) -> Command {
    let mut command = cargo(["test", "--package", package]);
    match target {
        "" => command.arg("--lib"),
        target => command.args(["--test", target]),
    };
    command.args([word, "--", "--nocapture"]);
    command.envs(long.iter().copied());
    command
}

/// The rows that a test prints, sorted as the runners of the tests would not.
fn rows(command: &mut Command) -> Done<Vec<String>> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    let said = String::from_utf8(output.stdout)?;
    if !output.status.success() {
        return Err(format!("{said}\nthis does not hold: {}", output.status).into());
    }
    // A row may stand behind what the test runner has begun to say.
    let row = |line: &str| Some(line[line.find("| ")?..].trim_end().to_owned());
    let mut rows: Vec<String> = said.lines().filter_map(row).collect();
    if rows.is_empty() {
        return Err(format!("{said}\nno test printed a row").into());
    }
    // Tests side by side print in any order; each prints its own rows in theirs.
    rows.sort_by_key(|row| row.split('|').nth(1).map(str::to_owned));
    Ok(rows)
}

//! What the guard would have said of a repository's own history, each commit taken for an attempt and
//! its message for the task: `cargo run --example honest_history -- COMMITS REPOSITORY…`. Nearly all of
//! it is honest work, so what is called an offence here shows where the guard is wrong.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a tool for those who mend the guard, which may simply stop"
)]

use std::process::Command;

use selvedge_core::guard::{ChangedFile, Finding, Protection, Strength, inspect};

fn main() {
    let mut args = std::env::args().skip(1);
    let commits = args.next().unwrap_or_else(|| "200".to_owned());
    for repository in args {
        history(&repository, &commits);
    }
}

fn history(repository: &str, commits: &str) {
    let listed = git(
        repository,
        &[
            "rev-list",
            "--no-merges",
            "--min-parents=1",
            "-n",
            commits,
            "--all",
        ],
    );
    let (mut looked, mut offences, mut flagged) = (0, 0, 0);
    for commit in text(&listed.unwrap()).lines() {
        let Some(findings) = judge(repository, commit) else {
            continue;
        };
        looked += 1;
        let worst = findings.iter().map(|finding| finding.strength).max();
        offences += usize::from(worst == Some(Strength::Offence));
        flagged += usize::from(worst == Some(Strength::Strong));
        for finding in findings.iter().filter(|it| it.strength > Strength::Weak) {
            let Finding {
                path,
                kind,
                strength,
                what,
                ..
            } = finding;
            println!("{commit:.10} {strength:?} {kind:?} {path}: {what}");
        }
    }
    println!("{repository}: {looked} commits, {offences} called an offence, {flagged} flagged");
}

/// Nothing where the repository lacks some of the bytes.
fn judge(repository: &str, commit: &str) -> Option<Vec<Finding>> {
    let message = git(repository, &["show", "-s", "--format=%B", commit])?;
    let protection = Protection::new(&[], &[], &text(&message)).unwrap();
    let parent = format!("{commit}^");
    let changed = git(
        repository,
        &["diff", "--name-only", "--no-renames", "-z", &parent, commit],
    )?;
    let changed = text(&changed);
    let paths = changed.split('\0').filter(|path| protection.wants(path));
    let files: Vec<_> = paths
        .map(|path| {
            let at = |commit: &str| git(repository, &["show", &format!("{commit}:{path}")]);
            (path, at(&parent), at(commit))
        })
        .collect();
    let is_known = |(_, before, after): &(&str, Option<Vec<u8>>, Option<Vec<u8>>)| {
        before.is_some() || after.is_some()
    };
    files.iter().all(is_known).then(|| {
        let changes: Vec<_> = files
            .iter()
            .map(|(path, before, after)| ChangedFile {
                path,
                before: before.as_deref(),
                after: after.as_deref(),
            })
            .collect();
        inspect(&protection, &changes)
    })
}

fn git(repository: &str, args: &[&str]) -> Option<Vec<u8>> {
    let mut git = Command::new("git");
    git.arg("-C").arg(repository).args(args);
    let output = git.env("GIT_NO_LAZY_FETCH", "1").output().unwrap();
    output.status.success().then_some(output.stdout)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

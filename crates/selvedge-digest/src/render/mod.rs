//! Fits an analysis into a budget: what failed and where, first; then messages and excerpts in
//! fair shares; then the telling lines that belong to no known format; what was cut, last.
//!
//! A failing exit always begins with `FAILED`, whatever the log says.

mod groups;
mod page;

use std::collections::HashSet;
use std::fmt::Write;

use crate::analysis::{Analysis, Digest};
use crate::budget::{Budget, estimate_tokens};
use crate::digester::Exit;
use crate::record::Failure;
use groups::{Group, fair_order, group};
use page::{Page, cost};

/// The parts of a budget, in percent, that each step may fill, with all the steps before it. The
/// telling lines that belong to no known format get what is left.
struct Shares {
    /// The first of each group.
    headlines: usize,
    /// The other members of the groups.
    members: usize,
    /// Messages and excerpts.
    bodies: usize,
}

const ERRORS: Shares = Shares {
    headlines: 75,
    members: 83,
    bodies: 92,
};
const WARNINGS: Shares = Shares {
    headlines: 45,
    members: 50,
    bodies: 50,
};

/// A log of so few lines that a single warning in it is worth showing.
const SHORT_LOG: u64 = 60;

/// Renders one analysis.
pub(crate) fn render(analysis: &Analysis, budget: Budget<'_>) -> Digest {
    if analysis.exit.is_success() && !is_report(analysis) {
        return seal(passed(analysis), budget, analysis, 0);
    }
    if let Some(whole) = fitting_whole(analysis, budget) {
        return seal(whole, budget, analysis, analysis.failures_total);
    }
    // The notice is written last; its numbers never cost more than the largest ones.
    let kept = cost(&notice(
        analysis,
        budget,
        analysis.failures_total,
        analysis.lines,
    )) + 2;
    let mut page = Page::new(budget.tokens);
    let heading = heading(analysis);
    if cost(&heading) + kept <= budget.tokens {
        page.push(&heading);
    } else if !analysis.exit.is_success() {
        page.push(&status(analysis.exit));
    }
    let kept = if page.reserve(kept) { kept } else { 0 };
    let shown = failures(analysis, &mut page);
    let lines = passages(analysis, &mut page);
    page.release(kept);
    page.push(&notice(analysis, budget, shown, lines));
    seal(page.into_text(), budget, analysis, shown)
}

/// The estimate of a whole is not quite the sum of its lines, so it is checked once more.
fn seal(mut text: String, budget: Budget<'_>, analysis: &Analysis, shown: u64) -> Digest {
    while estimate_tokens(&text) > budget.tokens {
        let end = text
            .trim_end()
            .rfind('\n')
            .map_or(text.len() / 2, |at| at + 1);
        text.truncate(text.floor_char_boundary(end));
    }
    Digest {
        tokens_estimated: estimate_tokens(&text),
        text,
        shown,
        total: analysis.failures_total,
    }
}

fn passed(analysis: &Analysis) -> String {
    match &analysis.tests {
        Some(tests) if tests.skipped > 0 => {
            format!(
                "ok: exit 0, {} tests passed, {} skipped\n",
                tests.passed, tests.skipped
            )
        }
        Some(tests) => format!("ok: exit 0, {} tests passed\n", tests.passed),
        None => {
            let plural = if analysis.lines == 1 { "" } else { "s" };
            format!("ok: exit 0, {} line{plural} of output\n", analysis.lines)
        }
    }
}

/// Whether the output of a command that succeeded is what it was run for: the report of a linter
/// or compiler that does not fail for warnings. A few of them in a long log are not.
fn is_report(analysis: &Analysis) -> bool {
    let dense = analysis.lines <= SHORT_LOG || analysis.telling * 10 >= analysis.lines;
    analysis.tests.is_none() && analysis.telling > 0 && dense
}

/// The whole log under its heading, where it fits.
fn fitting_whole(analysis: &Analysis, budget: Budget<'_>) -> Option<String> {
    let whole = analysis
        .whole
        .as_ref()
        .filter(|whole| whole.len() < budget.tokens * 8)?;
    let heading = heading(analysis);
    let text = if analysis.bytes == 0 {
        format!("{heading}\nno output\n")
    } else if whole.trim().is_empty() {
        let bytes = analysis.bytes;
        format!("{heading}\nno readable text in {bytes} bytes of output\n")
    } else {
        format!("{heading}\n{whole}")
    };
    (estimate_tokens(&text) <= budget.tokens).then_some(text)
}

/// One line: how it ended, how many failures, how many tests.
fn heading(analysis: &Analysis) -> String {
    if analysis.exit.is_success() {
        return passed(analysis).trim_end().to_owned();
    }
    let mut line = status(analysis.exit);
    let total = analysis.failures_total;
    if total > 0 {
        let plural = if total == 1 { "" } else { "s" };
        let _ = write!(line, ": {total} failure{plural}");
    }
    if let Some(tests) = &analysis.tests {
        let _ = write!(
            line,
            "; tests: {} failed, {} passed",
            tests.failed, tests.passed
        );
    }
    for note in &analysis.notes {
        let _ = write!(line, "; {note}");
    }
    line
}

/// How it ended; only the exit decides.
fn status(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("FAILED (exit {code})"),
        Exit::Signal(signal) => format!("FAILED (ended by signal {signal})"),
        Exit::TimedOut => "FAILED (timed out)".to_owned(),
        Exit::Unknown => "FAILED".to_owned(),
    }
}

/// Failures by groups: a line each, then their other members, then messages and excerpts. Returns
/// how many failures are shown.
fn failures(analysis: &Analysis, page: &mut Page) -> u64 {
    let groups = group(&analysis.failures);
    let shares = if analysis.warnings_only {
        WARNINGS
    } else {
        ERRORS
    };
    let total = page.left();
    let mut told: Vec<Told<'_>> = Vec::new();
    for index in fair_order(&groups) {
        let group = &groups[index];
        let headline = group.headline();
        let price = cost(&headline);
        let spent = total - page.left();
        if !told.is_empty() && (spent + price) * 100 > total * shares.headlines
            || !page.reserve(price)
        {
            break;
        }
        told.push(Told {
            index,
            headline,
            members: Vec::new(),
            lines: Vec::new(),
            group,
        });
    }
    told.sort_by_key(|told| told.index);
    share_members(&mut told, page, total, total * shares.members);
    share_bodies(&mut told, page, total, total * shares.bodies);
    for told in &told {
        page.write(&told.headline);
        if !told.members.is_empty() {
            page.write(&format!("  also {}", told.members.join(", ")));
        }
        for line in &told.lines {
            page.write(&format!("  {line}"));
        }
    }
    told.iter().map(|told| 1 + count(told.members.len())).sum()
}

/// A group in the digest, as far as it is told.
struct Told<'a> {
    index: usize,
    group: &'a Group<'a>,
    headline: String,
    members: Vec<String>,
    lines: Vec<&'a str>,
}

/// The other members of each group, one from each in turn.
fn share_members(told: &mut [Told<'_>], page: &mut Page, total: usize, limit: usize) {
    let mut queues: Vec<_> = told.iter().map(|told| told.group.others()).collect();
    loop {
        let mut any = false;
        for (told, queue) in told.iter_mut().zip(&mut queues) {
            let Some(member) = queue.next() else { continue };
            if member.is_empty() || told.members.contains(&member) {
                any = true;
                continue;
            }
            let price = estimate_tokens(&member) + 2;
            if (total - page.left() + price) * 100 > limit || !page.reserve(price) {
                return;
            }
            told.members.push(member);
            any = true;
        }
        if !any {
            return;
        }
    }
}

/// Messages and excerpts, a line of each in turn.
fn share_bodies(told: &mut [Told<'_>], page: &mut Page, total: usize, limit: usize) {
    let mut said: HashSet<&str> = HashSet::new();
    let bodies: Vec<Vec<&str>> = told.iter().map(|told| body(told.group.first)).collect();
    let longest = bodies.iter().map(Vec::len).max().unwrap_or(0);
    for round in 0..longest {
        for (told, body) in told.iter_mut().zip(&bodies) {
            let Some(&line) = body.get(round) else {
                continue;
            };
            let summary = &told.group.first.summary;
            let repeats = told.headline.contains(line.trim())
                || !summary.is_empty() && line.contains(summary.as_str());
            if repeats || !said.insert(line.trim()) {
                continue;
            }
            let price = cost(line) + 1;
            if (total - page.left() + price) * 100 > limit || !page.reserve(price) {
                return;
            }
            told.lines.push(line);
        }
    }
}

/// What more there is to say of a failure, the most telling first.
fn body(failure: &Failure) -> Vec<&str> {
    let message = failure.message.as_deref().unwrap_or_default();
    let excerpt = failure.excerpt.as_deref().unwrap_or_default();
    message
        .lines()
        .chain(excerpt.lines())
        .filter(|line| !line.trim().is_empty())
        .collect()
}

/// The most telling lines that belong to no recognised failure, in the order of the log. Returns
/// how many there are.
fn passages(analysis: &Analysis, page: &mut Page) -> u64 {
    let mut order: Vec<usize> = (0..analysis.passages.len()).collect();
    order.sort_by(|&a, &b| {
        analysis.passages[b]
            .value
            .total_cmp(&analysis.passages[a].value)
    });
    let mut chosen = Vec::new();
    for index in order {
        let text = &analysis.passages[index].text;
        if !page.says(text) && page.reserve(cost(text) + 1) {
            chosen.push(index);
        }
        if page.left() < 6 {
            break;
        }
    }
    chosen.sort_unstable();
    let mut last = 0;
    for &index in &chosen {
        let passage = &analysis.passages[index];
        if passage.number > last + 3 && last > 0 {
            page.write("…");
        }
        last = passage.number;
        page.write(&passage.text);
    }
    count(chosen.len())
}

/// What the digest leaves out, and where the whole is.
fn notice(analysis: &Analysis, budget: Budget<'_>, shown: u64, lines: u64) -> String {
    let mut line = String::from("[cut:");
    if analysis.failures_total > 0 {
        let _ = write!(line, " {shown} of {} failures,", analysis.failures_total);
    }
    let _ = write!(line, " {lines} of {} lines shown", analysis.lines);
    if let Some(place) = budget.full_output {
        let _ = write!(line, "; all: {place}");
    }
    line.push(']');
    line
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

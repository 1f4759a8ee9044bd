//! Fits an analysis into a budget: first the failures and their places; then messages and excerpts in fair
//! shares; then the salient lines of unknown formats; last the truncation notice.
//!
//! The digest of a failed command always begins with `FAILED`, for every log. If the exit is not known, the
//! failures in the log decide between `FAILED` and `exit code unknown`.

mod body;
mod groups;
mod heading;
mod ranked_lines;
mod writer;

use std::collections::HashSet;

use crate::analysis::{Analysis, Digest};
use crate::budget::{DigestBudget, estimate_tokens};
use crate::digester::CommandStatus;
use crate::record::Failure;
use body::{
    detail_lines, is_diff_or_source, is_labelled, is_repetition, is_reported, without_mark,
};
use groups::{FailureGroup, fair_order, group_failures, short_list};
use heading::{failure_heading, is_undecided, status, success_heading, truncation_notice};
use ranked_lines::RankedLineSelection;
use writer::{DigestWriter, cost};

/// The parts of a budget, in percent, that each step may fill, including all steps before it. Salient lines
/// of unknown formats get the rest.
struct BudgetShares {
    /// The first failure of each group.
    headlines: usize,
    /// The other members of the groups.
    members: usize,
    /// Messages and excerpts.
    bodies: usize,
}

const SHARES: BudgetShares = BudgetShares {
    headlines: 80,
    members: 88,
    bodies: 94,
};
/// Minimum value of salient lines that are shown before warnings.
const ABOVE_WARNINGS: f32 = 5.0;
/// The part of the budget, in percent, that such lines may fill.
const BEFORE_WARNINGS: usize = 85;

/// Shown if there is neither a failure nor a salient line.
const NO_FAILURE_FOUND: &str = "no line of the output shows what failed";

/// Maximum number of failures that are listed without headlines.
const MAX_LISTED: usize = 12;
/// Before that list.
const LIST_LEAD: &str = "also: ";

/// Maximum number of lines of a log in which a single warning is worth showing.
const SHORT_LOG: u64 = 60;

/// How much room there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BudgetKind {
    /// The whole budget: as many failures with their messages as fit.
    Whole,
    /// A share of several digests' budget: the locations of all failures come before messages.
    Share,
}

/// Renders one analysis.
pub(crate) fn render(analysis: &Analysis, budget: DigestBudget<'_>, kind: BudgetKind) -> Digest {
    if let Some(text) = render_empty_log(analysis) {
        return trim_to_budget(text, budget, analysis, 0);
    }
    if analysis.exit.is_success() && !is_report(analysis) {
        return trim_to_budget(
            format!("{}\n", success_heading(analysis)),
            budget,
            analysis,
            0,
        );
    }
    if let Some(whole) = render_whole_log(analysis, budget) {
        return trim_to_budget(whole, budget, analysis, analysis.failures_total);
    }
    // A text costs less than the sum of its lines, so the tokens left by the first pass are used in a second
    // one.
    let first = write_digest(analysis, budget, kind, budget.tokens);
    let unused = budget.tokens.saturating_sub(first.tokens_estimated);
    let second = write_digest(analysis, budget, kind, budget.tokens + unused);
    if second.tokens_estimated <= budget.tokens {
        second
    } else {
        trim_to_budget(first.text, budget, analysis, first.shown)
    }
}

/// Writes failures and salient lines until `tokens` are spent, counted line by line.
fn write_digest(
    analysis: &Analysis,
    budget: DigestBudget<'_>,
    kind: BudgetKind,
    tokens: usize,
) -> Digest {
    // The notice is written last; its numbers never cost more than the largest possible ones.
    let kept = cost(&truncation_notice(
        analysis,
        budget,
        analysis.failures_total,
        analysis.lines,
    )) + 2;
    let mut page = DigestWriter::new(tokens);
    let heading = failure_heading(analysis);
    if cost(&heading) + kept <= tokens {
        page.push(&heading);
    } else if !analysis.exit.is_success() {
        page.push(&status(analysis.exit, is_undecided(analysis)));
    }
    let kept = if page.reserve(kept) { kept } else { 0 };
    // If only warnings were recognised, the actual failure may be in other lines.
    let mut chosen = RankedLineSelection::default();
    if analysis.warnings_only || analysis.failures_total == 0 {
        let limit = page.remaining_tokens() * (100 - BEFORE_WARNINGS) / 100;
        chosen.choose(analysis, &mut page, ABOVE_WARNINGS, limit);
    }
    let shown = write_failures(analysis, kind, &mut page);
    chosen.choose(analysis, &mut page, 0.0, 0);
    let lines = chosen.write(analysis, &mut page);
    let is_failed = !analysis.exit.is_success() && !is_undecided(analysis);
    if analysis.failures_total == 0 && lines == 0 && is_failed {
        page.push(NO_FAILURE_FOUND);
    }
    page.release(kept);
    // Without a log, only failures can be omitted.
    if analysis.lines > 0 || shown < analysis.failures_total {
        page.push(&truncation_notice(analysis, budget, shown, lines));
    }
    let text = page.into_text();
    Digest {
        tokens_estimated: estimate_tokens(&text),
        text,
        shown,
        total: analysis.failures_total,
    }
}

/// The estimate of a text can differ from the sum of its lines, so it is checked again.
fn trim_to_budget(
    mut text: String,
    budget: DigestBudget<'_>,
    analysis: &Analysis,
    shown: u64,
) -> Digest {
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

/// Whether the output of a successful command is its purpose: the report of a linter or compiler that does
/// not fail for warnings. Recognised warnings always count; lines that may be warnings count only if they are
/// a large part of the output.
fn is_report(analysis: &Analysis) -> bool {
    let dense = analysis.lines <= SHORT_LOG || analysis.salient_count * 10 >= analysis.lines;
    let found = analysis.failures_total > 0 || analysis.located_count > 0 || analysis.is_xml;
    analysis.tests.is_none() && (found || analysis.salient_count > 0 && dense)
}

/// The absence of text alone is neither a success nor a failure: the digest names neither unless the exit is known.
fn render_empty_log(analysis: &Analysis) -> Option<String> {
    let nothing = nothing_phrase(analysis)?;
    match analysis.exit {
        CommandStatus::Code(0) => Some(format!("exit 0, {nothing}\n")),
        CommandStatus::Unknown => Some(format!("{nothing}; the exit code is not known\n")),
        _ => None,
    }
}

/// Description of a log without text.
fn nothing_phrase(analysis: &Analysis) -> Option<String> {
    let whole = analysis.whole_log.as_ref()?;
    let is_blank = analysis.noise_lines == 0 && whole.trim().is_empty();
    is_blank.then(|| match analysis.bytes {
        0 => "no output".to_owned(),
        bytes => format!("no readable text in {bytes} bytes of output"),
    })
}

/// The whole log under its heading, if it fits. Noise is left out without notice: it
/// adds nothing to the rest.
fn render_whole_log(analysis: &Analysis, budget: DigestBudget<'_>) -> Option<String> {
    let whole = analysis
        .whole_log
        .as_ref()
        .filter(|whole| whole.len() < budget.tokens * 8)?;
    let heading = failure_heading(analysis);
    let text = match nothing_phrase(analysis) {
        Some(nothing) => format!("{heading}\n{nothing}\n"),
        None if whole.trim().is_empty() => return None,
        // The blank lines around what is left out.
        None if analysis.noise_lines > 0 => {
            let mut shown = whole.trim_start_matches('\n').to_owned();
            while shown.contains("\n\n\n") {
                shown = shown.replace("\n\n\n", "\n\n");
            }
            format!("{heading}\n{shown}")
        }
        None => format!("{heading}\n{whole}"),
    };
    (estimate_tokens(&text) <= budget.tokens).then_some(text)
}

/// Writes failures by groups: the headlines, then the other members, then messages and excerpts. Returns the
/// number of shown failures.
fn write_failures(analysis: &Analysis, kind: BudgetKind, page: &mut DigestWriter) -> u64 {
    let groups = group_failures(&analysis.failures);
    let shares = SHARES;
    let total = page.remaining_tokens();
    let mut rendered = reserve_headlines(&groups, page, total * shares.headlines);
    let mut listed = Vec::new();
    let mut members = shares.members;
    if kind == BudgetKind::Share && analysis.failures.len() <= MAX_LISTED {
        listed = reserve_list(&groups, &mut rendered, page);
        members = 100;
    }
    rendered.sort_by_key(|group| group.index);
    share_members(&mut rendered, page, total, total * members);
    share_bodies(&mut rendered, page, total, total * shares.bodies);
    for group in &mut rendered {
        group.lines.sort_unstable_by_key(|(at, _)| *at);
        page.mark_reported(group.group.first.id.as_deref().unwrap_or_default());
        page.write(&group.headline);
        for line in member_lines("  also ", &group.members) {
            page.write(&line);
        }
        for (_, line) in &group.lines {
            page.write(&format!("  {line}"));
        }
    }
    for line in member_lines(LIST_LEAD, &listed) {
        page.write(&line);
    }
    let shown = rendered.iter().map(|group| 1 + count(group.members.len()));
    shown.sum::<u64>() + count(listed.len())
}

/// The headlines that fit into the limit, which is in percent of tokens; the first one may exceed it.
fn reserve_headlines<'a>(
    groups: &'a [FailureGroup<'a>],
    page: &mut DigestWriter,
    limit: usize,
) -> Vec<RenderedGroup<'a>> {
    let total = page.remaining_tokens();
    let mut rendered: Vec<RenderedGroup<'_>> = Vec::new();
    for index in fair_order(groups) {
        let group = &groups[index];
        let headline = group.headline();
        let price = cost(&headline);
        let spent = total - page.remaining_tokens();
        if !rendered.is_empty() && (spent + price) * 100 > limit || !page.reserve(price) {
            break;
        }
        rendered.push(RenderedGroup::new(index, headline, group));
    }
    rendered
}

/// Makes room for a list of the failures without a headline, and for the other members of groups, if that keeps every
/// location: fewer headlines, or a single one without its message. Returns the list, which is empty if there is no room
/// for it.
fn reserve_list<'a>(
    groups: &'a [FailureGroup<'a>],
    rendered: &mut Vec<RenderedGroup<'a>>,
    page: &mut DigestWriter,
) -> Vec<String> {
    let mut room = page.remaining_tokens();
    for length in (1..=rendered.len()).rev() {
        if let Some((list, price)) = list_without(groups, &rendered[..length], room) {
            let dropped = rendered.drain(length..);
            page.release(dropped.map(|group| cost(&group.headline)).sum());
            page.reserve(price);
            return list;
        }
        room += rendered
            .get(length - 1)
            .map_or(0, |last| cost(&last.headline));
    }
    let Some(first) = groups.first() else {
        return Vec::new();
    };
    let single = [RenderedGroup::new(0, first.subject(), first)];
    let price = cost(&single[0].headline);
    let list = room
        .checked_sub(price)
        .filter(|_| !single[0].headline.is_empty())
        .and_then(|room| list_without(groups, &single, room));
    let Some((list, list_price)) = list else {
        return Vec::new();
    };
    page.release(room - page.remaining_tokens());
    page.reserve(price + list_price);
    *rendered = single.into();
    list
}

/// The list of all failures without a headline, and its price, if there is room for it.
fn list_without(
    groups: &[FailureGroup<'_>],
    rendered: &[RenderedGroup<'_>],
    room: usize,
) -> Option<(Vec<String>, usize)> {
    let last = rendered.iter().max_by_key(|group| group.index)?;
    let members = rendered.iter().flat_map(|group| group.group.others());
    let members: usize = members.map(|member| member_cost(&member)).sum();
    let is_rendered = |index: usize| rendered.iter().any(|group| group.index == index);
    let others: Vec<&Failure> = groups
        .iter()
        .enumerate()
        .filter(|(index, _)| !is_rendered(*index))
        .flat_map(|(_, group)| group.members())
        .collect();
    [true, false].into_iter().find_map(|with_ids| {
        let list = short_list(&others, last.group.first, with_ids);
        let lines = member_lines(LIST_LEAD, &list);
        let price: usize = lines.iter().map(|line| cost(line)).sum();
        (price + members <= room).then_some((list, price))
    })
}

/// A group, with the parts of it that were written.
struct RenderedGroup<'a> {
    index: usize,
    group: &'a FailureGroup<'a>,
    headline: String,
    members: Vec<String>,
    /// Lines of its body, with their positions.
    lines: Vec<(usize, &'a str)>,
}

impl<'a> RenderedGroup<'a> {
    fn new(index: usize, headline: String, group: &'a FailureGroup<'a>) -> Self {
        Self {
            index,
            group,
            headline,
            members: Vec::new(),
            lines: Vec::new(),
        }
    }
}

/// The lines of a list of failures.
fn member_lines(lead: &str, members: &[String]) -> Vec<String> {
    const LINE_BYTES: usize = 240;
    let mut lines: Vec<String> = Vec::new();
    for member in members {
        match lines.last_mut() {
            Some(line) if line.len() + member.len() < LINE_BYTES => {
                line.push_str(", ");
                line.push_str(member);
            }
            Some(_) => lines.push(format!("    {member}")),
            None => lines.push(format!("{lead}{member}")),
        }
    }
    lines
}

/// The cost of a member within a line of members.
fn member_cost(member: &str) -> usize {
    estimate_tokens(member) + 2
}

/// The other members of each group, one from each in turn.
fn share_members(
    rendered: &mut [RenderedGroup<'_>],
    page: &mut DigestWriter,
    total: usize,
    limit: usize,
) {
    let mut queues: Vec<_> = rendered.iter().map(|it| it.group.others()).collect();
    loop {
        let mut any = false;
        for (group, queue) in rendered.iter_mut().zip(&mut queues) {
            let Some(member) = queue.next() else { continue };
            if member.is_empty() || group.members.contains(&member) {
                any = true;
                continue;
            }
            let price = member_cost(&member);
            if (total - page.remaining_tokens() + price) * 100 > limit || !page.reserve(price) {
                return;
            }
            group.members.push(member);
            any = true;
        }
        if !any {
            return;
        }
    }
}

/// Messages and excerpts, a line of each in turn.
fn share_bodies(
    rendered: &mut [RenderedGroup<'_>],
    page: &mut DigestWriter,
    total: usize,
    limit: usize,
) {
    let mut shown_lines: HashSet<&str> = HashSet::new();
    let bodies: Vec<Vec<(usize, &str)>> = rendered
        .iter()
        .map(|it| detail_lines(it.group.first))
        .collect();
    let longest = bodies.iter().map(Vec::len).max().unwrap_or(0);
    for round in 0..longest {
        for (group, body) in rendered.iter_mut().zip(&bodies) {
            let Some(&(at, line)) = body.get(round) else {
                continue;
            };
            let summary = &group.group.first.summary;
            let repeats = group.headline.contains(line.trim())
                || is_reported(line, &group.headline, group.group.first)
                || !summary.is_empty()
                    && !is_diff_or_source(line)
                    && line.contains(summary.as_str())
                || group
                    .lines
                    .iter()
                    .any(|(_, shown)| is_repetition(line, shown));
            // A value may also equal another one of the same failure.
            let is_value = || {
                is_labelled(group.group.first, at)
                    && group.lines.iter().any(|(_, shown)| *shown == line)
            };
            if repeats || !shown_lines.insert(without_mark(line)) && !is_value() {
                continue;
            }
            let price = cost(line) + 1;
            if (total - page.remaining_tokens() + price) * 100 > limit || !page.reserve(price) {
                return;
            }
            group.lines.push((at, line));
        }
    }
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

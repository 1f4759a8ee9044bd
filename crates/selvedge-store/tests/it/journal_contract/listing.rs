//! Tests of listing runs.

use std::path::PathBuf;

use selvedge_core::model::{Cost, CostSource, Event, MicroUsd, Outcome, RunId};

use super::JournalBackend;
use super::sample::{
    TASK, append, began, created, dollars, interrupted, judged, run, session_ended, session_started,
};
use selvedge_store::{Journal, RunFilter};
use selvedge_store::{RunStatus, RunSummary, TaskHead};

fn ids(runs: &[RunSummary]) -> Vec<RunId> {
    runs.iter().map(|summary| summary.run_id).collect()
}

fn status_of(journal: &impl Journal) -> RunStatus {
    journal.summary(run(1)).unwrap().unwrap().status
}

/// A summary shows task, attempts, cost, times and status as of the latest event.
pub(crate) fn a_list_shows_what_became_of_each_run<B: JournalBackend>(fresh: impl Fn() -> B) {
    let backend = fresh();
    let journal = backend.open();
    let description = format!("\n  mend\0 it \u{1F9F5}{}\nand more\n", "x".repeat(200));
    let created = created(&description, "/w/a b");
    let events = append(&journal, run(1), 0, [created, began(1), session_started()]);
    append(
        &journal,
        run(1),
        3,
        [session_ended(1, dollars(0.25)), Event::Suspended],
    );
    assert_eq!(status_of(&journal), RunStatus::Suspended);
    append(
        &journal,
        run(1),
        5,
        [Event::Resumed { after_crash: false }, began(2)],
    );
    assert_eq!(status_of(&journal), RunStatus::Open);
    let reason = String::new;
    append(
        &journal,
        run(1),
        7,
        [Event::ReviewRequested { reason: reason() }],
    );
    assert_eq!(status_of(&journal), RunStatus::AwaitingReview);
    let reviewed = Event::Reviewed {
        accepted: true,
        by: "me".to_owned(),
        stated_by: None,
        reason: reason(),
    };
    append(
        &journal,
        run(1),
        8,
        [reviewed, session_ended(2, dollars(0.5))],
    );
    assert_eq!(status_of(&journal), RunStatus::Open);
    let outcome = Outcome::Verified;
    let last = append(&journal, run(1), 10, [Event::RunFinished { outcome }]);

    let listed = journal.runs(&RunFilter::default(), 10, None).unwrap();
    let expected = RunSummary {
        run_id: run(1),
        last_seq: 11,
        created_at: events[0].at,
        updated_at: last[0].at,
        task: Some(TaskHead {
            task_id: TASK.parse().unwrap(),
            workspace: PathBuf::from("/w/a b"),
            description: format!("mend\0 it \u{1F9F5}{}", "x".repeat(110)),
            agent: "scripted".to_owned(),
            max_attempts: 3,
            part_of: None,
        }),
        attempts: 2,
        status: RunStatus::Finished { outcome },
        cost: dollars(0.75),
        session_open: false,
    };
    assert_eq!(listed, [expected]);
}

/// A judge's cost counts like a session's. A judgement that was interrupted is repeated, and the total cost
/// is unknown from then on.
pub(crate) fn what_judges_cost_is_in_the_sum<B: JournalBackend>(fresh: impl Fn() -> B) {
    let backend = fresh();
    let journal = backend.open();
    let cost = || journal.summary(run(1)).unwrap().unwrap().cost;
    let judged = || judged(1, dollars(0.5));
    let begin = [created("mend it", "/w"), began(1), session_started()];
    append(&journal, run(1), 0, begin);
    let events = [session_ended(1, dollars(0.25)), session_started(), judged()];
    append(&journal, run(1), 3, events);
    assert_eq!(cost(), dollars(0.75));
    append(
        &journal,
        run(1),
        6,
        [session_started(), session_started(), judged()],
    );
    assert_eq!(cost().at_least(), MicroUsd(1_250_000));
    assert_eq!(cost().source, CostSource::Unknown);
}

/// The cost of an interrupted session is unknown: the sum is a lower bound from then on.
pub(crate) fn a_session_cut_off_leaves_its_cost_unknown<B: JournalBackend>(fresh: impl Fn() -> B) {
    let backend = fresh();
    let journal = backend.open();
    let cost = || journal.summary(run(1)).unwrap().unwrap().cost;
    append(
        &journal,
        run(1),
        0,
        [created("mend it", "/w"), began(1), session_started()],
    );
    assert_eq!(cost(), Cost::ZERO);
    append(
        &journal,
        run(1),
        3,
        [session_ended(1, dollars(0.25)), interrupted(1)],
    );
    assert_eq!(
        cost(),
        dollars(0.25),
        "its end was told, so its cost is known"
    );
    append(&journal, run(1), 5, [session_started(), interrupted(2)]);
    assert_eq!(
        cost(),
        Cost {
            micro_usd: Some(MicroUsd(250_000)),
            source: CostSource::Unknown
        }
    );
}

/// Newest first; each page begins where the one before it ended.
pub(crate) fn a_list_is_paged_from_the_newest_run<B: JournalBackend>(fresh: impl Fn() -> B) {
    let backend = fresh();
    let journal = backend.open();
    for number in [3, 1, 5, 2, 4] {
        append(&journal, run(number), 0, [created("mend it", "/w")]);
    }
    let page = |before| ids(&journal.runs(&RunFilter::default(), 2, before).unwrap());
    assert_eq!(page(None), [run(5), run(4)]);
    assert_eq!(page(Some(run(4))), [run(3), run(2)]);
    assert_eq!(page(Some(run(2))), [run(1)]);
    assert_eq!(page(Some(run(1))), []);
}

/// Filters by workspace, task and whether the run is finished, alone and combined.
pub(crate) fn lists_can_be_narrowed<B: JournalBackend>(fresh: impl Fn() -> B) {
    let backend = fresh();
    let journal = backend.open();
    let finished = || Event::RunFinished {
        outcome: Outcome::Stuck,
    };
    append(&journal, run(1), 0, [created("mend it", "/w/one")]);
    append(
        &journal,
        run(2),
        0,
        [created("mend it", "/w/two"), finished()],
    );
    append(
        &journal,
        run(3),
        0,
        [created("mend it", "/w/one"), finished()],
    );
    let listed = |filter: RunFilter| ids(&journal.runs(&filter, 10, None).unwrap());
    let workspace = Some(PathBuf::from("/w/one"));
    let all = RunFilter::default;
    assert_eq!(
        listed(RunFilter {
            workspace: workspace.clone(),
            ..all()
        }),
        [run(3), run(1)]
    );
    assert_eq!(
        listed(RunFilter {
            finished: Some(true),
            ..all()
        }),
        [run(3), run(2)]
    );
    assert_eq!(
        listed(RunFilter {
            finished: Some(false),
            workspace,
            ..all()
        }),
        [run(1)]
    );
    assert_eq!(
        listed(RunFilter {
            task: Some(TASK.parse().unwrap()),
            ..all()
        })
        .len(),
        3
    );
    let other_task = run(1).to_string().parse().unwrap();
    assert_eq!(
        listed(RunFilter {
            task: Some(other_task),
            ..all()
        }),
        []
    );
}

/// Summaries that are rebuilt from the events equal the original ones.
pub(crate) fn summaries_can_be_made_anew<B: JournalBackend>(fresh: impl Fn() -> B) {
    let backend = fresh();
    let journal = backend.open();
    append(
        &journal,
        run(1),
        0,
        [created("one", "/w"), began(1), session_started()],
    );
    append(&journal, run(2), 0, [created("two", "/w"), began(1)]);
    append(
        &journal,
        run(2),
        2,
        [session_ended(1, dollars(1.5)), Event::Suspended],
    );
    let all = || journal.runs(&RunFilter::default(), 10, None).unwrap();
    let before = all();
    journal.rebuild().unwrap();
    assert_eq!(all(), before);
    append(&journal, run(1), 3, [session_ended(1, dollars(0.5))]);
    assert_eq!(journal.summary(run(1)).unwrap().unwrap().cost, dollars(0.5));
}

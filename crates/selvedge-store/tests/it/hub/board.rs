//! Queries for user interfaces: pages in any order and counts, compared with the same selection from a list of all
//! tasks; queue latencies; and saved statistics.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use selvedge_core::model::{Cost, CostSource, FindingSeverity, MicroUsd, Outcome, TaskId, Usage};
use selvedge_protocol::{CostEntry, TaskState};
use selvedge_store::hub::{
    CheckCondition, FindingCondition, HubStore, ListFilter, NewTask, RunStatsFilter, RunStatsRow,
    TaskChange, TaskCounts, TaskFilter, TaskPageRequest, TaskSortOrder, TaskView,
};

use super::fixture::{PASSES, StoreFixture, begin, complete, entry, report, task, want};

const PROJECT: &str = "default";
const TASKS: u32 = 66;

fn one(number: u32) -> NewTask {
    let half = if number.is_multiple_of(2) {
        "Login"
    } else {
        "cart"
    };
    let mut new = task(number.into(), 0, &[]);
    new.title = format!("Task {number} of {half}");
    new.agent = (!number.is_multiple_of(3)).then(|| format!("agent-{}", number % 3));
    new.place = number
        .is_multiple_of(5)
        .then(|| "https://example.org/LOGIN.git".to_owned());
    if number % 11 == 10 {
        "theirs".clone_into(&mut new.project);
    }
    new
}

/// Adds tasks of several statuses: queued, running and finished ones, with their costs.
async fn create_tasks(fixture: &StoreFixture) -> std::sync::Arc<dyn HubStore> {
    let store = fixture.open().await;
    for number in 0..TASKS {
        store.submit(one(number)).await.unwrap();
    }
    let granted = store
        .assign_tasks(vec![want("loom", 40, &[])])
        .await
        .unwrap();
    assert_eq!(granted.len(), 40);
    for (number, granted) in (0_u64..).zip(&granted) {
        if number % 4 == 0 {
            continue;
        }
        let mut steps = vec![begin(1)];
        if number % 4 > 1 {
            steps.extend([report(1, PASSES), complete("once")]);
        }
        for (seq, step) in (1..).zip(steps) {
            let TaskChange::Entry(mut change) = entry(granted, seq, step) else {
                unreachable!("an entry")
            };
            let usage = Usage {
                input: number * 13 % 29,
                output: number % 3,
                ..Usage::default()
            };
            change.header.costs = vec![CostEntry {
                attempt_number: 1,
                call_id: format!("call-{seq}"),
                cost: Cost {
                    micro_usd: (number % 5 > 0).then_some(MicroUsd(number * 31 % 17)),
                    source: CostSource::Reported,
                },
                usage,
                model: None,
            }];
            let task = granted.row.task_id;
            store.change(task, TaskChange::Entry(change)).await.unwrap();
        }
    }
    store
}

async fn all(store: &dyn HubStore) -> Vec<TaskView> {
    let filter = ListFilter {
        project: Some(PROJECT.to_owned()),
        ..ListFilter::default()
    };
    store.tasks(filter, 1_000).await.unwrap().tasks
}

fn agent(view: &TaskView) -> &str {
    view.agent.as_deref().unwrap_or("default")
}

fn kind(view: &TaskView) -> (TaskState, Option<Outcome>) {
    (view.row.lease.state, view.row.lease.outcome)
}

fn matches_filter(filter: &TaskFilter, view: &TaskView) -> bool {
    let named = filter.agent.as_ref().is_none_or(|it| it == agent(view));
    let location = view.place.as_deref().unwrap_or_default();
    let has_words = filter.words.iter().all(|word| {
        [&view.title, location, &view.row.task_id.to_string()]
            .iter()
            .any(|it| it.to_lowercase().contains(word))
    });
    let is = |wanted: &Option<String>, actual: Option<&str>| {
        wanted
            .as_deref()
            .is_none_or(|wanted| Some(wanted) == actual)
    };
    let labels = &view.labels;
    named
        && has_words
        && is(&filter.place, Some(location))
        && is(&filter.worker, view.row.lease.worker.as_deref())
        && is(&filter.submitted_by, Some(&view.submitted_by))
        && filter.label.as_ref().is_none_or(|it| labels.contains(it))
        && filter
            .since
            .is_none_or(|since| view.row.created_at >= since)
        && filter.until.is_none_or(|until| view.row.created_at < until)
}

fn expected_counts(all: &[TaskView], filter: &TaskFilter) -> TaskCounts {
    let mut kinds = BTreeMap::new();
    for view in all.iter().filter(|view| matches_filter(filter, view)) {
        let (_, count) = kinds
            .entry(format!("{:?}", kind(view)))
            .or_insert((kind(view), 0));
        *count += 1;
    }
    let mut agents: Vec<String> = all.iter().map(|view| agent(view).to_owned()).collect();
    agents.sort_unstable();
    agents.dedup();
    let places: BTreeSet<String> = all.iter().filter_map(|view| view.place.clone()).collect();
    TaskCounts {
        statuses: kinds.into_values().collect(),
        accepted: 0,
        agents,
        places: places.into_iter().collect(),
        all: all.len() as u64,
    }
}

fn expected_page(all: &[TaskView], filter: &TaskFilter, page: &TaskPageRequest) -> Vec<TaskView> {
    let is_selected = |view: &&TaskView| {
        let kinds = page.statuses.as_ref();
        matches_filter(filter, view) && kinds.is_none_or(|kinds| kinds.contains(&kind(view)))
    };
    let mut rows: Vec<TaskView> = all.iter().filter(is_selected).cloned().collect();
    rows.sort_by_key(|view| Reverse(view.row.task_id));
    let number = |number: i128| (number, String::new());
    let text = |text: &str| (0, text.to_owned());
    let key = |view: &TaskView| match page.order {
        TaskSortOrder::Created => {
            let id = view.row.task_id.uuid().as_u128();
            number(i128::try_from(id & (u128::MAX >> 1)).unwrap())
        }
        TaskSortOrder::Updated => number(view.row.updated_at.into()),
        TaskSortOrder::Cost => number(view.cost.micro_usd.0.into()),
        TaskSortOrder::Tokens => number((view.cost.tokens_in + view.cost.tokens_out).into()),
        TaskSortOrder::Attempts => number(view.row.lease.last_attempt.into()),
        TaskSortOrder::Duration => number((view.row.updated_at - view.row.created_at).into()),
        TaskSortOrder::State => {
            let (state, outcome) = kind(view);
            let outcome = outcome.map_or("", |outcome| outcome.as_str());
            text(&format!("{}/{outcome}", state.as_str()))
        }
        TaskSortOrder::Title => text(&view.title.to_ascii_lowercase()),
        TaskSortOrder::Agent => text(agent(view)),
        TaskSortOrder::Place => text(view.place.as_deref().unwrap_or_default()),
    };
    if page.ascending {
        rows.sort_by_key(key);
    } else {
        rows.sort_by_key(|view| Reverse(key(view)));
    }
    rows.into_iter().skip(page.skip).take(page.limit).collect()
}

pub(super) async fn list_pages_and_counts_match_the_full_list(fixture: StoreFixture) {
    let store = create_tasks(&fixture).await;
    let all = all(store.as_ref()).await;
    assert_eq!(all.len(), 60);
    let text = |text: &str| Some(text.to_owned());
    let some = &all[7];
    let words = |words: &[&str]| words.iter().map(|it| (*it).to_owned()).collect();
    let none = TaskFilter::default;
    for filter in [
        none(),
        TaskFilter {
            agent: text("default"),
            ..none()
        },
        TaskFilter {
            agent: text("agent-1"),
            words: words(&["login"]),
            ..none()
        },
        TaskFilter {
            words: words(&[&some.row.task_id.to_string()[20..]]),
            ..none()
        },
        TaskFilter {
            words: words(&["nothing", "like", "it", "%_", "\"\\"]),
            ..none()
        },
        TaskFilter {
            place: some.place.clone(),
            submitted_by: Some(some.submitted_by.clone()),
            since: Some(some.row.created_at),
            ..none()
        },
        TaskFilter {
            until: Some(some.row.created_at),
            ..none()
        },
        TaskFilter {
            worker: text("loom"),
            ..none()
        },
        TaskFilter {
            label: text("linux"),
            ..none()
        },
    ] {
        let filter = TaskFilter {
            project: PROJECT.to_owned(),
            ..filter
        };
        let mut counts = store.task_counts(filter.clone()).await.unwrap();
        counts.statuses.sort_by_key(|(kind, _)| format!("{kind:?}"));
        assert_eq!(counts, expected_counts(&all, &filter), "{filter:?}");
        for (order, ascending) in [
            (TaskSortOrder::Created, false),
            (TaskSortOrder::Created, true),
            (TaskSortOrder::Updated, false),
            (TaskSortOrder::Cost, false),
            (TaskSortOrder::Tokens, true),
            (TaskSortOrder::Attempts, false),
            (TaskSortOrder::Duration, true),
            (TaskSortOrder::State, true),
            (TaskSortOrder::Title, true),
            (TaskSortOrder::Agent, false),
            (TaskSortOrder::Place, true),
        ] {
            let kinds = vec![
                (TaskState::Queued, None),
                (TaskState::Succeeded, Some(Outcome::Verified)),
            ];
            for (kinds, skip) in [(None, 0), (None, 37), (Some(kinds), 3), (Some(vec![]), 0)] {
                let page = TaskPageRequest {
                    statuses: kinds,
                    accepted: None,
                    order,
                    ascending,
                    skip,
                    limit: 20,
                };
                let shown = store
                    .list_tasks(filter.clone(), page.clone())
                    .await
                    .unwrap();
                assert_eq!(
                    shown,
                    expected_page(&all, &filter, &page),
                    "{filter:?} {page:?}"
                );
            }
        }
    }
}

pub(super) async fn queue_latencies_are_those_of_the_latest_started_tasks(fixture: StoreFixture) {
    let store = create_tasks(&fixture).await;
    let began = all(store.as_ref()).await;
    let began = began.iter().filter(|view| view.row.lease.last_attempt > 0);
    let began = began.count();
    let waits = store
        .queue_latencies(PROJECT.to_owned(), 1_000)
        .await
        .unwrap();
    assert_eq!(waits.len(), began);
    assert!(waits.iter().all(|wait| *wait >= 0), "{waits:?}");
    assert_eq!(
        store.queue_latencies(PROJECT.to_owned(), 3).await.unwrap(),
        waits[..3]
    );
    let nobody = store.queue_latencies("nobody".to_owned(), 3).await.unwrap();
    assert!(nobody.is_empty(), "{nobody:?}");
}

pub(super) async fn run_stats_are_never_replaced_by_older_ones(fixture: StoreFixture) {
    let store = fixture.open().await;
    for number in 0..2 {
        store.submit(one(number)).await.unwrap();
    }
    let lines = store.run_stats(PROJECT.to_owned()).await.unwrap();
    assert_eq!(lines, [], "what has no journal has no statistics");
    let granted = store
        .assign_tasks(vec![want("loom", 2, &[])])
        .await
        .unwrap();
    for granted in &granted {
        let TaskChange::Entry(mut change) = entry(granted, 1, begin(1)) else {
            unreachable!("an entry")
        };
        change.header.events = vec![
            serde_json::json!({ "seq": 1 }),
            serde_json::json!({ "seq": 2 }),
        ];
        let task = granted.row.task_id;
        store.change(task, TaskChange::Entry(change)).await.unwrap();
    }
    let views = all(store.as_ref()).await.into_iter();
    let created: BTreeMap<TaskId, i64> = views
        .map(|view| (view.row.task_id, view.row.created_at))
        .collect();
    let line = |number: u32, saved: Option<(u64, &str)>| RunStatsRow {
        task_id: one(number).task_id,
        place: one(number).place,
        worker: Some("loom".to_owned()),
        created_at: created[&one(number).task_id],
        event_seq: 2,
        saved: saved.map(|(seq, body)| (seq, body.to_owned())),
    };
    let lines = async || store.run_stats(PROJECT.to_owned()).await.unwrap();
    assert_eq!(lines().await, [line(0, None), line(1, None)]);
    let stale = async |limit: usize| {
        let stale = store.stale_run_stats(PROJECT.to_owned(), limit).await;
        let mut stale = stale.unwrap();
        stale.sort_unstable();
        stale
    };
    let both = [(one(0).task_id, 2), (one(1).task_id, 2)];
    assert_eq!(stale(10).await, both);
    assert_eq!(stale(1).await.len(), 1);
    let keep = async |of: &[(u32, u64, &str)]| {
        let of = of.iter();
        let of = of.map(|(number, seq, body)| (one(*number).task_id, *seq, (*body).to_owned()));
        store.save_run_stats(of.collect()).await.unwrap();
    };
    keep(&[(0, 1, "one"), (0, 2, "two\0"), (40, 1, "of nobody")]).await;
    keep(&[(0, 1, "one"), (1, 1, "one")]).await;
    assert_eq!(stale(10).await, both[1..], "the other one has all events");
    let two = lines().await.remove(0).saved.unwrap();
    assert!(two.0 == 2 && two.1.starts_with("two"), "{two:?}");
    keep(&[(0, 2, "two again")]).await;
    assert_eq!(
        lines().await,
        [line(0, Some((2, "two again"))), line(1, Some((1, "one")))]
    );
    assert_eq!(store.run_stats("theirs".to_owned()).await.unwrap(), []);
}

pub(super) async fn tasks_are_found_by_words_of_their_saved_statistics(fixture: StoreFixture) {
    let store = fixture.open().await;
    for number in 0..2 {
        store.submit(one(number)).await.unwrap();
    }
    let body = "{\"accepted\":true,\"model\":\"opus\",\"search_text\":\"assert \\\"a\\\" == b\"}";
    let task = one(1).task_id;
    store
        .save_run_stats(vec![(task, 0, body.to_owned())])
        .await
        .unwrap();
    let find = async |words: &[&str]| {
        let filter = TaskFilter {
            words: words.iter().map(|it| (*it).to_owned()).collect(),
            ..TaskFilter::default()
        };
        found_tasks(store.as_ref(), filter).await
    };
    assert_eq!(find(&["assert", "\"a\""]).await, [task]);
    assert_eq!(find(&["assert", "absent"]).await, []);
    assert_eq!(find(&["search_text"]).await, [], "not by names of fields");
    assert_eq!(find(&["accepted"]).await, []);
    let saved = store
        .saved_run_stats(vec![task, one(0).task_id])
        .await
        .unwrap();
    assert_eq!(saved, [(task, body.to_owned())]);
}

/// The tasks that match a filter; asserts that their number is the counted one.
async fn found_tasks(store: &dyn HubStore, filter: TaskFilter) -> Vec<TaskId> {
    let filter = TaskFilter {
        project: PROJECT.to_owned(),
        ..filter
    };
    let page = TaskPageRequest {
        ascending: true,
        limit: 10,
        ..TaskPageRequest::default()
    };
    let counts = store.task_counts(filter.clone()).await.unwrap();
    let found = store.list_tasks(filter, page).await.unwrap();
    let counted: u64 = counts.statuses.iter().map(|(_, count)| count).sum();
    assert_eq!(counted, found.len() as u64);
    found.iter().map(|view| view.row.task_id).collect()
}

pub(super) async fn tasks_are_found_by_conditions_on_their_saved_statistics(fixture: StoreFixture) {
    use serde_json::json;
    let store = fixture.open().await;
    for number in 0..4 {
        store.submit(one(number)).await.unwrap();
    }
    let id = |number: u32| one(number).task_id;
    let odd = "make \"test\" \\ $.x ü";
    let stats = [
        json!({
            "agent": "opus", "model": null, "ending": "rescued", "caught_by_original_tests": true,
            "checks": {
                odd: { "runs": 3, "failures": 2, "flaky": 0, "slowest_ms": 90_000, "mended": true },
                "lint": { "runs": 1, "failures": 0, "flaky": 1, "slowest_ms": 5, "mended": false },
            },
            "guard": [["early_exit", "strong"], ["test_removed", "offence"]],
            "search_text": "the model was opus, \u{fffd}",
        }),
        json!({
            "agent": "haiku", "model": "o\"pus", "ending": "open", "caught_by_original_tests": false,
            "checks": { "lint": { "runs": 2, "failures": 1, "flaky": 0, "slowest_ms": 70, "mended": false } },
            "guard": [["early_exit", "offence"]],
            "search_text": "",
        }),
        json!({ "agent": "opus", "model": "opus", "ending": "rescued", "checks": {}, "guard": [], "search_text": "" }),
    ];
    let bodies = (0..)
        .zip(stats)
        .map(|(number, body)| (id(number), 0, body.to_string()));
    store.save_run_stats(bodies.collect()).await.unwrap();
    let find = async |stats: RunStatsFilter| {
        let filter = TaskFilter {
            stats: Some(stats),
            ..TaskFilter::default()
        };
        found_tasks(store.as_ref(), filter).await
    };
    let none = RunStatsFilter::default;
    assert_eq!(
        find(none()).await,
        [id(0), id(1), id(2)],
        "all with statistics"
    );
    let fields = |value: serde_json::Value| RunStatsFilter {
        fields: serde_json::from_value(value).unwrap(),
        ..none()
    };
    assert_eq!(
        find(fields(json!({ "ending": "rescued" }))).await,
        [id(0), id(2)]
    );
    assert_eq!(find(fields(json!({ "model": "o\"pus" }))).await, [id(1)]);
    assert_eq!(find(fields(json!({ "model": null }))).await, [id(0)]);
    let caught = json!({ "caught_by_original_tests": true, "ending": "rescued" });
    assert_eq!(find(fields(caught)).await, [id(0)]);
    assert_eq!(
        find(fields(json!({ "ending": "rescued", "model": "none" }))).await,
        []
    );

    let check = |name: &str, number: &str, at_least: u64| RunStatsFilter {
        check: Some(CheckCondition {
            name: name.to_owned(),
            number: number.to_owned(),
            at_least,
        }),
        ..none()
    };
    assert_eq!(find(check("lint", "slowest_ms", 0)).await, [id(0), id(1)]);
    assert_eq!(find(check("lint", "failures", 1)).await, [id(1)]);
    assert_eq!(find(check("lint", "flaky", 1)).await, [id(0)]);
    assert_eq!(find(check("lint", "mended", 1)).await, []);
    assert_eq!(find(check(odd, "mended", 1)).await, [id(0)]);
    assert_eq!(find(check(odd, "slowest_ms", 90_000)).await, [id(0)]);
    assert_eq!(find(check(odd, "slowest_ms", 90_001)).await, []);
    assert_eq!(find(check("absent\0", "failures", 0)).await, []);

    let finding = |kind: &str, severities: &[FindingSeverity]| RunStatsFilter {
        finding: Some(FindingCondition {
            kind: kind.to_owned(),
            severities: severities.to_vec(),
        }),
        ..none()
    };
    let to_review = [FindingSeverity::Strong, FindingSeverity::Weak];
    let violation = [FindingSeverity::Violation];
    assert_eq!(find(finding("early_exit", &to_review)).await, [id(0)]);
    assert_eq!(find(finding("early_exit", &violation)).await, [id(1)]);
    assert_eq!(find(finding("test_removed", &violation)).await, [id(0)]);
    assert_eq!(find(finding("early_exit", &[])).await, []);
    let all = RunStatsFilter {
        fields: fields(json!({ "ending": "rescued" })).fields,
        check: check("lint", "runs", 1).check,
        finding: finding("early_exit", &to_review).finding,
    };
    assert_eq!(find(all).await, [id(0)]);

    // The agent of a task that names none is the one that ran.
    let agent = async |name: &str| {
        let filter = TaskFilter {
            agent: Some(name.to_owned()),
            ..TaskFilter::default()
        };
        found_tasks(store.as_ref(), filter).await
    };
    assert_eq!(agent("opus").await, [id(0)]);
    assert_eq!(agent("default").await, [id(3)]);
    assert_eq!(agent("agent-1").await, [id(1)]);
}

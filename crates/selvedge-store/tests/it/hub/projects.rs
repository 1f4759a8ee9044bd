//! Projects: their limits, the fair share of their submitters, their deletion, and databases from before there were
//! projects.

use std::collections::BTreeMap;

use selvedge_core::model::MicroUsd;
use selvedge_protocol::lease::LeaseInput;
use selvedge_protocol::{CostEntry, PersonId, ProjectSettings, ProjectUsage};
use selvedge_store::hub::{
    Assignment, AuditAction, AuditOrder, AuditQuery, DeleteProjectOutcome, HubStore, NewApiToken,
    NewLoginSession, NewProject, NewSchedule, NewSessionOwner, NewTask, NewWebhook, Person,
    PollRequest, ProjectSubmitter, SubmitOutcome, TaskChange,
};
use uuid::Uuid;

use super::access::ada;
use super::fixture::{StoreFixture, apply_change, begin, complete, entry, task, want};
use super::kept::token;
use super::migrations::create_earlier_format;

pub(super) fn new_project(name: &str, settings: ProjectSettings) -> NewProject {
    NewProject {
        name: name.to_owned(),
        settings,
        created_by: ada(),
    }
}

pub(super) fn task_of(project: &str, submitter: &str, number: u128) -> NewTask {
    NewTask {
        project: project.to_owned(),
        submitted_by: submitter.to_owned(),
        ..task(number, 0, &[])
    }
}

/// Assigns at most so many tasks and counts them by project and submitter.
async fn assign(store: &dyn HubStore, poll: PollRequest) -> BTreeMap<(String, String), usize> {
    let mut counts = BTreeMap::new();
    for granted in store.assign_tasks(vec![poll]).await.unwrap() {
        let (view, _) = store.task(granted.row.task_id).await.unwrap().unwrap();
        *counts.entry((view.project, view.submitted_by)).or_default() += 1;
    }
    counts
}

fn counts<const N: usize>(expected: [(&str, &str, usize); N]) -> BTreeMap<(String, String), usize> {
    expected
        .map(|(project, submitter, count)| ((project.to_owned(), submitter.to_owned()), count))
        .into()
}

pub(super) async fn assignment_is_fair_to_projects_and_submitters(fixture: StoreFixture) {
    let store = fixture.open().await;
    for number in 0..300 {
        store.submit(task_of("a", "busy", number)).await.unwrap();
    }
    for (submitter, numbers) in [("rare", 300..302), ("late", 302..303)] {
        for number in numbers {
            store.submit(task_of("a", submitter, number)).await.unwrap();
        }
    }
    store.submit(task_of("b", "other", 303)).await.unwrap();
    let store = store.as_ref();
    assert_eq!(
        assign(store, want("one", 1, &[])).await,
        counts([("a", "busy", 1)]),
        "the oldest of several that run nothing"
    );
    assert_eq!(
        assign(store, want("two", 1, &[])).await,
        counts([("b", "other", 1)])
    );
    assert_eq!(
        assign(store, want("three", 4, &[])).await,
        counts([("a", "busy", 1), ("a", "late", 1), ("a", "rare", 2)])
    );
    // A worker of one project takes no task of another one.
    let of_b = PollRequest {
        project: Some("b".to_owned()),
        ..want("four", 4, &[])
    };
    assert_eq!(assign(store, of_b).await, counts([]));
    let usage = store.project_usage("a".to_owned()).await.unwrap();
    let running = usage
        .iter()
        .map(|it| (it.name.as_str(), it.usage.queued, it.usage.running));
    assert_eq!(
        running.collect::<Vec<_>>(),
        [("busy", 298, 2), ("late", 0, 1), ("rare", 0, 2)]
    );
}

pub(super) async fn limits_of_running_tasks_and_costs_delay_queued_tasks(fixture: StoreFixture) {
    let store = fixture.open().await;
    let settings = ProjectSettings {
        max_running: Some(3),
        max_running_per_submitter: Some(2),
        ..ProjectSettings::default()
    };
    let created = store.create_project(new_project("a", settings.clone()));
    assert!(created.await.unwrap());
    for number in 0..10 {
        let submitter = ["ada", "ben"][usize::from(number >= 5)];
        store.submit(task_of("a", submitter, number)).await.unwrap();
    }
    store.submit(task_of("b", "cleo", 10)).await.unwrap();
    let assignable = async |project: Option<&str>, slots: usize, labels: &[&str]| {
        let want = PollRequest {
            project: project.map(str::to_owned),
            ..want("", slots, labels)
        };
        store.count_assignable(want).await.unwrap()
    };
    assert_eq!(
        assignable(None, 9, &[]).await,
        4,
        "three of `a`, one of `b`"
    );
    assert_eq!(assignable(Some("b"), 9, &[]).await, 1);
    assert_eq!(assignable(None, 2, &[]).await, 2);
    let first = store.assign_tasks(vec![want("one", 9, &[])]).await.unwrap();
    assert_eq!(first.len(), 4, "three of `a`, one of `b`");
    assert_eq!(assignable(None, 9, &[]).await, 0);
    let mut labelled = task_of("b", "cleo", 20);
    labelled.labels = vec!["gpu".to_owned()];
    store.submit(labelled.clone()).await.unwrap();
    assert_eq!(assignable(None, 9, &[]).await, 0, "it needs a label");
    assert_eq!(assignable(None, 9, &["gpu", "x"]).await, 1);
    let cancel = TaskChange::Lease(LeaseInput::Cancel {
        by: "cleo".to_owned(),
        reason: String::new(),
    });
    apply_change(store.as_ref(), labelled.task_id, cancel).await;
    assert_eq!(
        assign(store.as_ref(), want("two", 9, &[])).await,
        counts([])
    );

    // The task that ends has a call that costs $0.000007, twice in its stream, and one of unknown cost.
    let mut of_ada = Vec::new();
    let mut of_ben = Vec::new();
    for granted in first {
        let (view, _) = store.task(granted.row.task_id).await.unwrap().unwrap();
        match view.submitted_by.as_str() {
            "ada" => of_ada.push(granted),
            "ben" => of_ben.push(granted),
            _ => {}
        }
    }
    assert_eq!((of_ada.len(), of_ben.len()), (2, 1));
    let apply = async |granted: &Assignment, change| {
        apply_change(store.as_ref(), granted.row.task_id, change).await
    };
    let mut ended = entry(&of_ben[0], 2, complete("once"));
    if let TaskChange::Entry(entry) = &mut ended {
        entry.header.costs.push(CostEntry {
            call_id: "another".to_owned(),
            ..CostEntry::lost(1)
        });
    }
    apply(&of_ben[0], entry(&of_ben[0], 1, begin(1))).await;
    apply(&of_ben[0], ended).await;
    let usage = store.project_usage("a".to_owned()).await.unwrap();
    let of_ben_now = ProjectUsage {
        queued: 4,
        running: 0,
        cost_micro_usd: MicroUsd(7),
        calls_of_unknown_cost: 1,
    };
    assert_eq!(
        (usage[1].name.as_str(), usage[1].usage),
        ("ben", of_ben_now)
    );

    let costs = ProjectSettings {
        max_cost_micro_usd_per_day: Some(MicroUsd(8)),
        max_cost_micro_usd_per_day_per_submitter: Some(MicroUsd(7)),
        ..ProjectSettings::default()
    };
    let update = async |before, settings| {
        let name = "a".to_owned();
        let updated = store.update_project(name, before, settings, ada()).await;
        assert!(updated.unwrap());
    };
    update(settings, costs.clone()).await;
    assert_eq!(
        assign(store.as_ref(), want("three", 2, &[])).await,
        counts([("a", "ada", 2)]),
        "`ben` has reached the limit of a submitter"
    );
    apply(&of_ada[0], entry(&of_ada[0], 1, begin(1))).await;
    store.submit(task_of("a", "new", 11)).await.unwrap();
    assert_eq!(
        assign(store.as_ref(), want("four", 9, &[])).await,
        counts([]),
        "$0.000014 are beyond the limit of the project"
    );
    update(costs, ProjectSettings::default()).await;
    assert_eq!(
        assign(store.as_ref(), want("five", 9, &[])).await,
        counts([("a", "ada", 1), ("a", "ben", 4), ("a", "new", 1)])
    );
}

pub(super) async fn submission_is_refused_beyond_queue_limit_or_repositories(
    fixture: StoreFixture,
) {
    let store = fixture.open().await;
    let settings = ProjectSettings {
        max_queued: Some(2),
        repositories: vec!["https://git.example/ours/*".to_owned()],
        ..ProjectSettings::default()
    };
    let allowed = settings.repositories.clone();
    let project = new_project("a", settings);
    assert!(store.create_project(project.clone()).await.unwrap());
    assert!(!store.create_project(project).await.unwrap(), "it exists");
    let new = |number: u128, place: &str| {
        let mut new = task_of("a", "ada", number);
        new.place = Some(place.to_owned());
        new.idempotency = Some((format!("key {number}"), [1; 32]));
        new
    };
    let ours = "https://git.example/ours/shop.git";
    let theirs = "https://git.example/ours/../theirs";
    let refused = store.submit(new(1, theirs)).await.unwrap();
    assert_eq!(refused, SubmitOutcome::RepositoryNotAllowed(allowed));
    let (one, two, three) = tokio::join!(
        store.submit(new(1, ours)),
        store.submit(new(2, ours)),
        store.submit(new(3, ours))
    );
    let outcomes = [one.unwrap(), two.unwrap(), three.unwrap()];
    let full = SubmitOutcome::QueueFull { limit: 2 };
    let refused = outcomes.iter().filter(|outcome| **outcome == full).count();
    assert_eq!(refused, 1, "{outcomes:?}");
    // A task that exists is named as such in a full queue, too.
    let known = outcomes.iter().position(|outcome| *outcome != full);
    let mut known = new(u128::try_from(known.unwrap()).unwrap() + 1, theirs);
    known.idempotency = None;
    let refused = store.submit(known).await.unwrap();
    assert_eq!(refused, SubmitOutcome::IdTaken);
    // The hub's own subtasks were accepted with their plan.
    let mut part = new(4, theirs);
    part.part_of = Some(selvedge_core::model::ParentPlan {
        plan: task(9, 0, &[]).task_id.into(),
        subtask: "s".to_owned(),
    });
    let accepted = store.submit(part).await.unwrap();
    assert!(matches!(accepted, SubmitOutcome::New(_)), "{accepted:?}");
    // The same request succeeds when there is room.
    let index = outcomes
        .iter()
        .position(|outcome| *outcome == full)
        .unwrap();
    let number = u128::try_from(index).unwrap() + 1;
    let all = store.assign_tasks(vec![want("w", 9, &[])]).await.unwrap();
    assert_eq!(all.len(), 3);
    let again = store.submit(new(number, ours)).await.unwrap();
    assert!(matches!(again, SubmitOutcome::New(_)), "{again:?}");
}

pub(super) async fn refused_submissions_of_one_key_are_no_duplicates(fixture: StoreFixture) {
    let store = fixture.open().await;
    let full = ProjectSettings {
        max_queued: Some(0),
        ..ProjectSettings::default()
    };
    let project = new_project("a", full.clone());
    assert!(store.create_project(project).await.unwrap());
    let submit = |number: u128| {
        let mut new = task_of("a", "ada", number);
        new.idempotency = Some(("key".to_owned(), [1; 32]));
        store.submit(new)
    };
    for first in [0, 3, 6] {
        let (one, two, three) = tokio::join!(submit(first), submit(first + 1), submit(first + 2));
        for outcome in [one, two, three] {
            assert_eq!(outcome.unwrap(), SubmitOutcome::QueueFull { limit: 0 });
        }
    }
    let open = ProjectSettings::default();
    let updated = store.update_project("a".to_owned(), full, open, ada());
    assert!(updated.await.unwrap());
    let (one, two, three) = tokio::join!(submit(10), submit(11), submit(12));
    let outcomes = [one.unwrap(), two.unwrap(), three.unwrap()];
    let new = outcomes.iter().find_map(|outcome| match outcome {
        SubmitOutcome::New(id) => Some(*id),
        _ => None,
    });
    let duplicate = SubmitOutcome::Duplicate(new.expect("one new task"));
    let duplicates = outcomes.iter().filter(|outcome| **outcome == duplicate);
    assert_eq!(duplicates.count(), 2, "{outcomes:?}");
}

/// People may change their names at their provider, and names may be equal.
pub(super) async fn people_are_submitters_by_their_identities(fixture: StoreFixture) {
    let store = fixture.open().await;
    let settings = ProjectSettings {
        max_running_per_submitter: Some(1),
        ..ProjectSettings::default()
    };
    assert!(
        store
            .create_project(new_project("a", settings))
            .await
            .unwrap()
    );
    let mut submitters = Vec::new();
    for (number, subject, name) in [
        (1, Some("1"), "Ada"),
        (2, Some("2"), "Ada"),
        (3, None, "Ada"),
        (4, Some("1"), "Ada L."),
        (5, None, "Ada"),
        (6, Some("2"), "Ada"),
    ] {
        let mut new = task_of("a", name, number);
        new.person = subject.map(|subject| PersonId {
            issuer: "https://login.example".to_owned(),
            subject: subject.to_owned(),
        });
        let id = new.task_id;
        assert_eq!(store.submit(new).await.unwrap(), SubmitOutcome::New(id));
        let (view, _) = store.task(id).await.unwrap().unwrap();
        submitters.push(view.submitter.expect("a submitter"));
    }
    assert_eq!(
        submitters[..3],
        [submitters[3], submitters[5], submitters[4]]
    );
    let granted = store.assign_tasks(vec![want("w", 9, &[])]).await.unwrap();
    assert_eq!(granted.len(), 3, "one of each");
    let usage = store.project_usage("a".to_owned()).await.unwrap();
    let expected = [
        (submitters[1], "Ada"),
        (submitters[2], "Ada"),
        (submitters[0], "Ada L."),
    ];
    let one_each = ProjectUsage {
        queued: 1,
        running: 1,
        ..ProjectUsage::default()
    };
    let expected = expected.map(|(submitter, name)| ProjectSubmitter {
        submitter,
        name: name.to_owned(),
        usage: one_each,
    });
    assert_eq!(usage, expected);
    // Submitters that use nothing are left out.
    for number in 1..=6 {
        let cancel = TaskChange::Cancel {
            actor: ada(),
            reason: String::new(),
        };
        let id = task(number, 0, &[]).task_id;
        let (view, _) = store.task(id).await.unwrap().unwrap();
        let epoch = view.row.lease.epoch;
        apply_change(store.as_ref(), id, TaskChange::Forget { epoch }).await;
        apply_change(store.as_ref(), id, cancel).await;
    }
    assert_eq!(store.project_usage("a".to_owned()).await.unwrap(), []);
}

pub(super) async fn settings_are_replaced_if_nobody_has_changed_them(fixture: StoreFixture) {
    let store = fixture.open().await;
    let limited = |limit| ProjectSettings {
        max_running: Some(limit),
        ..ProjectSettings::default()
    };
    let update =
        |expected, settings| store.update_project("default".to_owned(), expected, settings, ada());
    assert!(!update(limited(1), limited(2)).await.unwrap());
    let unlimited = ProjectSettings::default();
    let (one, two) = tokio::join!(
        update(unlimited.clone(), limited(1)),
        update(unlimited, limited(2))
    );
    let (one, two) = (one.unwrap(), two.unwrap());
    assert!(one != two, "{one} {two}");
    let stored = store.projects().await.unwrap().remove(0).settings;
    assert_eq!(stored, limited(if one { 1 } else { 2 }));
    assert!(update(stored, limited(3)).await.unwrap());
}

pub(super) async fn project_is_deleted_without_unfinished_tasks_only(fixture: StoreFixture) {
    let store = fixture.open().await;
    let project = new_project("a", ProjectSettings::default());
    assert!(store.create_project(project.clone()).await.unwrap());
    let secret = NewApiToken {
        project: "a".to_owned(),
        ..token(1, None)
    };
    let hash = secret.hash;
    store.insert_token(secret).await.unwrap();
    let webhook = NewWebhook {
        webhook_id: Uuid::from_u128(2),
        project: "a".to_owned(),
        name: "hook".to_owned(),
        url: "https://hook.example".to_owned(),
        format: selvedge_protocol::WebhookFormat::Json,
        events: Vec::new(),
        secret: vec![1],
    };
    store.insert_webhook(webhook.clone(), ada()).await.unwrap();
    let schedule = NewSchedule {
        schedule_id: Uuid::from_u128(3),
        project: "a".to_owned(),
        name: "nightly".to_owned(),
        cron: "0 3 * * *".to_owned(),
        body: "{}".to_owned(),
        created_by: ada(),
        next_at: 1,
    };
    store.insert_schedule(schedule.clone()).await.unwrap();
    let session = NewLoginSession {
        session_id: Uuid::from_u128(4),
        owner: NewSessionOwner::Person(Person {
            id: PersonId {
                issuer: "https://login.example".to_owned(),
                subject: "1".to_owned(),
            },
            name: "Ada".to_owned(),
            project: "a".to_owned(),
            scopes: vec!["read".to_owned()],
        }),
        hash: [9; 32],
        idle_ms: 3_600_000,
        lasts_ms: 3_600_000,
        actor: ada(),
    };
    store.insert_session(session).await.unwrap();
    let find_session = async || store.find_session_by_hash([9; 32]).await.unwrap();
    assert!(find_session().await.is_some());
    store.submit(task_of("a", "ada", 1)).await.unwrap();
    let delete = async || store.delete_project("a".to_owned(), ada()).await.unwrap();
    assert_eq!(delete().await, DeleteProjectOutcome::Unfinished(1));
    assert!(store.find_token_by_hash(hash).await.unwrap().is_some());
    let cancel = TaskChange::Cancel {
        actor: ada(),
        reason: "enough".to_owned(),
    };
    apply_change(store.as_ref(), task(1, 0, &[]).task_id, cancel).await;
    assert_eq!(delete().await, DeleteProjectOutcome::Deleted);
    assert_eq!(delete().await, DeleteProjectOutcome::NotFound);
    assert!(store.find_token_by_hash(hash).await.unwrap().is_none());
    assert!(find_session().await.is_none());
    // Requests from before the deletion have no effect after it.
    let late = NewApiToken {
        project: "a".to_owned(),
        ..token(5, None)
    };
    let (late_id, late_hash) = (late.token_id, late.hash);
    store.insert_token(late).await.unwrap();
    assert!(store.find_token_by_hash(late_hash).await.unwrap().is_none());
    let ended = store
        .find_ended_access(vec![late_id], vec![])
        .await
        .unwrap();
    assert_eq!(ended, [late_id]);
    let (webhook_id, schedule_id) = (Uuid::from_u128(6), Uuid::from_u128(7));
    let webhook = NewWebhook {
        webhook_id,
        ..webhook
    };
    store.insert_webhook(webhook, ada()).await.unwrap();
    let schedule = NewSchedule {
        schedule_id,
        ..schedule
    };
    store.insert_schedule(schedule).await.unwrap();
    assert!(store.webhooks("a".to_owned()).await.unwrap().is_empty());
    assert!(store.schedules("a".to_owned()).await.unwrap().is_empty());
    assert!(store.due_schedules().await.unwrap().is_empty());
    let refused = store.submit(task_of("a", "ada", 2)).await.unwrap();
    assert_eq!(refused, SubmitOutcome::ProjectDeleted);
    assert!(!store.create_project(project).await.unwrap());
    let projects = store.projects().await.unwrap();
    let names = projects.iter().map(|project| project.name.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["default"]);
    let settings = ProjectSettings::default();
    let updated = store.update_project("a".to_owned(), settings.clone(), settings, ada());
    assert!(!updated.await.unwrap());
    let query = AuditQuery {
        project: "default".to_owned(),
        actor: None,
        action: None,
        subject: Some("a".to_owned()),
        order: AuditOrder::NewestFirst { before: None },
        limit: 10,
    };
    let entries = store.audit_entries(query).await.unwrap();
    let actions = entries.iter().map(|entry| entry.action);
    assert_eq!(
        actions.collect::<Vec<_>>(),
        [AuditAction::DeleteProject, AuditAction::CreateProject]
    );
}

pub(super) async fn task_is_not_added_to_a_project_that_is_deleted_meanwhile(
    fixture: StoreFixture,
) {
    let store = fixture.open().await;
    for number in 0..30 {
        let name = format!("p{number}");
        let project = new_project(&name, ProjectSettings::default());
        assert!(store.create_project(project).await.unwrap());
        let new = task_of(&name, "ada", number);
        let (submitted, deleted) =
            tokio::join!(store.submit(new), store.delete_project(name, ada()));
        let (submitted, deleted) = (submitted.unwrap(), deleted.unwrap());
        let is_consistent = match submitted {
            SubmitOutcome::New(_) => deleted == DeleteProjectOutcome::Unfinished(1),
            SubmitOutcome::ProjectDeleted => deleted == DeleteProjectOutcome::Deleted,
            _ => false,
        };
        assert!(is_consistent, "{submitted:?} {deleted:?}");
    }
}

/// Everything in the database of a hub without projects belongs to the project `default`, and webhooks still work. The
/// costs of the day of the migration count for the limits.
pub(super) async fn database_without_projects_is_migrated(fixture: StoreFixture) {
    let ids = [1, 2, 3].map(|number| task(number, 0, &[]).task_id);
    let [queued, ended, plan] = ids;
    let token = Uuid::from_u128(1);
    create_earlier_format(&fixture).await;
    let (bytes, secret, now) = match &fixture {
        StoreFixture::Sqlite(_) => ("zeroblob(32)", "x'00'", "unixepoch() * 1000"),
        StoreFixture::Postgres(_) => (
            "decode(repeat('00', 32), 'hex')",
            "'\\x00'",
            "(extract(epoch FROM now()) * 1000)::bigint",
        ),
    };
    fixture
        .execute(&format!(
            "INSERT INTO token VALUES ('{token}', 'ci', 'slv_', 'default', '[\"submit\"]', {bytes}, 1, NULL, NULL, NULL);
             INSERT INTO webhook VALUES ('{token}', 'default', 'hook', 'https://hook.example', 'json', '[]', {secret}, 1);"
        ))
        .await;
    for (number, id, by, labels, state) in [
        (1, queued, "ci", "[]", "queued"),
        (2, ended, "old", "[]", "cancelled"),
        (3, plan, "planner", "[\"selvedge:plan\"]", "queued"),
    ] {
        let task = match &fixture {
            StoreFixture::Sqlite(_) => format!(
                "INSERT INTO task (task_id, tenant, submitted_by, title, priority, labels, max_attempts, rank,
                                   created_at, updated_at, state, log_seq)
                 VALUES ('{id}', 'default', '{by}', 'old', 0, '{labels}', 1, 1, 1, 1, '{state}', 1);
                 INSERT INTO task_body VALUES ({number}, '{{}}');
                 INSERT INTO plan SELECT {number} WHERE {number} = 3;"
            ),
            StoreFixture::Postgres(_) => format!(
                "INSERT INTO request (task_id, tenant, submitted_by, title, priority, max_attempts, created_at, body)
                 VALUES ('{id}', 'default', '{by}', 'old', 0, 1, 1, '{{}}');
                 INSERT INTO task (task_no, rank, labels, state, log_seq, updated_at)
                 VALUES ({number}, 1, '{labels}', '{state}', 1, 1);"
            ),
        };
        let rows = format!(
            "INSERT INTO log VALUES ({number}, 1, 1, '{{\"type\":\"submitted\"}}');
             INSERT INTO cost VALUES ({number}, 1, 'yesterday', {now} - 86400000, 5, 'reported', 0, 0, '{{}}');
             INSERT INTO cost VALUES ({number}, 1, 'known', {now}, 7, 'reported', 0, 0, '{{}}');
             INSERT INTO cost VALUES ({number}, 1, 'unknown', {now}, NULL, 'unknown', 0, 0, '{{}}');"
        );
        fixture.execute(&(task + &rows)).await;
    }

    let store = fixture.open().await;
    let token = store.find_token_by_hash([0; 32]).await.unwrap().unwrap();
    assert_eq!(
        (token.name.as_str(), token.project.as_str()),
        ("ci", "default")
    );
    assert_eq!(store.projects().await.unwrap().len(), 1);
    let usage = store.project_usage("default".to_owned()).await.unwrap();
    let spent = |queued| ProjectUsage {
        queued,
        cost_micro_usd: MicroUsd(7),
        calls_of_unknown_cost: 1,
        ..ProjectUsage::default()
    };
    let usage: Vec<_> = usage
        .iter()
        .map(|it| (it.name.as_str(), it.usage))
        .collect();
    assert_eq!(usage, [("ci", spent(1)), ("old", spent(0))]);
    assert_eq!(
        assign(store.as_ref(), want("w", 9, &[])).await,
        counts([("default", "ci", 1)])
    );
    assert_eq!(store.plans().await.unwrap(), [plan]);
    let (view, _) = store.task(ended).await.unwrap().unwrap();
    assert_eq!((view.cost.calls, view.submitter), (3, None));
    let cancel = TaskChange::Cancel {
        actor: ada(),
        reason: "enough".to_owned(),
    };
    apply_change(store.as_ref(), plan, cancel).await;
    let deliveries = store.deliveries(Uuid::from_u128(1), 10).await.unwrap();
    assert_eq!(deliveries.len(), 1);
}

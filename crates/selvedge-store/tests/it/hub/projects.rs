//! Projects: their limits, the fair share of their submitters, their deletion, and databases from before there were
//! projects.

use std::collections::BTreeMap;

use selvedge_core::model::MicroUsd;
use selvedge_protocol::{CostEntry, PersonId, ProjectSettings, ProjectUsage};
use selvedge_store::hub::{
    Assignment, AuditAction, AuditOrder, AuditQuery, DeleteProjectOutcome, HubStore, NewApiToken,
    NewLoginSession, NewProject, NewSchedule, NewSessionOwner, NewTask, NewWebhook, Person,
    PollRequest, SubmitOutcome, TaskChange,
};
use uuid::Uuid;

use super::access::ada;
use super::fixture::{StoreFixture, apply_change, begin, complete, entry, task, want};
use super::kept::token;

fn new_project(name: &str, settings: ProjectSettings) -> NewProject {
    NewProject {
        name: name.to_owned(),
        settings,
        created_by: ada(),
    }
}

fn task_of(project: &str, person: &str, number: u128) -> NewTask {
    NewTask {
        project: project.to_owned(),
        submitted_by: person.to_owned(),
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
        .map(|(project, person, count)| ((project.to_owned(), person.to_owned()), count))
        .into()
}

pub(super) async fn assignment_is_fair_to_projects_and_submitters(fixture: StoreFixture) {
    let store = fixture.open().await;
    for number in 0..300 {
        store.submit(task_of("a", "busy", number)).await.unwrap();
    }
    for (person, numbers) in [("rare", 300..302), ("late", 302..303)] {
        for number in numbers {
            store.submit(task_of("a", person, number)).await.unwrap();
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
        .map(|(name, usage)| (name.as_str(), usage.queued, usage.running));
    assert_eq!(
        running.collect::<Vec<_>>(),
        [("busy", 298, 2), ("late", 0, 1), ("rare", 0, 2)]
    );
}

pub(super) async fn limits_of_running_tasks_and_costs_delay_queued_tasks(fixture: StoreFixture) {
    let store = fixture.open().await;
    let settings = ProjectSettings {
        max_running: Some(3),
        max_running_per_person: Some(2),
        ..ProjectSettings::default()
    };
    let created = store.create_project(new_project("a", settings)).await;
    assert!(created.unwrap());
    for number in 0..10 {
        let person = ["ada", "ben"][usize::from(number >= 5)];
        store.submit(task_of("a", person, number)).await.unwrap();
    }
    store.submit(task_of("b", "cleo", 10)).await.unwrap();
    let first = store.assign_tasks(vec![want("one", 9, &[])]).await.unwrap();
    assert_eq!(first.len(), 4, "three of `a`, one of `b`");
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
    assert_eq!(usage[1], ("ben".to_owned(), of_ben_now));

    let costs = ProjectSettings {
        max_cost_micro_usd_per_day: Some(MicroUsd(8)),
        max_cost_micro_usd_per_day_per_person: Some(MicroUsd(7)),
        ..ProjectSettings::default()
    };
    let update = async |settings| {
        let updated = store.update_project("a".to_owned(), settings, ada()).await;
        assert!(updated.unwrap());
    };
    update(costs).await;
    assert_eq!(
        assign(store.as_ref(), want("three", 2, &[])).await,
        counts([("a", "ada", 2)]),
        "`ben` has reached the limit of a person"
    );
    apply(&of_ada[0], entry(&of_ada[0], 1, begin(1))).await;
    store.submit(task_of("a", "new", 11)).await.unwrap();
    assert_eq!(
        assign(store.as_ref(), want("four", 9, &[])).await,
        counts([]),
        "$0.000014 are beyond the limit of the project"
    );
    update(ProjectSettings::default()).await;
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
    // What was requested before the deletion has no effect after it.
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
    let updated = store.update_project("a".to_owned(), settings, ada()).await;
    assert!(!updated.unwrap());
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

macro_rules! older_migrations {
    ($database:literal) => {
        [
            include_str!(concat!(
                "../../../src/hub/",
                $database,
                "/migrations/001_hub.sql"
            )),
            include_str!(concat!(
                "../../../src/hub/",
                $database,
                "/migrations/002_verdicts.sql"
            )),
            include_str!(concat!(
                "../../../src/hub/",
                $database,
                "/migrations/003_access.sql"
            )),
            include_str!(concat!(
                "../../../src/hub/",
                $database,
                "/migrations/004_webhooks.sql"
            )),
            include_str!(concat!(
                "../../../src/hub/",
                $database,
                "/migrations/005_audit.sql"
            )),
        ]
        .concat()
    };
}

/// Tasks and tokens of the database of a hub without projects belong to the project `default`, and webhooks still work.
pub(super) async fn database_without_projects_is_migrated(fixture: StoreFixture) {
    let sql = match &fixture {
        StoreFixture::Sqlite(directory) => {
            std::fs::create_dir_all(directory.path().join("deep")).unwrap();
            format!(
                "{}; PRAGMA user_version = 5;
                 INSERT INTO token VALUES ('{token}', 'ci', 'slv_', 'default', '[\"submit\"]', zeroblob(32), 1, NULL, NULL, NULL);
                 INSERT INTO webhook VALUES ('{token}', 'default', 'hook', 'https://hook.example', 'json', '[]', x'00', 1);
                 INSERT INTO task (task_id, tenant, submitted_by, title, priority, labels, max_attempts, rank,
                                   created_at, updated_at, state, log_seq)
                 VALUES ('{task}', 'default', 'ci', 'old', 0, '[]', 1, 1, 1, 1, 'queued', 1);
                 INSERT INTO task_body VALUES (1, '{{}}');
                 INSERT INTO log VALUES (1, 1, 1, '{{\"type\":\"submitted\"}}');",
                older_migrations!("sqlite"),
                token = Uuid::from_u128(1),
                task = task(1, 0, &[]).task_id,
            )
        }
        StoreFixture::Postgres(_) => format!(
            "{}; CREATE TABLE selvedge_schema (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now());
             INSERT INTO selvedge_schema SELECT generate_series(1, 5);
             INSERT INTO token VALUES ('{token}', 'ci', 'slv_', 'default', '[\"submit\"]', decode(repeat('00', 32), 'hex'), 1, NULL, NULL, NULL);
             INSERT INTO webhook VALUES ('{token}', 'default', 'hook', 'https://hook.example', 'json', '[]', '\\x00', 1);
             INSERT INTO request (task_id, tenant, submitted_by, title, priority, max_attempts, created_at, body)
             VALUES ('{task}', 'default', 'ci', 'old', 0, 1, 1, '{{}}');
             INSERT INTO task (task_no, rank, labels, state, log_seq, updated_at) VALUES (1, 1, '[]', 'queued', 1, 1);
             INSERT INTO log VALUES (1, 1, 1, '{{\"type\":\"submitted\"}}');",
            older_migrations!("postgres"),
            token = Uuid::from_u128(1),
            task = task(1, 0, &[]).task_id,
        ),
    };
    fixture.execute(&sql).await;
    let store = fixture.open().await;
    let token = store.find_token_by_hash([0; 32]).await.unwrap().unwrap();
    assert_eq!(
        (token.name.as_str(), token.project.as_str()),
        ("ci", "default")
    );
    let names = store.projects().await.unwrap();
    assert_eq!(names.len(), 1);
    assert_eq!(
        assign(store.as_ref(), want("w", 9, &[])).await,
        counts([("default", "ci", 1)])
    );
    let cancel = TaskChange::Cancel {
        actor: ada(),
        reason: "enough".to_owned(),
    };
    let second = task_of("default", "ci", 2);
    let id = second.task_id;
    store.submit(second).await.unwrap();
    apply_change(store.as_ref(), id, cancel).await;
    let deliveries = store.deliveries(Uuid::from_u128(1), 10).await.unwrap();
    assert_eq!(deliveries.len(), 1);
}

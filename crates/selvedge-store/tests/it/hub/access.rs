//! Tokens of administrators, sessions of the dashboard, and the audit log.

use selvedge_core::model::{ReviewRecord, ReviewTarget};
use selvedge_protocol::{PersonId, ProjectSettings, WebhookFormat};
use selvedge_store::hub::{
    AuditAction, AuditActor, AuditChannel, AuditEntry, AuditOrder, AuditQuery,
    DeleteProjectOutcome, HubStore, NewApiToken, NewLoginSession, NewProject, NewSchedule,
    NewSessionOwner, NewWebhook, Person, RevokeOutcome, ScheduleMove, SessionOwner, TaskAudit,
    TaskChange,
};
use selvedge_testkit::Polling;
use uuid::Uuid;

use super::fixture::{StoreFixture, apply_change, task};
use super::kept::token;

pub(super) fn ada() -> AuditActor {
    AuditActor {
        name: "ada".to_owned(),
        token_id: Some(Uuid::from_u128(1)),
        person: None,
        channel: AuditChannel::Api,
    }
}

fn admin(number: u128, project: &str, lasts_ms: Option<i64>) -> NewApiToken {
    NewApiToken {
        scopes: vec!["read".to_owned(), "admin".to_owned()],
        project: project.to_owned(),
        ..token(number, lasts_ms)
    }
}

pub(super) async fn last_administrator_is_not_revoked(fixture: StoreFixture) {
    let store = fixture.open().await;
    for new in [
        admin(1, "default", None),
        admin(2, "default", None),
        admin(3, "default", Some(0)),
        admin(4, "other", None),
        token(5, None),
    ] {
        store.insert_token(new).await.unwrap();
    }
    let revoke = async |number| {
        let id = Uuid::from_u128(number);
        store.revoke(id, ada()).await.unwrap()
    };
    assert_eq!(revoke(1).await, RevokeOutcome::Revoked);
    assert_eq!(revoke(1).await, RevokeOutcome::Revoked, "again");
    assert_eq!(revoke(2).await, RevokeOutcome::LastAdministrator);
    assert_eq!(revoke(3).await, RevokeOutcome::Revoked, "it has expired");
    assert_eq!(revoke(4).await, RevokeOutcome::LastAdministrator);
    assert_eq!(revoke(5).await, RevokeOutcome::Revoked);
    let found = store.find_token_by_hash([2; 32]).await.unwrap();
    assert_eq!(found.map(|it| it.revoked_at), Some(None));

    // Of two administrators who revoke each other at the same time, one stays.
    store.insert_token(admin(6, "default", None)).await.unwrap();
    let (two, six) = tokio::join!(revoke(2), revoke(6));
    assert!(
        [two, six].contains(&RevokeOutcome::LastAdministrator) && two != six,
        "{two:?} {six:?}"
    );
}

const DAY: i64 = 24 * 3_600_000;

fn session(number: u8, token: u128, idle_ms: i64, lasts_ms: i64) -> NewLoginSession {
    NewLoginSession {
        session_id: Uuid::from_u128(1_000 + u128::from(number)),
        owner: NewSessionOwner::Token(Uuid::from_u128(token)),
        hash: [number; 32],
        idle_ms,
        lasts_ms,
        actor: ada(),
    }
}

pub(super) async fn session_ends_with_its_token_its_limits_and_on_request(fixture: StoreFixture) {
    const HOUR: i64 = 3_600_000;
    let store = fixture.open().await;
    for number in 1..=2 {
        store.insert_token(token(number, None)).await.unwrap();
    }
    for new in [
        session(1, 1, HOUR, HOUR),
        session(2, 1, 0, HOUR),
        session(3, 1, HOUR, 0),
        session(4, 2, HOUR, HOUR),
    ] {
        store.insert_session(new).await.unwrap();
    }
    let is_open = async |number: u8| {
        let found = store.find_session_by_hash([number; 32]).await.unwrap();
        found.is_some()
    };
    let ids = |numbers: &[u8]| -> Vec<Uuid> {
        let id = |number: &u8| Uuid::from_u128(1_000 + u128::from(*number));
        numbers.iter().map(id).collect()
    };
    let ended = async || {
        let (tokens, sessions) = (vec![Uuid::from_u128(1)], ids(&[1, 2, 3, 4]));
        let mut ended = store.find_ended_access(tokens, sessions).await.unwrap();
        ended.sort();
        ended
    };
    assert!(is_open(1).await && is_open(4).await);
    assert!(!is_open(2).await, "it was not used");
    assert!(!is_open(3).await, "its time is over");
    assert_eq!(ended().await, ids(&[2, 3]));
    let found = store.find_session_by_hash([1; 32]).await.unwrap();
    let found = found.expect("an open session");
    assert_eq!(found.owner.token_id(), Some(Uuid::from_u128(1)));
    assert_eq!(found.expires_at, found.created_at + HOUR);
    while store.now().await.unwrap() <= found.last_used_at {}
    store.touch_session(found.session_id).await.unwrap();
    let used = store.find_session_by_hash([1; 32]).await.unwrap().unwrap();
    assert!(used.last_used_at > found.last_used_at);
    // Session 3 has expired, and the others have not.
    while store.now().await.unwrap() <= found.created_at + 1 {}
    assert_eq!(store.purge_expired(0, 100).await.unwrap(), 1);
    let listed = store.list_sessions("default".to_owned()).await.unwrap();
    let listed: Vec<Uuid> = listed.iter().map(|it| it.session_id).collect();
    assert_eq!(listed, ids(&[4, 1]), "the newest first");
    assert!(
        store
            .list_sessions("other".to_owned())
            .await
            .unwrap()
            .is_empty()
    );

    let end = async |project: &str, number: u8| {
        let id = Uuid::from_u128(1_000 + u128::from(number));
        store
            .end_session(project.to_owned(), id, ada())
            .await
            .unwrap()
    };
    assert!(!end("other", 4).await);
    assert!(end("default", 4).await);
    assert!(!end("default", 4).await, "it has ended");
    assert!(!is_open(4).await);
    let by = ada();
    store.revoke(Uuid::from_u128(1), by).await.unwrap();
    assert!(!is_open(1).await, "its token was revoked");
    let mut all = ids(&[1, 2, 3, 4]);
    all.insert(0, Uuid::from_u128(1));
    assert_eq!(ended().await, all);
}

fn ada_the_person() -> Person {
    Person {
        id: PersonId {
            issuer: "https://login.example".to_owned(),
            subject: "1234".to_owned(),
        },
        name: "Ada".to_owned(),
        project: "default".to_owned(),
        scopes: vec!["submit".to_owned()],
    }
}

pub(super) async fn session_of_a_person_has_no_token(fixture: StoreFixture) {
    const HOUR: i64 = 3_600_000;
    let store = fixture.open().await;
    let (token_ada, ada) = (ada(), ada_the_person());
    let actor = AuditActor {
        name: ada.name.clone(),
        token_id: None,
        person: Some(ada.id.clone()),
        channel: AuditChannel::Dashboard,
    };
    let new = NewLoginSession {
        owner: NewSessionOwner::Person(ada.clone()),
        actor: actor.clone(),
        ..session(1, 1, HOUR, HOUR)
    };
    let id = new.session_id;
    store.insert_session(new).await.unwrap();
    let found = store.find_session_by_hash([1; 32]).await.unwrap();
    let found = found.expect("an open session");
    assert_eq!(found.owner, SessionOwner::Person(ada.clone()));
    let projects = ["default", "other"].map(str::to_owned);
    let [own, other] = projects.clone().map(|project| store.list_sessions(project));
    assert_eq!(own.await.unwrap(), [found]);
    assert!(other.await.unwrap().is_empty());
    let ended = store.find_ended_access(vec![], vec![id]).await.unwrap();
    assert!(ended.is_empty(), "{ended:?}");

    let mut new = task(1, 0, &[]);
    new.actor = Some(actor.clone());
    new.person.clone_from(&actor.person);
    new.submitted_by.clone_from(&actor.name);
    let by_ada = new.task_id;
    store.submit(new.clone()).await.unwrap();
    store.submit(new).await.unwrap();
    let mut new = task(2, 0, &[]);
    new.actor = Some(token_ada);
    let by_token = new.task_id;
    store.submit(new).await.unwrap();
    let submitter = async |task| store.submitting_person(task).await.unwrap();
    assert_eq!(submitter(by_ada).await, Some(ada.id));
    assert_eq!(submitter(by_token).await, None);

    let [own, other] = projects.map(|project| store.end_session(project, id, actor.clone()));
    assert!(!other.await.unwrap());
    assert!(own.await.unwrap());
    assert_eq!(store.find_session_by_hash([1; 32]).await.unwrap(), None);
    let ended = store.find_ended_access(vec![], vec![id]).await.unwrap();
    assert_eq!(ended, [id]);
    let cancel = TaskChange::Cancel {
        actor: actor.clone(),
        reason: String::new(),
    };
    apply_change(store.as_ref(), by_ada, cancel).await;
    let all = entries(store.as_ref(), AuditOrder::NewestFirst { before: None }, 10).await;
    let own = all.iter().filter(|entry| entry.actor == actor);
    let actions: Vec<_> = own.map(|entry| entry.action).collect();
    assert_eq!(
        actions,
        [
            AuditAction::CancelTask,
            AuditAction::EndSession,
            AuditAction::SubmitTask,
            AuditAction::StartSession,
        ]
    );
    assert_eq!(all[1].detail, "person Ada");
}

async fn entries(store: &dyn HubStore, order: AuditOrder, limit: usize) -> Vec<AuditEntry> {
    let query = AuditQuery {
        project: "default".to_owned(),
        actor: None,
        action: None,
        subject: None,
        order,
        limit,
    };
    store.audit_entries(query).await.unwrap()
}

pub(super) async fn audit_log_records_the_person_of_every_change(fixture: StoreFixture) {
    let store = fixture.open().await;
    let by = AuditActor {
        name: "Ada".to_owned(),
        token_id: None,
        person: Some(ada_the_person().id),
        channel: AuditChannel::Dashboard,
    };
    let id = Uuid::from_u128(1);
    let project = NewProject {
        name: "web".to_owned(),
        settings: ProjectSettings::default(),
        created_by: by.clone(),
    };
    assert!(store.create_project(project).await.unwrap());
    let settings = ProjectSettings::default();
    let updated = store.update_project("web".to_owned(), settings.clone(), settings, by.clone());
    assert!(updated.await.unwrap());
    let deleted = store.delete_project("web".to_owned(), by.clone()).await;
    assert_eq!(deleted.unwrap(), DeleteProjectOutcome::Deleted);
    let webhook = NewWebhook {
        webhook_id: id,
        project: "default".to_owned(),
        name: "hook".to_owned(),
        url: "https://hook.example".to_owned(),
        format: WebhookFormat::Json,
        events: Vec::new(),
        secret: vec![1],
    };
    store.insert_webhook(webhook, by.clone()).await.unwrap();
    let schedule = NewSchedule {
        schedule_id: id,
        project: "default".to_owned(),
        name: "nightly".to_owned(),
        cron: "0 3 * * *".to_owned(),
        body: "{}".to_owned(),
        created_by: by.clone(),
        next_at: 5,
    };
    store.insert_schedule(schedule).await.unwrap();
    let pause = ScheduleMove::Paused(by.clone());
    let paused = store.move_schedule(id, Some(5), None, pause).await;
    assert!(paused.unwrap());
    for expected in [true, false] {
        let schedule = store.delete_schedule(id, by.clone()).await.unwrap();
        let webhook = store.delete_webhook(id, by.clone()).await.unwrap();
        assert_eq!((schedule, webhook), (expected, expected));
    }
    let all = entries(store.as_ref(), AuditOrder::NewestFirst { before: None }, 10).await;
    let found = all.iter().rev().map(|it| (it.action, it.detail.as_str()));
    let settings = r#"{"repositories":[]}"#;
    let expected = [
        (AuditAction::CreateProject, settings),
        (AuditAction::UpdateProject, settings),
        (AuditAction::DeleteProject, ""),
        (AuditAction::CreateWebhook, "hook"),
        (AuditAction::CreateSchedule, "nightly"),
        (AuditAction::PauseSchedule, "nightly"),
        (AuditAction::DeleteSchedule, "nightly"),
        (AuditAction::DeleteWebhook, "hook"),
    ];
    assert_eq!(found.collect::<Vec<_>>(), expected);
    for entry in all {
        let is_project = entry.subject == "web";
        assert!(is_project || entry.subject == id.to_string(), "{entry:?}");
        assert_eq!(entry.actor, by, "{:?}", entry.action);
    }
}

pub(super) async fn audit_log_records_who_did_what_and_is_never_changed(fixture: StoreFixture) {
    let store = fixture.open().await;
    store.insert_token(token(1, None)).await.unwrap();
    let mut new = task(1, 0, &[]);
    new.actor = Some(ada());
    let id = new.task_id;
    store.submit(new.clone()).await.unwrap();
    let mut own = task(2, 0, &[]);
    own.idempotency = Some(("key".to_owned(), [1; 32]));
    own.actor = Some(ada());
    own.retry_of = Some(id);
    store.submit(own.clone()).await.unwrap();
    // Repeated requests, and tasks of the hub itself, are not recorded.
    store.submit(own).await.unwrap();
    store.submit(new).await.unwrap();
    store.submit(task(3, 0, &[])).await.unwrap();
    for _ in 0..2 {
        let cancel = TaskChange::Cancel {
            actor: ada(),
            reason: "not\0 needed".to_owned(),
        };
        apply_change(store.as_ref(), id, cancel).await;
    }
    let refused = TaskChange::Review {
        decision: selvedge_protocol::ReviewDecision::Accept,
        actor: ada(),
        record: ReviewRecord {
            accepted: true,
            by: "ada".to_owned(),
            stated_by: None,
            reason: String::new(),
            target: ReviewTarget::default(),
        },
        epoch: 0,
        after: 0,
        events: Vec::new(),
    };
    apply_change(store.as_ref(), id, refused).await;
    let undone = |detail: &str| TaskAudit {
        actor: ada(),
        action: AuditAction::UndoReview,
        detail: detail.to_owned(),
    };
    store.record_audit(id, undone("of bob")).await.unwrap();
    let unknown = task(9, 0, &[]).task_id;
    store.record_audit(unknown, undone("none")).await.unwrap();
    store.revoke(Uuid::from_u128(1), ada()).await.unwrap();

    let all = entries(store.as_ref(), AuditOrder::NewestFirst { before: None }, 10).await;
    let actions: Vec<_> = all.iter().rev().map(|entry| entry.action).collect();
    assert_eq!(
        actions,
        [
            AuditAction::CreateToken,
            AuditAction::SubmitTask,
            AuditAction::RetryTask,
            AuditAction::CancelTask,
            AuditAction::UndoReview,
            AuditAction::RevokeToken,
        ]
    );
    assert_eq!(all[0].actor, ada());
    assert_eq!(all[0].subject, Uuid::from_u128(1).to_string());
    assert_eq!(all[1].subject, id.to_string());
    assert_eq!((&all[1].actor, all[1].detail.as_str()), (&ada(), "of bob"));
    assert_eq!(all[2].subject, id.to_string());
    assert!(all[2].detail.ends_with(" needed"), "{:?}", all[2]);
    assert_eq!(all[3].detail, format!("of {id}"));
    assert_eq!(all[5].actor, AuditActor::on_database("test"));
    assert_eq!(all[5].detail, "token 1, scopes read");

    let before = Some(all[1].seq);
    let older = entries(store.as_ref(), AuditOrder::NewestFirst { before }, 2).await;
    assert_eq!(older, all[2..4]);
    let after = all[3].seq;
    // On a server that other tests use, entries may appear with a delay.
    let mut polling = Polling::new(selvedge_testkit::WAIT_TIMEOUT);
    let newer = loop {
        let newer = entries(store.as_ref(), AuditOrder::OldestFirst { after }, 2).await;
        if newer.len() == 2 || !polling.pause_async().await {
            break newer;
        }
    };
    assert_eq!(newer, [all[2].clone(), all[1].clone()]);
    let filtered = AuditQuery {
        project: "default".to_owned(),
        actor: Some("ada".to_owned()),
        action: Some(AuditAction::CancelTask),
        subject: Some(id.to_string()),
        order: AuditOrder::NewestFirst { before: None },
        limit: 10,
    };
    assert_eq!(
        store.audit_entries(filtered.clone()).await.unwrap(),
        all[2..3]
    );
    let foreign = AuditQuery {
        project: "other".to_owned(),
        ..filtered
    };
    assert!(store.audit_entries(foreign).await.unwrap().is_empty());
    assert_eq!(store.purge_audit(3_600_000, 100).await.unwrap(), 0);
    // A negative age: everything that was written before this moment is old enough, but too young to remove.
    assert!(store.purge_audit(-60_000, 100).await.is_err());
    let old = store.now().await.unwrap() - 40 * DAY;
    let insert = format!(
        "INSERT INTO audit (at, project, actor, channel, action, subject, detail)
         VALUES ({old}, 'default', 'ada', 'api', 'task.submit', 'x', '')"
    );
    fixture.execute(&insert).await;
    assert_eq!(store.purge_audit(31 * DAY, 100).await.unwrap(), 1);
    assert_eq!(
        entries(store.as_ref(), AuditOrder::NewestFirst { before: None }, 10).await,
        all
    );
}

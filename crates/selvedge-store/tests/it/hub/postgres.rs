//! Tests of PostgreSQL: several handles on one database, as with several hubs; a server that goes away;
//! databases that cannot be used.

use selvedge_protocol::lease::LeaseRules;
use selvedge_protocol::{ProjectSettings, TaskState};
use selvedge_store::hub::{
    Assignment, ChangeAnswer, HubStoreError, PostgresHub, StoreSettings, SubmitOutcome,
};
use selvedge_testkit::Postgres;

use super::fixture::{
    PASSES, StoreFixture, apply_change, assert_log_replays, begin, complete, entry, poll_in_order,
    report, task, want,
};
use super::projects::{new_project, task_of};

async fn refused(url: &str) -> String {
    let opened = PostgresHub::open(url, None, StoreSettings::default()).await;
    opened.expect_err("nothing that can be used").to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hubs_never_assign_a_task_twice() {
    if !Postgres::is_available() {
        return;
    }
    let fixture = StoreFixture::postgres();
    // Both migrate the tables.
    let (one, two) = tokio::join!(fixture.open(), fixture.open());
    poll_in_order((0..300).map(|number| one.submit(task(number, 0, &[])))).await;
    let grants = (0..30).flat_map(|worker| {
        let worker = format!("w{worker}");
        [
            one.assign_tasks(vec![want(&worker, 5, &[])]),
            two.assign_tasks(vec![want(&worker, 5, &[])]),
        ]
    });
    let granted: Vec<Assignment> = poll_in_order(grants).await.into_iter().flatten().collect();
    let mut ids: Vec<_> = granted.iter().map(|granted| granted.row.task_id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!((granted.len(), ids.len()), (300, 300));
    // The stream of each task now arrives through both hubs, as after a worker has moved.
    for (seq, step) in [(1, begin(1)), (2, report(1, PASSES)), (3, complete("once"))] {
        let changes = granted.iter().flat_map(|granted| {
            let change = entry(granted, seq, step.clone());
            let id = granted.row.task_id;
            [one.change(id, change.clone()), two.change(id, change)]
        });
        for verdict in poll_in_order(changes).await {
            assert_eq!(verdict.unwrap().answer, ChangeAnswer::Applied);
        }
    }
    for id in ids.iter().step_by(50) {
        let (view, _) = two.task(*id).await.unwrap().unwrap();
        assert_eq!(view.row.lease.state, TaskState::Succeeded);
        assert_eq!(view.cost.calls, 1);
        assert_log_replays(one.as_ref(), *id).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hubs_store_one_key_as_one_task() {
    if !Postgres::is_available() {
        return;
    }
    let fixture = StoreFixture::postgres();
    let (one, two) = (fixture.open().await, fixture.open().await);
    let submit = (0..60u128).map(|number| {
        let mut new = task(number, 0, &[]);
        new.idempotency = Some((format!("key {}", number % 6), [1; 32]));
        if number % 2 == 0 {
            one.submit(new)
        } else {
            two.submit(new)
        }
    });
    let answers = poll_in_order(submit).await;
    let new = answers
        .iter()
        .filter(|answer| matches!(answer, SubmitOutcome::New(_)));
    assert_eq!(new.count(), 6);
    assert!(!answers.contains(&SubmitOutcome::IdTaken));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hubs_do_not_exceed_limits_of_a_project_together() {
    const LIMIT: u32 = 3;
    const ROUNDS: u128 = 20;
    if !Postgres::is_available() {
        return;
    }
    let fixture = StoreFixture::postgres();
    let (one, two) = (fixture.open().await, fixture.open().await);
    let settings = [
        ProjectSettings {
            max_running: Some(LIMIT),
            ..ProjectSettings::default()
        },
        ProjectSettings {
            max_queued: Some(LIMIT),
            ..ProjectSettings::default()
        },
    ];
    for (name, settings) in ["running", "queued"].into_iter().zip(settings) {
        assert!(
            one.create_project(new_project(name, settings))
                .await
                .unwrap()
        );
    }
    poll_in_order((0..ROUNDS).map(|number| one.submit(task_of("running", "ada", number)))).await;
    let mut held = 0;
    for round in 0.. {
        // Hubs that choose at the same time may skip the project, but not forever.
        let polls = (0..4).flat_map(|_| {
            [
                one.assign_tasks(vec![want("a", 2, &[])]),
                two.assign_tasks(vec![want("b", 2, &[])]),
            ]
        });
        let granted = poll_in_order(polls).await;
        held += granted.iter().map(Vec::len).sum::<usize>();
        assert!(held <= LIMIT as usize, "{held} tasks are held");
        if held == LIMIT as usize && round >= ROUNDS {
            break;
        }
        assert!(round < 500, "only {held} tasks are held");
    }

    let submissions = (0..ROUNDS).flat_map(|number| {
        let number = ROUNDS + 2 * number;
        [
            one.submit(task_of("queued", "ada", number)),
            two.submit(task_of("queued", "ben", number + 1)),
        ]
    });
    let outcomes = poll_in_order(submissions).await;
    let new = outcomes
        .iter()
        .filter(|it| matches!(it, SubmitOutcome::New(_)));
    assert_eq!(new.count(), LIMIT as usize);
    let full = SubmitOutcome::QueueFull { limit: LIMIT };
    let refused = outcomes.iter().filter(|it| **it == full);
    assert_eq!(refused.count(), outcomes.len() - LIMIT as usize);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hubs_expire_each_lease_once() {
    if !Postgres::is_available() {
        return;
    }
    let fixture = StoreFixture::postgres();
    let rules = LeaseRules {
        ttl_ms: 0,
        grace_ms: 0,
        offer_ms: 0,
        expiry_backoff_ms: 3_600_000,
        backoff_ms: 3_600_000,
        max_losses: 2,
    };
    let (one, two) = (
        fixture.open_with(rules).await,
        fixture.open_with(rules).await,
    );
    poll_in_order((0..100).map(|number| one.submit(task(number, 0, &[])))).await;
    let granted = one.assign_tasks(vec![want("w", 100, &[])]).await.unwrap();
    let begun = granted
        .iter()
        .map(|granted| one.change(granted.row.task_id, entry(granted, 1, begin(1))));
    poll_in_order(begun).await;
    let expirations = (0..6).flat_map(|_| [one.expire_due(false), two.expire_due(false)]);
    let mut expired: Vec<_> = poll_in_order(expirations)
        .await
        .into_iter()
        .flatten()
        .map(|row| row.task_id)
        .collect();
    let all = expired.len();
    expired.sort();
    expired.dedup();
    assert_eq!((all, expired.len()), (100, 100));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hubs_notify_each_other_of_changes() {
    if !Postgres::is_available() {
        return;
    }
    let fixture = StoreFixture::postgres();
    let (one, two) = (fixture.open().await, fixture.open().await);
    let peers = two.peers().unwrap();
    let mut changes = peers.change_stream();
    // The first signal comes from the listener itself, when it begins to listen.
    changes.wait_for(|count| *count > 0).await.unwrap();
    let seen_count = *changes.borrow_and_update();
    one.submit(task(1, 0, &[])).await.unwrap();
    changes.wait_for(|count| *count > seen_count).await.unwrap();
    let rows = peers.task_rows(vec![task(1, 0, &[]).task_id, task(2, 0, &[]).task_id]);
    assert_eq!(rows.await.unwrap().len(), 1);
    let first = one.peers().unwrap();
    let (first_id, second_id) = (uuid::Uuid::from_u128(1), uuid::Uuid::from_u128(2));
    assert!(
        first
            .heartbeat(first_id, "[1]".to_owned())
            .await
            .unwrap()
            .is_empty()
    );
    assert_eq!(
        peers.heartbeat(second_id, "[2]".to_owned()).await.unwrap(),
        ["[1]"]
    );
    assert_eq!(
        first.heartbeat(first_id, "[1]".to_owned()).await.unwrap(),
        ["[2]"]
    );
}

/// When the server dies, no answered write is lost, nothing is done twice, and pending writes are answered
/// once it is back.
#[tokio::test(flavor = "multi_thread")]
async fn postgres_crash_loses_no_answered_write() {
    if !Postgres::is_available() {
        return;
    }
    let server = Postgres::start();
    let url = server.create_database();
    let fixture = StoreFixture::Postgres(url.clone());
    let store = fixture.open().await;
    let mut tried = 0u128;
    let mut answered = Vec::new();
    for round in 0..3 {
        let base = tried;
        let submits: Vec<_> = (0..200)
            .map(|number| store.submit(task(base + number, 0, &[])))
            .collect();
        tried += 200;
        let working = tokio::task::spawn({
            let store = std::sync::Arc::clone(&store);
            async move {
                let mut settled = Vec::new();
                for number in 0..100u128 {
                    let new = task(10_000 + base + number, 0, &[]);
                    if let Ok(SubmitOutcome::New(id)) = store.submit(new).await {
                        settled.push(id);
                    }
                }
                settled
            }
        });
        let before = answered.len();
        let mut under_way = Box::pin(collect_results(submits));
        // Interrupts the writes.
        tokio::select! {
            biased;
            done = &mut under_way => panic!("too quick to be interrupted: {}", done.len()),
            () = tokio::task::yield_now() => {}
        }
        server.stop_immediately();
        server.restart();
        // A server that died reuses transaction ids of which nothing had reached its disk.
        server.run_sql(&url, COMMIT_MANY);
        for outcome in under_way.await.into_iter().flatten() {
            let SubmitOutcome::New(id) = outcome else {
                panic!("round {round}: {outcome:?} of what was submitted once")
            };
            answered.push(id);
        }
        answered.extend(working.await.unwrap());
        assert!(answered.len() > before, "round {round}");
    }
    for id in &answered {
        assert!(
            store.task(*id).await.unwrap().is_some(),
            "an acknowledged task is gone"
        );
    }
}

const COMMIT_MANY: &str = "DO $$ BEGIN
    FOR i IN 1..200 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP;
END $$";

async fn collect_results<T: Send>(
    all: Vec<selvedge_store::hub::StoreFuture<'_, T>>,
) -> Vec<Result<T, HubStoreError>> {
    let mut outcomes = Vec::new();
    for one in all {
        outcomes.push(one.await);
    }
    outcomes
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_that_cannot_be_used_is_reported() {
    if !Postgres::is_available() {
        return;
    }
    let server = Postgres::shared();
    let url = server.create_database();
    let database = url.rsplit('/').next().unwrap();
    server.run_sql(&url, "CREATE ROLE guest LOGIN");
    let message = refused(&server.url("guest", database)).await;
    assert!(
        message.contains("rejects this hub: guest@") && message.contains("permission denied"),
        "{message}"
    );
    let message = refused(&server.url("selvedge", "nowhere")).await;
    assert!(message.contains("does not exist"), "{message}");
    let message = refused("postgres://me:s3cret@127.0.0.1:1/hub").await;
    assert!(
        message.contains("me@127.0.0.1:1/hub") && !message.contains("s3cret"),
        "{message}"
    );
    let message = refused("postgres://me:s3cret@[/hub").await;
    assert!(
        message.starts_with("invalid database address") && !message.contains("s3cret"),
        "{message}"
    );
    // Creates the tables, which a later release then changes.
    drop(
        PostgresHub::open(&url, None, StoreSettings::default())
            .await
            .unwrap(),
    );
    server.run_sql(&url, "INSERT INTO selvedge_schema (version) VALUES (1000)");
    let opened = PostgresHub::open(&url, None, StoreSettings::default()).await;
    assert!(matches!(
        opened,
        Err(HubStoreError::Newer { found: 1000, .. })
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_rejects_changes_of_written_rows() {
    if !Postgres::is_available() {
        return;
    }
    let fixture = StoreFixture::postgres();
    let store = fixture.open().await;
    let new = task(1, 0, &[]);
    let id = new.task_id;
    store.submit(new).await.unwrap();
    let granted = store
        .assign_tasks(vec![want("w", 1, &[])])
        .await
        .unwrap()
        .remove(0);
    for (seq, step) in [(1, begin(1)), (2, report(1, PASSES)), (3, complete("once"))] {
        assert_eq!(
            apply_change(store.as_ref(), id, entry(&granted, seq, step)).await,
            ChangeAnswer::Applied
        );
    }
    let StoreFixture::Postgres(url) = &fixture else {
        unreachable!("it is one")
    };
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls)
        .await
        .unwrap();
    tokio::spawn(connection);
    for statement in [
        "UPDATE log SET event = ''",
        "DELETE FROM log",
        "UPDATE report SET body = ''",
        "DELETE FROM report",
        "UPDATE journal SET event = ''",
        "UPDATE task SET state = 'queued'",
        "UPDATE task SET epoch = 0",
    ] {
        let error = client.batch_execute(statement).await.expect_err(statement);
        let code = error.code().map(tokio_postgres::error::SqlState::code);
        assert_eq!(code, Some("23000"), "{statement}: {error}");
    }
    assert_log_replays(store.as_ref(), id).await;
}

/// As after an older copy of the database was restored while the hub was running.
#[tokio::test(flavor = "multi_thread")]
async fn postgres_adds_a_submitter_again_that_is_gone() {
    if !Postgres::is_available() {
        return;
    }
    let fixture = StoreFixture::postgres();
    let store = fixture.open().await;
    store.submit(task(1, 0, &[])).await.unwrap();
    let StoreFixture::Postgres(url) = &fixture else {
        unreachable!("it is one")
    };
    Postgres::shared().run_sql(url, "TRUNCATE request, task, log, submitter");
    let new = task(2, 0, &[]);
    let id = new.task_id;
    store.submit(new).await.unwrap();
    let granted = store.assign_tasks(vec![want("w", 1, &[])]).await.unwrap();
    let granted: Vec<_> = granted.iter().map(|granted| granted.row.task_id).collect();
    assert_eq!(granted, [id]);
}

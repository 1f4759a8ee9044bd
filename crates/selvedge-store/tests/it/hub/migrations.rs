//! Databases of earlier schemas are migrated without loss, and then equal new ones.

use rusqlite::Connection;
use selvedge_core::model::{MicroUsd, Outcome, TaskId};
use selvedge_core::protocol::TaskState;
use selvedge_store::hub::{
    ChangeAnswer, HubStore, PostgresHub, SqliteHub, StoreSettings, SubmitOutcome,
};
use selvedge_testkit::Postgres;
use sha2::{Digest, Sha256};

use super::fixture::{apply_change, assert_log_replays, complete, entry, task, want};

const SQLITE: &str = include_str!("../../fixtures/hub-1.sqlite.sql");
const POSTGRES: &str = include_str!("../../fixtures/hub-1.postgres.sql");
/// The finished and the queued task of these databases.
const OVER: &str = "01900000-0000-7000-8000-000000000001";
const WAITING: &str = "01900000-0000-7000-8000-000000000002";

async fn assert_migrated_data_is_usable(store: &dyn HubStore) {
    let (over, waiting): (TaskId, TaskId) = (OVER.parse().unwrap(), WAITING.parse().unwrap());
    let (view, body) = store.task(over).await.unwrap().unwrap();
    assert_eq!(body, r#"{"description":"first"}"#);
    assert_eq!(view.row.lease.state, TaskState::Succeeded);
    assert_eq!(view.row.lease.outcome, Some(Outcome::Verified));
    assert_eq!(
        (view.cost.micro_usd, view.labels.as_slice()),
        (MicroUsd(42), &["linux".to_owned()][..])
    );
    assert_log_replays(store, over).await;
    assert_log_replays(store, waiting).await;
    let (view, _) = store.task(waiting).await.unwrap().unwrap();
    let part = view.part_of.unwrap();
    assert_eq!(
        (part.plan.uuid(), part.subtask.as_str()),
        (over.uuid(), "api")
    );
    let report = store.report(over, 1).await.unwrap().unwrap();
    assert_eq!(report.body, r#"{"status":"pass","b":0.1}"#);
    assert_eq!(store.journal(over, 0, 10).await.unwrap().len(), 2);
    assert!(store.result(over).await.unwrap().is_some());
    let files = store.files(over).await.unwrap();
    let bytes = store.bytes(files[0].hash.clone(), 0).await.unwrap();
    assert_eq!(bytes.as_deref(), Some(&b"file 1"[..]));
    let token = store
        .find_token_by_hash(Sha256::digest(b"slv_secret").into())
        .await
        .unwrap();
    assert_eq!(token.unwrap().name, "first administrator");

    let mut again = task(7, 0, &[]);
    again.idempotency = Some(("key".to_owned(), [1; 32]));
    assert_eq!(
        store.submit(again).await.unwrap(),
        SubmitOutcome::Duplicate(over)
    );
    let granted = store.assign_tasks(vec![want("w", 1, &[])]).await.unwrap();
    assert_eq!(granted[0].row.task_id, waiting);
    let done = entry(&granted[0], 1, complete("done"));
    assert_eq!(
        apply_change(store, waiting, done).await,
        ChangeAnswer::Applied
    );
    assert_log_replays(store, waiting).await;
    assert_eq!(store.plans().await.unwrap(), []);
}

#[tokio::test]
async fn migration_of_first_sqlite_schema() {
    let directory = tempfile::tempdir().unwrap();
    let (old, new) = (
        directory.path().join("old.db"),
        directory.path().join("new.db"),
    );
    Connection::open(&old)
        .unwrap()
        .execute_batch(SQLITE)
        .unwrap();
    for path in [&old, &new] {
        let store = SqliteHub::open(path, StoreSettings::default()).unwrap();
        if path == &old {
            assert_migrated_data_is_usable(&store).await;
        }
    }
    let schema = |path| {
        let db = Connection::open(path).unwrap();
        let mut query = db
            .prepare("SELECT coalesce(sql, name) FROM sqlite_schema ORDER BY name")
            .unwrap();
        let rows = query.query_map([], |row| row.get::<_, String>(0)).unwrap();
        rows.collect::<Result<Vec<_>, _>>().unwrap()
    };
    assert_eq!(schema(&old), schema(&new));
}

#[tokio::test(flavor = "multi_thread")]
async fn migration_of_first_postgres_schema() {
    if !Postgres::is_available() {
        return;
    }
    let server = Postgres::shared();
    let (old, new) = (server.create_database(), server.create_database());
    server.run_sql(&old, POSTGRES);
    let store = PostgresHub::open(&old, None, StoreSettings::default())
        .await
        .unwrap();
    assert_migrated_data_is_usable(&store).await;
    drop(
        PostgresHub::open(&new, None, StoreSettings::default())
            .await
            .unwrap(),
    );
    let schema = |url: &str| {
        let columns =
            "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns
                       WHERE table_schema = 'public' ORDER BY 1, 2";
        let indexes = "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1";
        (server.run_sql(url, columns), server.run_sql(url, indexes))
    };
    assert_eq!(schema(&old), schema(&new));
}

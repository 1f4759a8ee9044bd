//! The format of the database: an earlier one is migrated, the current one is not changed, and a later one is rejected.

use rusqlite::Connection;
use selvedge_store::hub::{HubStoreError, SqliteHub, StoreSettings};

use super::fixture::StoreFixture;

/// The first four migrations of a store.
macro_rules! earlier_format {
    ($store:literal) => {
        concat!(
            include_str!(concat!(
                "../../../src/hub/",
                $store,
                "/migrations/001_hub.sql"
            )),
            include_str!(concat!(
                "../../../src/hub/",
                $store,
                "/migrations/002_verdicts.sql"
            )),
            include_str!(concat!(
                "../../../src/hub/",
                $store,
                "/migrations/003_access.sql"
            )),
            include_str!(concat!(
                "../../../src/hub/",
                $store,
                "/migrations/004_webhooks.sql"
            )),
        )
    };
}

/// Creates the tables of format 4.
pub(super) async fn create_earlier_format(fixture: &StoreFixture) {
    let (schema, version) = match fixture {
        StoreFixture::Sqlite(directory) => {
            std::fs::create_dir(directory.path().join("deep")).unwrap();
            (earlier_format!("sqlite"), "PRAGMA user_version = 4")
        }
        StoreFixture::Postgres(_) => (
            earlier_format!("postgres"),
            "CREATE TABLE selvedge_schema (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now());
             INSERT INTO selvedge_schema (version) VALUES (1), (2), (3), (4)",
        ),
    };
    fixture.execute(schema).await;
    fixture.execute(version).await;
}

pub(super) async fn migration_of_earlier_format_keeps_rows(fixture: StoreFixture) {
    create_earlier_format(&fixture).await;
    let secret = match &fixture {
        StoreFixture::Sqlite(_) => "x'00'",
        StoreFixture::Postgres(_) => "'\\x00'",
    };
    let rows = format!(
        "INSERT INTO webhook (webhook_id, tenant, name, url, format, events, secret, created_at)
         VALUES ('01900000-0000-7000-8000-000000000001', 'default', 'hook', 'https://example.org', 'json', '[]',
                 {secret}, 1);
         INSERT INTO webhook_delivery (message_id, webhook_id, event, task_id, state, attempts, at, due_at)
         VALUES ('msg_1', '01900000-0000-7000-8000-000000000001', 'task.dead',
                 '01900000-0000-7000-8000-000000000002', 'dead', 1, 1, 1);
         INSERT INTO schedule (schedule_id, tenant, name, cron, body, created_by, created_at)
         VALUES ('01900000-0000-7000-8000-000000000003', 'default', 'nightly', '0 3 * * *', '{{}}', 'me', 1);"
    );
    fixture.execute(&rows).await;

    let store = fixture.open().await;
    let schedules = store.schedules("default".to_owned()).await.unwrap();
    assert_eq!(schedules[0].name, "nightly");
    assert_eq!(schedules[0].created_by_token, None);
    let claimed = store.claim_deliveries(60_000, 10).await.unwrap();
    assert_eq!(claimed[0].message_id, "msg_1");
    assert_eq!(store.claim_deliveries(60_000, 10).await.unwrap(), []);
}

#[tokio::test]
async fn migration_of_current_format_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hub.db");
    let open_and_read_schema = || {
        drop(SqliteHub::open(&path, StoreSettings::default()).unwrap());
        let db = Connection::open(&path).unwrap();
        let mut query = db
            .prepare("SELECT coalesce(sql, name) FROM sqlite_schema ORDER BY name")
            .unwrap();
        let rows = query.query_map([], |row| row.get::<_, String>(0)).unwrap();
        rows.collect::<Result<Vec<_>, _>>().unwrap()
    };
    let created = open_and_read_schema();
    assert_eq!(open_and_read_schema(), created);
}

#[tokio::test]
async fn database_of_later_format_is_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hub.db");
    drop(SqliteHub::open(&path, StoreSettings::default()).unwrap());
    Connection::open(&path)
        .unwrap()
        .pragma_update(None, "user_version", 1000)
        .unwrap();
    let opened = SqliteHub::open(&path, StoreSettings::default());
    assert!(matches!(
        opened,
        Err(HubStoreError::Newer { found: 1000, .. })
    ));
}

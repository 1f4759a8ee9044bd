//! The format of the SQLite database: opening it again changes nothing, and a later format is rejected.

use rusqlite::Connection;
use selvedge_store::hub::{HubStoreError, SqliteHub, StoreSettings};

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

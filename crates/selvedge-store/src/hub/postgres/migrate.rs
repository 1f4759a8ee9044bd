//! Schema migrations: numbered, forward only, and run by one hub at a time. A released migration is never
//! edited.

use tokio_postgres::{Client, Transaction};

use crate::hub::error::HubStoreError;

const MIGRATIONS: &[&str] = &[
    include_str!("migrations/001_hub.sql"),
    include_str!("migrations/002_verdicts.sql"),
    include_str!("migrations/003_access.sql"),
    include_str!("migrations/004_webhooks.sql"),
    include_str!("migrations/005_audit.sql"),
    include_str!("migrations/006_retries.sql"),
    include_str!("migrations/007_people.sql"),
    include_str!("migrations/008_projects.sql"),
    include_str!("migrations/009_objects.sql"),
    include_str!("migrations/010_task_updates.sql"),
    include_str!("migrations/011_completion.sql"),
];

/// Migrates the schema to this program's version; another hub that starts at the same time waits.
pub(super) async fn migrate(client: &mut Client) -> Result<(), HubStoreError> {
    let transaction = client.transaction().await?;
    // Only Selvedge uses this lock number in the database; the lock ends with the transaction.
    transaction
        .batch_execute("SELECT pg_advisory_xact_lock(hashtext('selvedge hub'))")
        .await?;
    let found = version(&transaction).await?;
    let supported = MIGRATIONS.len();
    if found > supported {
        return Err(HubStoreError::Newer { found, supported });
    }
    for (version, migration) in (1i32..).zip(MIGRATIONS).skip(found) {
        transaction.batch_execute(migration).await?;
        transaction
            .execute(
                "INSERT INTO selvedge_schema (version) VALUES ($1)",
                &[&version],
            )
            .await?;
    }
    Ok(transaction.commit().await?)
}

async fn version(transaction: &Transaction<'_>) -> Result<usize, HubStoreError> {
    let there = "SELECT to_regclass('selvedge_schema') IS NOT NULL";
    if !transaction.query_one(there, &[]).await?.get::<_, bool>(0) {
        transaction
            .batch_execute(
                "CREATE TABLE selvedge_schema (
                     version    integer     PRIMARY KEY,
                     applied_at timestamptz NOT NULL DEFAULT now()
                 )",
            )
            .await?;
    }
    let latest = "SELECT coalesce(max(version), 0) FROM selvedge_schema";
    let latest: i32 = transaction.query_one(latest, &[]).await?.get(0);
    Ok(usize::try_from(latest).unwrap_or(usize::MAX))
}

//! The marker row of a writer. Each of its transactions writes its number there, which shows whether a
//! transaction was committed whose commit was not answered, and prevents a late commit of one that was given
//! up.

use tokio_postgres::{Client, Error};

use super::columns::NOW;

/// Records a transaction's number as a part of it. Fails, together with the transaction, if the transaction
/// was given up.
pub(super) fn record_commit_query() -> String {
    format!(
        "INSERT INTO commit_marker (writer_id, batch, given_up, used_at) VALUES ($1, $2, 0, {NOW})
         ON CONFLICT (writer_id) DO UPDATE SET used_at = excluded.used_at,
             batch = CASE WHEN excluded.batch > commit_marker.given_up THEN excluded.batch END"
    )
}

/// Gives a transaction up unless it is already committed, and returns the number of the last committed one.
/// Waits for a transaction that is currently writing the row, even if the row does not exist yet.
pub(super) fn last_commit_query() -> String {
    format!(
        "INSERT INTO commit_marker (writer_id, batch, given_up, used_at) VALUES ($1, 0, $2, {NOW})
         ON CONFLICT (writer_id) DO UPDATE SET used_at = excluded.used_at, given_up = excluded.given_up
         RETURNING batch"
    )
}

/// Removes marker rows that have not been used for a day.
pub(super) async fn delete_old_markers(client: &Client) -> Result<(), Error> {
    let old = format!("DELETE FROM commit_marker WHERE used_at < {NOW} - 86400000");
    client.batch_execute(&old).await
}

#[cfg(test)]
mod tests {
    use selvedge_testkit::Postgres;
    use tokio_postgres::types::ToSql;
    use uuid::Uuid;

    use super::*;
    use crate::hub::postgres::address::DatabaseAddress;
    use crate::hub::postgres::connect::Connector;
    use crate::hub::postgres::migrate::migrate;

    /// A server may still be processing statements of a lost connection.
    #[tokio::test]
    async fn commit_marker_abandoned_transaction_is_never_committed() {
        if !Postgres::is_available() {
            return;
        }
        let address = DatabaseAddress::parse(&Postgres::shared().create_database(), None).unwrap();
        let connector = Connector::new(address).unwrap();
        let (mut lost, anew) = tokio::try_join!(connector.client(), connector.client()).unwrap();
        migrate(&mut lost).await.unwrap();
        let writer_id = Uuid::new_v4();
        let (mark, last) = (record_commit_query(), last_commit_query());
        let values = |batch: &'static i64| -> [&(dyn ToSql + Sync); 2] { [&writer_id, batch] };

        assert_eq!(lost.execute(&mark, &values(&6)).await.unwrap(), 1);
        lost.batch_execute("BEGIN").await.unwrap();
        let row = anew.query_one(&last, &values(&7)).await.unwrap();
        assert_eq!(row.get::<_, i64>(0), 6);
        assert!(lost.execute(&mark, &values(&7)).await.is_err());
        lost.batch_execute("COMMIT").await.unwrap();

        assert_eq!(anew.execute(&mark, &values(&8)).await.unwrap(), 1);
        let row = anew.query_one(&last, &values(&8)).await.unwrap();
        assert_eq!(row.get::<_, i64>(0), 8);
    }
}

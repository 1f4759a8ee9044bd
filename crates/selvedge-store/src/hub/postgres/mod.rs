//! The hub's tables in PostgreSQL: for any number of hubs on one database.
//!
//! What is written often goes through *lanes*: connections that each write what waits as one
//! transaction and answer after its commit. Everything else uses a pool. What a change means is decided
//! by [`super::apply()`], as for every store; here rows are locked, loaded and written. The only clock is
//! the server's.

mod address;
mod blobs;
mod board;
mod changes;
mod claims;
mod columns;
mod connect;
mod forget;
mod identities;
mod lane;
mod list;
mod mark;
mod migrate;
mod neighbours;
mod queue;
mod reports;
mod submit;
mod writes;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use deadpool_postgres::Pool;
use selvedge_core::model::TaskId;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use self::address::Address;
use self::changes::Changes;
use self::claims::Claims;
use self::connect::{Connector, is_lost};
use self::lane::Lane;
use self::neighbours::Bell;
use self::submit::Submissions;
use super::error::HubStoreError;
use super::traits::Settings;

/// Lanes for changes. While one waits for its commit, the other goes on.
const LANES: usize = 2;
/// Connections for reading, and for what is written seldom.
const POOLED: usize = 6;

/// A hub's store in a database that other hubs may use, too.
#[derive(Debug)]
pub struct PostgresHub {
    changes: Vec<Lane<Changes>>,
    claims: Lane<Claims>,
    submissions: Lane<Submissions>,
    pool: Pool,
    heard: watch::Receiver<u64>,
    neighbours: JoinHandle<()>,
}

impl Drop for PostgresHub {
    fn drop(&mut self) {
        self.neighbours.abort();
    }
}

impl PostgresHub {
    /// Connects to `postgres://USER@HOST/DATABASE`, and brings its tables up to date. The password may
    /// come from elsewhere than from the address.
    pub async fn open(
        url: &str,
        password: Option<&str>,
        settings: Settings,
    ) -> Result<Self, HubStoreError> {
        let connector = Connector::new(Address::parse(url, password)?)?;
        let told = |error: HubStoreError| error.at(&connector.shown());
        let mut client = connector
            .client()
            .await
            .map_err(|error| told(error.into()))?;
        migrate::migrate(&mut client).await.map_err(told)?;
        let forgotten = mark::forget_old(&client).await;
        forgotten.map_err(|error| told(error.into()))?;
        drop(client);
        let rules = settings.rules;
        let bell = Arc::new(Bell::default());
        let changes = Arc::new(Changes {
            rules,
            bell: Arc::clone(&bell),
        });
        let claims = Claims {
            rules,
            bell: Arc::clone(&bell),
        };
        let submissions = Submissions {
            bell: Arc::clone(&bell),
        };
        let lane = |_| Lane::start(connector.clone(), Arc::clone(&changes));
        let (hearing, heard) = watch::channel(0);
        Ok(Self {
            changes: (0..LANES).map(lane).collect(),
            claims: Lane::start(connector.clone(), Arc::new(claims)),
            submissions: Lane::start(connector.clone(), Arc::new(submissions)),
            pool: connector.pool(POOLED)?,
            heard,
            neighbours: tokio::spawn(neighbours::run(connector, bell, hearing)),
        })
    }

    /// A task's changes go through one lane, so that they keep their order.
    fn lane(&self, task: TaskId) -> &Lane<Changes> {
        let mut hasher = DefaultHasher::new();
        task.hash(&mut hasher);
        let lanes = u64::try_from(self.changes.len()).unwrap_or(1);
        let at = usize::try_from(hasher.finish() % lanes).unwrap_or(0);
        &self.changes[at]
    }

    /// One statement on any connection; once more where the connection turns out to be gone. Only for
    /// what may be done twice.
    async fn rows(
        &self,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, HubStoreError> {
        let mut tried = false;
        loop {
            let client = self.pool.get().await?;
            let done = async {
                client
                    .query(&client.prepare_cached(sql).await?, values)
                    .await
            };
            match done.await {
                Err(error) if is_lost(&error) && !tried => tried = true,
                done => return Ok(done?),
            }
        }
    }
}

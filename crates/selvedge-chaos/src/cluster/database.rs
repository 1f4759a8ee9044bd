//! The databases of the hubs, seen from outside: a SQLite file of one hub, or a database on a
//! PostgreSQL server that several hubs share. The server can be stopped abruptly, as in a crash.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use selvedge_testkit::Postgres;

use super::ChaosError;
use crate::collect::{read_postgres_tables, read_sqlite_tables};
use crate::history::ObservedTask;

/// Kind of database, with the PostgreSQL server that all rounds share.
#[derive(Debug, Clone)]
pub enum Database {
    /// One hub with a SQLite file.
    Sqlite,
    /// Two hubs on one server.
    Postgres(Arc<Postgres>),
}

impl Database {
    /// Starts a PostgreSQL server for the rounds.
    pub fn start_postgres() -> Self {
        Self::Postgres(Arc::new(Postgres::start()))
    }

    /// Number of hubs that share a database of this kind.
    pub(super) fn hub_count(&self) -> usize {
        match self {
            Self::Sqlite => 1,
            Self::Postgres(_) => 2,
        }
    }

    /// Creates an empty database; `file` is used for SQLite only.
    pub(super) fn create_empty(&self, file: &Path) -> RoundDatabase {
        match self {
            Self::Sqlite => RoundDatabase::File(file.to_owned()),
            Self::Postgres(server) => RoundDatabase::Database {
                url: server.create_database(),
                server: Arc::clone(server),
            },
        }
    }
}

/// The database of one round.
#[derive(Debug)]
pub(super) enum RoundDatabase {
    File(PathBuf),
    Database { server: Arc<Postgres>, url: String },
}

impl RoundDatabase {
    /// The value of `--database`.
    pub(super) fn as_argument(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Database { url, .. } => url.clone(),
        }
    }

    /// Reads the stored state of all tasks, by task id.
    pub(super) fn read_tables(&self) -> Result<BTreeMap<String, ObservedTask>, ChaosError> {
        match self {
            Self::File(path) => read_sqlite_tables(path),
            Self::Database { server, url } => {
                read_postgres_tables(|query| server.run_sql(url, query))
            }
        }
    }

    /// The PostgreSQL server; none for SQLite.
    pub(super) fn server(&self) -> Option<&Arc<Postgres>> {
        match self {
            Self::File(_) => None,
            Self::Database { server, .. } => Some(server),
        }
    }
}

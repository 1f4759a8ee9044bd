//! Where hubs keep what they know, from the outside: a SQLite file of one hub, or a database of a
//! PostgreSQL server that several share and that can be stopped at once, as a crash would.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use selvedge_testkit::Postgres;

use super::ChaosError;
use crate::collect::{read_postgres_tables, read_sqlite_tables};
use crate::history::ObservedTask;

/// Which kind, and the server that all rounds share.
#[derive(Debug, Clone)]
pub enum Database {
    /// One hub, with a file.
    Sqlite,
    /// Two hubs.
    Postgres(Arc<Postgres>),
}

impl Database {
    /// A server of its own.
    pub fn start_postgres() -> Self {
        Self::Postgres(Arc::new(Postgres::start()))
    }

    /// Hubs that work on one.
    pub(super) fn hub_count(&self) -> usize {
        match self {
            Self::Sqlite => 1,
            Self::Postgres(_) => 2,
        }
    }

    /// An empty one; this file, where it is one.
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

/// One round's.
#[derive(Debug)]
pub(super) enum RoundDatabase {
    File(PathBuf),
    Database { server: Arc<Postgres>, url: String },
}

impl RoundDatabase {
    /// As `--database` names it.
    pub(super) fn as_argument(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Database { url, .. } => url.clone(),
        }
    }

    /// All that is kept, by task.
    pub(super) fn read_tables(&self) -> Result<BTreeMap<String, ObservedTask>, ChaosError> {
        match self {
            Self::File(path) => read_sqlite_tables(path),
            Self::Database { server, url } => {
                read_postgres_tables(|query| server.run_sql(url, query))
            }
        }
    }

    /// The server, if there is one.
    pub(super) fn server(&self) -> Option<&Arc<Postgres>> {
        match self {
            Self::File(_) => None,
            Self::Database { server, .. } => Some(server),
        }
    }
}

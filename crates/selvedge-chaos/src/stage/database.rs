//! Where hubs keep what they know, from the outside: a SQLite file of one hub, or a database of a
//! PostgreSQL server that several share and that can be stopped at once, as a crash would.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use selvedge_testkit::Postgres;

use super::Trouble;
use crate::history::Task;
use crate::observe::{postgres_tables, sqlite_tables};

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
    pub fn postgres() -> Self {
        Self::Postgres(Arc::new(Postgres::start()))
    }

    /// Hubs that work on one.
    pub(super) fn hubs(&self) -> usize {
        match self {
            Self::Sqlite => 1,
            Self::Postgres(_) => 2,
        }
    }

    /// An empty one; this file, where it is one.
    pub(super) fn fresh(&self, file: &Path) -> Kept {
        match self {
            Self::Sqlite => Kept::File(file.to_owned()),
            Self::Postgres(server) => Kept::Database {
                url: server.database(),
                server: Arc::clone(server),
            },
        }
    }
}

/// One round's.
#[derive(Debug)]
pub(super) enum Kept {
    File(PathBuf),
    Database { server: Arc<Postgres>, url: String },
}

impl Kept {
    /// As `--database` names it.
    pub(super) fn argument(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Database { url, .. } => url.clone(),
        }
    }

    /// All that is kept, by task.
    pub(super) fn tables(&self) -> Result<BTreeMap<String, Task>, Trouble> {
        match self {
            Self::File(path) => sqlite_tables(path),
            Self::Database { server, url } => postgres_tables(|query| server.sql(url, query)),
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

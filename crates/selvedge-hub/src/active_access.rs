//! Event streams and worker sessions, by the access that they were opened with: they end when their token or
//! their dashboard session ends.
//!
//! This hub ends them at once. What another hub, or a program on the database, has revoked is noticed within
//! [`CHECK_INTERVAL`].

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::sleep;
use uuid::Uuid;

use crate::hub::Hub;

/// How often the store is asked which access has ended.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The credential that a connection was opened with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct AccessKey {
    /// The token; `None` for the session of a person.
    pub(crate) token_id: Option<Uuid>,
    /// The session of the dashboard; `None` for requests with the token itself.
    pub(crate) session_id: Option<Uuid>,
}

#[derive(Debug)]
struct ActiveEntry {
    connections: usize,
    ended: watch::Sender<bool>,
}

/// All open connections that outlive their request's authentication.
#[derive(Debug, Clone, Default)]
pub(crate) struct ActiveAccess(Arc<Mutex<HashMap<AccessKey, ActiveEntry>>>);

impl ActiveAccess {
    /// Registers a connection until the guard is dropped.
    pub(crate) fn open(&self, key: AccessKey) -> AccessGuard {
        let mut entries = self.0.lock();
        let entry = entries.entry(key).or_insert_with(|| ActiveEntry {
            connections: 0,
            ended: watch::Sender::new(false),
        });
        entry.connections += 1;
        AccessGuard {
            ended: entry.ended.subscribe(),
            access: self.clone(),
            key,
        }
    }

    /// Ends everything that was opened with a token, and with sessions that began with it.
    pub(crate) fn end_token(&self, token_id: Uuid) {
        self.end(|key| key.token_id == Some(token_id));
    }

    /// Ends everything that was opened with a session.
    pub(crate) fn end_session(&self, session_id: Uuid) {
        self.end(|key| key.session_id == Some(session_id));
    }

    fn end(&self, is_meant: impl Fn(&AccessKey) -> bool) {
        for (key, entry) in self.0.lock().iter() {
            if is_meant(key) {
                entry.ended.send_replace(true);
            }
        }
    }

    /// The tokens and the sessions that are in use.
    fn ids(&self) -> (Vec<Uuid>, Vec<Uuid>) {
        let (mut tokens, mut sessions) = (Vec::new(), Vec::new());
        for key in self.0.lock().keys() {
            match key.session_id {
                Some(session_id) => sessions.push(session_id),
                None => tokens.extend(key.token_id),
            }
        }
        (tokens, sessions)
    }
}

/// A registered connection.
#[derive(Debug)]
pub(crate) struct AccessGuard {
    ended: watch::Receiver<bool>,
    access: ActiveAccess,
    key: AccessKey,
}

impl AccessGuard {
    /// Returns once the access has ended.
    pub(crate) async fn ended(&mut self) {
        // The sender lives at least as long as this guard.
        let _ = self.ended.wait_for(|ended| *ended).await;
    }
}

impl Drop for AccessGuard {
    fn drop(&mut self) {
        let mut entries = self.access.0.lock();
        if let Some(entry) = entries.get_mut(&self.key) {
            entry.connections -= 1;
            if entry.connections == 0 {
                entries.remove(&self.key);
            }
        }
    }
}

/// Ends connections whose access has expired or was revoked elsewhere, for as long as the hub runs. While the store
/// fails, connections stay open.
pub(crate) async fn run(hub: Arc<Hub>) {
    loop {
        sleep(CHECK_INTERVAL).await;
        let (tokens, sessions) = hub.active_access.ids();
        if tokens.is_empty() && sessions.is_empty() {
            continue;
        }
        match hub.store.find_ended_access(tokens, sessions).await {
            Ok(ended) => {
                for id in ended {
                    hub.active_access.end_token(id);
                    hub.active_access.end_session(id);
                }
            }
            Err(error) => tracing::warn!(%error, "cannot check which tokens are valid"),
        }
    }
}

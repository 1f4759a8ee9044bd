//! Login with a hub token. It begins a session: the cookie contains a random value that is stored as a hash,
//! never the token. A session ends after some time without use, after its longest duration, with its token, or
//! when an administrator or its user ends it; then its event streams end as well. A restarted hub, and other
//! hubs on the database, still accept it.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use selvedge_dashboard::backend::DashboardUser;
use selvedge_dashboard::web::{Authenticator, LoginError, LoginMethod};
use selvedge_protocol::Scope;
use selvedge_store::hub::{ApiToken, AuditActor, AuditChannel, LoginSession, NewLoginSession};
use uuid::Uuid;

use crate::active_access::AccessKey;
use crate::auth;
use crate::hub::Hub;

/// Number of hexadecimal digits of the database's id in the name of the cookie.
const COOKIE_ID_DIGITS: usize = 12;

/// Authenticates tokens that may read, and sessions that began with one.
pub(super) struct SessionAuthenticator {
    hub: Arc<Hub>,
    cookie_name: String,
}

impl SessionAuthenticator {
    pub(super) fn new(hub: Arc<Hub>) -> Self {
        let cookie_name = cookie_name(hub.store().database_id(), hub.settings().https);
        Self { hub, cookie_name }
    }

    async fn begin_session(&self, token: ApiToken) -> Result<String, LoginError> {
        let unavailable = |error: &dyn std::fmt::Display| {
            tracing::error!(%error, "cannot begin a session");
            LoginError::Unavailable("The hub cannot begin a session now. Try again.".to_owned())
        };
        let secret = auth::generate_secret().map_err(|error| unavailable(&error))?;
        let millis = |period: Duration| i64::try_from(period.as_millis()).unwrap_or(i64::MAX / 4);
        let settings = self.hub.settings();
        let session = NewLoginSession {
            session_id: Uuid::now_v7(),
            token_id: token.token_id,
            hash: auth::hash_secret(&secret),
            idle_ms: millis(settings.session_idle_timeout),
            lasts_ms: millis(settings.session_lifetime),
            actor: actor(&token),
        };
        let inserted = self.hub.store().insert_session(session).await;
        inserted.map_err(|error| unavailable(&error))?;
        Ok(secret)
    }

    /// The session of a cookie. Values are too long to be guessed, so they are not counted as guesses: pages
    /// that are still open after the end of their session must not block the next login.
    async fn find_session(&self, cookie: &str) -> Result<Option<LoginSession>, LoginError> {
        let hash = auth::hash_secret(cookie);
        let found = self.hub.store().find_session_by_hash(hash).await;
        found.map_err(|error| {
            tracing::error!(%error, "cannot find a session");
            LoginError::Unavailable("The hub cannot read its sessions now. Try again.".to_owned())
        })
    }
}

/// Browsers share cookies between the ports of a host: each database has a cookie of its own. The prefix keeps
/// other hosts of the domain from setting it.
fn cookie_name(database_id: Uuid, is_secure: bool) -> String {
    let id = database_id.simple().to_string();
    let prefix = if is_secure { "__Host-" } else { "" };
    format!("{prefix}selvedge_hub_{}", &id[..COOKIE_ID_DIGITS])
}

fn actor(token: &ApiToken) -> AuditActor {
    AuditActor {
        name: token.name.clone(),
        token_id: Some(token.token_id),
        channel: AuditChannel::Dashboard,
    }
}

impl Authenticator for SessionAuthenticator {
    fn login_method(&self) -> LoginMethod {
        LoginMethod::Token
    }

    fn cookie_name(&self) -> &str {
        &self.cookie_name
    }

    fn is_secure(&self) -> bool {
        self.hub.settings().https
    }

    fn log_in<'a>(
        &'a self,
        secret: &'a str,
        from: IpAddr,
    ) -> BoxFuture<'a, Result<String, LoginError>> {
        Box::pin(async move {
            let token = match self.hub.identify(secret, from).await {
                Ok(token) if !auth::has_scope(&token, Scope::Read) => {
                    return Err(LoginError::InvalidToken);
                }
                Ok(token) => token,
                Err(error) if error.is_unauthorized() => {
                    return Err(LoginError::InvalidToken);
                }
                Err(error) => return Err(LoginError::Unavailable(error.detail().to_owned())),
            };
            if !self.hub.limits.allow_request(token.token_id) {
                let detail = "Too many requests with this token. Try again later.";
                return Err(LoginError::Unavailable(detail.to_owned()));
            }
            self.hub.record_token_use(token.token_id).await;
            self.begin_session(token).await
        })
    }

    fn find_user<'a>(
        &'a self,
        cookie: &'a str,
        _: IpAddr,
    ) -> BoxFuture<'a, Result<Option<DashboardUser>, LoginError>> {
        Box::pin(async move {
            let session = self.find_session(cookie).await?;
            let may_read = |session: &LoginSession| auth::has_scope(&session.token, Scope::Read);
            let Some(session) = session.filter(may_read) else {
                return Ok(None);
            };
            self.hub.record_session_use(session.session_id).await;
            Ok(Some(DashboardUser {
                can_act: auth::has_scope(&session.token, Scope::Submit),
                name: session.token.name,
                tenant: Some(session.token.tenant),
                token_id: Some(session.token.token_id),
                session_id: Some(session.session_id),
            }))
        })
    }

    fn log_out<'a>(&'a self, cookie: &'a str) -> BoxFuture<'a, Result<(), LoginError>> {
        Box::pin(async move {
            let Some(session) = self.find_session(cookie).await? else {
                return Ok(());
            };
            let (id, by) = (session.session_id, actor(&session.token));
            let ended = self.hub.store().end_session(session.token.tenant, id, by);
            ended.await.map_err(|error| {
                tracing::error!(%error, "cannot end a session");
                LoginError::Unavailable("The hub cannot end the session now. Try again.".to_owned())
            })?;
            self.hub.active_access.end_session(id);
            Ok(())
        })
    }

    fn access_ended(&self, user: &DashboardUser) -> BoxFuture<'static, ()> {
        let Some(token_id) = user.token_id else {
            return Box::pin(std::future::pending());
        };
        let mut guard = self.hub.active_access.open(AccessKey {
            token_id,
            session_id: user.session_id,
        });
        Box::pin(async move { guard.ended().await })
    }
}

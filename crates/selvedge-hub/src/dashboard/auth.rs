//! Login with a hub token, or at the identity provider. It begins a session: the cookie contains a random value that
//! is stored as a hash, never a token. A session ends after some time without use, after its longest duration, with
//! its token, or when an administrator or its user ends it; then its event streams end as well. A restarted hub, and
//! other hubs on the database, still accept it.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use selvedge_dashboard::backend::DashboardUser;
use selvedge_dashboard::web::{
    Authenticator, LoginError, LoginMethod, SignInAnswer, SignInStart, SignedIn, SingleSignOn,
};
use selvedge_protocol::Scope;
use selvedge_store::hub::{
    AuditActor, AuditChannel, LoginSession, NewLoginSession, NewSessionOwner, SessionOwner,
};
use uuid::Uuid;

use crate::active_access::AccessKey;
use crate::auth;
use crate::hub::Hub;
use crate::oidc::{IdentityProviderError, PersonSignIn, ProviderAnswer, SignInError};

/// Number of hexadecimal digits of the database's id in the name of the cookie.
const COOKIE_ID_DIGITS: usize = 12;

/// Authenticates tokens that may read, and sessions that began with one.
pub(super) struct SessionAuthenticator {
    hub: Arc<Hub>,
    cookie_name: String,
    /// Name of the cookie that binds a sign-in at the provider to the browser.
    sign_in_cookie_name: String,
}

impl SessionAuthenticator {
    pub(super) fn new(hub: Arc<Hub>) -> Self {
        let (id, is_secure) = (hub.store().database_id(), hub.settings().https);
        Self {
            cookie_name: cookie_name("hub", id, is_secure),
            sign_in_cookie_name: cookie_name("sign_in", id, is_secure),
            hub,
        }
    }

    /// Begins a session that lasts at most so long.
    async fn begin_session(
        &self,
        owner: SessionOwner,
        lifetime: Duration,
    ) -> Result<String, LoginError> {
        let unavailable = |error: &dyn std::fmt::Display| {
            tracing::error!(%error, "cannot begin a session");
            LoginError::Unavailable("The hub cannot begin a session now. Try again.".to_owned())
        };
        let secret = auth::generate_secret().map_err(|error| unavailable(&error))?;
        let millis = |period: Duration| i64::try_from(period.as_millis()).unwrap_or(i64::MAX / 4);
        let settings = self.hub.settings();
        let session = NewLoginSession {
            session_id: Uuid::now_v7(),
            hash: auth::hash_secret(&secret),
            idle_ms: millis(settings.session_idle_timeout),
            lasts_ms: millis(settings.session_lifetime.min(lifetime)),
            actor: actor(&owner),
            owner: match owner {
                SessionOwner::Token(token) => NewSessionOwner::Token(token.token_id),
                SessionOwner::Person(person) => NewSessionOwner::Person(person),
            },
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

impl SessionAuthenticator {
    /// Whether a session still gives access: a person's only while people of their provider may sign in.
    fn is_accepted(&self, session: &LoginSession) -> bool {
        let issuer = self.hub.sign_on.as_ref().map(|it| &it.settings().issuer);
        let person = session.owner.person();
        let is_known = person.is_none_or(|person| Some(&person.id.issuer) == issuer);
        is_known && auth::includes_scope(session.owner.scopes(), Scope::Read)
    }

    fn sign_on(&self) -> Result<&PersonSignIn, LoginError> {
        let none = || LoginError::Refused("People cannot sign in to this hub.".to_owned());
        self.hub.sign_on.as_ref().ok_or_else(none)
    }
}

impl SingleSignOn for SessionAuthenticator {
    fn sign_in_cookie_name(&self) -> &str {
        &self.sign_in_cookie_name
    }

    fn begin<'a>(&'a self, next: &'a str) -> BoxFuture<'a, Result<SignInStart, LoginError>> {
        Box::pin(async move {
            let started = self.sign_on()?.begin(&self.hub, next).await;
            let started = started.map_err(|error| login_error(&error))?;
            Ok(SignInStart {
                url: started.url,
                cookie: started.cookie,
            })
        })
    }

    fn finish<'a>(
        &'a self,
        answer: SignInAnswer,
        cookie: &'a str,
        from: IpAddr,
    ) -> BoxFuture<'a, Result<SignedIn, LoginError>> {
        Box::pin(async move {
            let sign_on = self.sign_on()?;
            if !self.hub.limits.allow_guess(from) {
                let detail = "Too many failed sign-ins from this address. Try again in a minute.";
                return Err(LoginError::Unavailable(detail.to_owned()));
            }
            let answer = ProviderAnswer {
                code: &answer.code,
                state: &answer.state,
                issuer: answer.iss.as_deref(),
                error: answer.error.as_deref(),
            };
            let finished = sign_on.finish(&self.hub, answer, cookie).await;
            let (person, next) = finished.map_err(|error| {
                let error = login_error(&error);
                // Everybody behind a proxy has the same address, and an unknown sign-in needs no provider.
                let is_counted = !matches!(
                    error,
                    LoginError::Unavailable(_) | LoginError::UnknownSignIn(_)
                );
                if is_counted {
                    self.hub.limits.record_wrong_guess(from);
                }
                error
            })?;
            let lifetime = sign_on.settings().session_lifetime;
            let owner = SessionOwner::Person(person);
            let session = self.begin_session(owner, lifetime).await?;
            Ok(SignedIn { session, next })
        })
    }
}

/// The error as its page shows it; the log has the cause.
fn login_error(error: &SignInError) -> LoginError {
    let text = error.to_string();
    match error {
        SignInError::Unknown(_) => LoginError::UnknownSignIn(text),
        SignInError::Denied(_) | SignInError::Person(_) => {
            tracing::warn!("a sign-in was refused: {text}");
            LoginError::Refused(text)
        }
        SignInError::Provider(cause @ IdentityProviderError::Refused(_)) => {
            tracing::warn!(%cause, "a sign-in was refused");
            LoginError::Refused(text)
        }
        SignInError::IdToken(cause) => {
            tracing::warn!(%cause, "an ID token is not valid");
            LoginError::Refused(text)
        }
        SignInError::Provider(cause) => {
            tracing::warn!(%cause, "a person cannot sign in");
            LoginError::Unavailable(text)
        }
        SignInError::Store(cause) => {
            tracing::error!(%cause, "a person cannot sign in");
            LoginError::Unavailable(text)
        }
        SignInError::Random(cause) => {
            tracing::error!(%cause, "a person cannot sign in");
            LoginError::Unavailable(text)
        }
    }
}

/// Browsers share cookies between the ports of a host: each database has a cookie of its own. The prefix keeps
/// other hosts of the domain from setting it.
fn cookie_name(kind: &str, database_id: Uuid, is_secure: bool) -> String {
    let id = database_id.simple().to_string();
    let prefix = if is_secure { "__Host-" } else { "" };
    format!("{prefix}selvedge_{kind}_{}", &id[..COOKIE_ID_DIGITS])
}

fn actor(owner: &SessionOwner) -> AuditActor {
    AuditActor {
        name: owner.name().to_owned(),
        token_id: owner.token_id(),
        person: owner.person().map(|person| person.id.clone()),
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

    fn single_sign_on(&self) -> Option<&dyn SingleSignOn> {
        self.hub
            .sign_on
            .is_some()
            .then_some(self as &dyn SingleSignOn)
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
            let lifetime = self.hub.settings().session_lifetime;
            self.begin_session(SessionOwner::Token(token), lifetime)
                .await
        })
    }

    fn find_user<'a>(
        &'a self,
        cookie: &'a str,
        _: IpAddr,
    ) -> BoxFuture<'a, Result<Option<DashboardUser>, LoginError>> {
        Box::pin(async move {
            let session = self.find_session(cookie).await?;
            let Some(session) = session.filter(|session| self.is_accepted(session)) else {
                return Ok(None);
            };
            self.hub.record_session_use(session.session_id).await;
            Ok(Some(DashboardUser {
                can_act: auth::includes_scope(session.owner.scopes(), Scope::Submit),
                name: session.owner.name().to_owned(),
                project: Some(session.owner.project().to_owned()),
                token_id: session.owner.token_id(),
                person: session.owner.person().map(|person| person.id.clone()),
                session_id: Some(session.session_id),
            }))
        })
    }

    fn log_out<'a>(&'a self, cookie: &'a str) -> BoxFuture<'a, Result<(), LoginError>> {
        Box::pin(async move {
            let Some(session) = self.find_session(cookie).await? else {
                return Ok(());
            };
            let (id, by) = (session.session_id, actor(&session.owner));
            let project = session.owner.project().to_owned();
            let ended = self.hub.store().end_session(project, id, by);
            ended.await.map_err(|error| {
                tracing::error!(%error, "cannot end a session");
                LoginError::Unavailable("The hub cannot end the session now. Try again.".to_owned())
            })?;
            self.hub.active_access.end_session(id);
            Ok(())
        })
    }

    fn access_ended(&self, user: &DashboardUser) -> BoxFuture<'static, ()> {
        let mut guard = self.hub.active_access.open(AccessKey {
            token_id: user.token_id,
            session_id: user.session_id,
        });
        Box::pin(async move { guard.ended().await })
    }
}

//! Login with a hub token. The cookie contains the token itself, inaccessible to scripts, and is checked at
//! each request: a revoked token is rejected immediately, and a restarted hub or another hub still accepts
//! the session.

use std::net::IpAddr;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use selvedge_dashboard::backend::DashboardUser;
use selvedge_dashboard::web::{Authenticator, LoginError, LoginMethod};
use selvedge_protocol::Scope;

use crate::auth;
use crate::hub::Hub;

/// Authenticates tokens that may read.
pub(super) struct TokenAuthenticator(pub(super) Arc<Hub>);

impl Authenticator for TokenAuthenticator {
    fn login_method(&self) -> LoginMethod {
        LoginMethod::Token
    }

    fn cookie_name(&self) -> &'static str {
        "selvedge_hub"
    }

    fn is_secure(&self) -> bool {
        self.0.settings().https
    }

    fn log_in<'a>(
        &'a self,
        secret: &'a str,
        from: IpAddr,
    ) -> BoxFuture<'a, Result<String, LoginError>> {
        Box::pin(async move {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
            let known = secret.bytes().all(plain)
                && self.0.authorize(secret, Scope::Read, from).await.is_some();
            if known {
                Ok(secret.to_owned())
            } else {
                Err(LoginError::InvalidToken)
            }
        })
    }

    fn find_user<'a>(
        &'a self,
        cookie: &'a str,
        from: IpAddr,
    ) -> BoxFuture<'a, Option<DashboardUser>> {
        Box::pin(async move {
            let identity = self.0.authorize(cookie, Scope::Read, from).await?;
            Some(DashboardUser {
                can_act: auth::has_scope(&identity, Scope::Submit),
                name: identity.name,
                tenant: Some(identity.tenant),
            })
        })
    }

    fn log_out<'a>(&'a self, _: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }
}

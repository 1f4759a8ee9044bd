//! Coming in by a token of the hub. The cookie holds the token itself, out of every script's reach, and
//! is looked up at each request: a token that is revoked is out at once, and a hub that is started anew,
//! or another one, knows the visitor still.

use std::net::IpAddr;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use selvedge_core::fleet::Scope;
use selvedge_face::reading::Visitor;
use selvedge_face::web::{Entrance, Gate};

use crate::auth;
use crate::hub::Hub;

/// Whoever has a token that may read.
pub(super) struct ByToken(pub(super) Arc<Hub>);

impl Gate for ByToken {
    fn entrance(&self) -> Entrance {
        Entrance::Token
    }

    fn cookie(&self) -> &'static str {
        "selvedge_hub"
    }

    fn is_secure(&self) -> bool {
        self.0.settings().https
    }

    fn enter<'a>(&'a self, secret: &'a str, from: IpAddr) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
            let known = secret.bytes().all(plain)
                && self.0.check(secret, Scope::Read, from).await.is_some();
            if known {
                Ok(secret.to_owned())
            } else {
                Err("This token is not known, was revoked, or may not look.".to_owned())
            }
        })
    }

    fn visitor<'a>(&'a self, cookie: &'a str, from: IpAddr) -> BoxFuture<'a, Option<Visitor>> {
        Box::pin(async move {
            let identity = self.0.check(cookie, Scope::Read, from).await?;
            Some(Visitor {
                may_act: auth::may(&identity, Scope::Submit),
                name: identity.name,
                tenant: Some(identity.tenant),
            })
        })
    }

    fn leave<'a>(&'a self, _: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }
}

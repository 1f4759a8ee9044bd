//! Who may look at `selvedge ui`: whoever has the link that was printed, once. It is swapped for a
//! cookie that lives as long as the program; a link that was used is printed anew, in the terminal,
//! when somebody tries it again.

use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use futures_util::future::BoxFuture;
use selvedge_core::words::hex;
use selvedge_face::reading::Visitor;
use selvedge_face::web::{Entrance, Gate};
use sha2::{Digest, Sha256};

use crate::error::CliError;

/// A way in.
pub(crate) struct OneLink {
    port: u16,
    cookie: String,
    say: Box<dyn Fn(&str) + Send + Sync>,
    secrets: Mutex<Secrets>,
}

/// What is known of secrets: of those that were given out only a hash.
struct Secrets {
    fresh: String,
    used: Vec<[u8; 32]>,
    inside: Vec<[u8; 32]>,
}

/// Links that were used and are still recognised.
const REMEMBERED: usize = 16;
/// Browsers that may be in at once.
const INSIDE: usize = 64;

impl OneLink {
    /// A way in to a page on this port; `say` shows a person the link.
    pub(crate) fn new(
        port: u16,
        say: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Self, CliError> {
        Ok(Self {
            port,
            // Browsers share cookies between the ports of a host.
            cookie: format!("selvedge_ui_{port}"),
            say: Box::new(say),
            secrets: Mutex::new(Secrets {
                fresh: secret()?,
                used: Vec::new(),
                inside: Vec::new(),
            }),
        })
    }

    /// Shows the link.
    pub(crate) fn say(&self) {
        let fresh = self.secrets().fresh.clone();
        let port = self.port;
        (self.say)(&format!("http://127.0.0.1:{port}/login?token={fresh}"));
    }

    fn secrets(&self) -> std::sync::MutexGuard<'_, Secrets> {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn let_in(&self, token: &str) -> Result<String, String> {
        let failed = |error: CliError| error.to_string();
        let mut secrets = self.secrets();
        if hash(token) == hash(&secrets.fresh) {
            let (cookie, next) = (secret().map_err(failed)?, secret().map_err(failed)?);
            let spent = std::mem::replace(&mut secrets.fresh, next);
            secrets.used.insert(0, hash(&spent));
            secrets.used.truncate(REMEMBERED);
            secrets.inside.insert(0, hash(&cookie));
            secrets.inside.truncate(INSIDE);
            return Ok(cookie);
        }
        let was_used = secrets.used.contains(&hash(token));
        drop(secrets);
        if was_used {
            self.say();
            return Err("This link was used already. The terminal shows a new one.".to_owned());
        }
        Err("This link is not one of this page's.".to_owned())
    }
}

impl Gate for OneLink {
    fn entrance(&self) -> Entrance {
        Entrance::Link
    }

    fn cookie(&self) -> &str {
        &self.cookie
    }

    fn is_secure(&self) -> bool {
        false
    }

    fn enter<'a>(&'a self, secret: &'a str, _: IpAddr) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move { self.let_in(secret) })
    }

    fn visitor<'a>(&'a self, cookie: &'a str, _: IpAddr) -> BoxFuture<'a, Option<Visitor>> {
        let known = self.secrets().inside.contains(&hash(cookie));
        let visitor = known.then(|| Visitor {
            name: "this machine".to_owned(),
            may_act: true,
            tenant: None,
        });
        Box::pin(async move { visitor })
    }

    fn leave<'a>(&'a self, cookie: &'a str) -> BoxFuture<'a, ()> {
        self.secrets().inside.retain(|known| *known != hash(cookie));
        Box::pin(async {})
    }
}

/// Hashes are compared, so that how long it takes says nothing of a secret.
fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

fn secret() -> Result<String, CliError> {
    let mut bytes = [0_u8; 24];
    getrandom::fill(&mut bytes)
        .map_err(|error| CliError::infrastructure(format!("no random numbers: {error}")))?;
    Ok(hex(&bytes))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_link_works_once_and_is_shown_anew_when_tried_again() {
        let said: Arc<Mutex<Vec<String>>> = Arc::default();
        let shown = Arc::clone(&said);
        let gate =
            OneLink::new(1, move |link| shown.lock().unwrap().push(link.to_owned())).unwrap();
        gate.say();
        let token = said.lock().unwrap()[0]
            .rsplit('=')
            .next()
            .unwrap()
            .to_owned();
        assert!(gate.let_in("guess").is_err());
        let cookie = gate.let_in(&token).unwrap();
        assert!(gate.secrets().inside.contains(&hash(&cookie)));
        assert!(gate.let_in(&token).unwrap_err().contains("new one"));
        let links = said.lock().unwrap().clone();
        assert_eq!(
            links.len(),
            2,
            "a guess shows nothing, a used link a new one"
        );
        assert_ne!(links[0], links[1]);
    }
}

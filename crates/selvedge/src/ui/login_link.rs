//! Login to `selvedge ui` with the printed link, which works once. The link is exchanged for a cookie that is valid
//! while the program runs. If a used link is opened again, a new one is printed in the terminal.

use std::net::IpAddr;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use selvedge_core::format::hex;
use selvedge_dashboard::backend::DashboardUser;
use selvedge_dashboard::web::{Authenticator, LoginError, LoginMethod};
use sha2::{Digest, Sha256};

use crate::error::CliError;

pub(crate) struct OneTimeLoginLink {
    port: u16,
    cookie: String,
    show_link: Box<dyn Fn(&str) + Send + Sync>,
    secrets: Mutex<LoginSecrets>,
}

/// Of secrets that were given out, only hashes are stored.
struct LoginSecrets {
    unused: String,
    used: Vec<[u8; 32]>,
    sessions: Vec<[u8; 32]>,
}

/// Number of used links that are still recognized.
const MAX_USED_LINKS: usize = 16;
/// Number of browsers that can be logged in at the same time.
const MAX_SESSIONS: usize = 64;

impl OneTimeLoginLink {
    /// Creates a link for the dashboard on this port; `say` prints it.
    pub(crate) fn new(
        port: u16,
        say: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Self, CliError> {
        Ok(Self {
            port,
            // Browsers share cookies between the ports of a host.
            cookie: format!("selvedge_ui_{port}"),
            show_link: Box::new(say),
            secrets: Mutex::new(LoginSecrets {
                unused: random_secret()?,
                used: Vec::new(),
                sessions: Vec::new(),
            }),
        })
    }

    /// Prints the link.
    pub(crate) fn show(&self) {
        let fresh = self.secrets.lock().unused.clone();
        let port = self.port;
        (self.show_link)(&format!("http://127.0.0.1:{port}/login?token={fresh}"));
    }

    fn log_in(&self, token: &str) -> Result<String, LoginError> {
        let failed = |error: CliError| LoginError::Unavailable(error.to_string());
        let mut secrets = self.secrets.lock();
        if hash(token) == hash(&secrets.unused) {
            let (cookie, next) = (
                random_secret().map_err(failed)?,
                random_secret().map_err(failed)?,
            );
            let used_token = std::mem::replace(&mut secrets.unused, next);
            secrets.used.insert(0, hash(&used_token));
            secrets.used.truncate(MAX_USED_LINKS);
            secrets.sessions.insert(0, hash(&cookie));
            secrets.sessions.truncate(MAX_SESSIONS);
            return Ok(cookie);
        }
        let was_used = secrets.used.contains(&hash(token));
        drop(secrets);
        if was_used {
            self.show();
            return Err(LoginError::UsedLink);
        }
        Err(LoginError::InvalidLink)
    }
}

impl Authenticator for OneTimeLoginLink {
    fn login_method(&self) -> LoginMethod {
        LoginMethod::OneTimeLink
    }

    fn cookie_name(&self) -> &str {
        &self.cookie
    }

    fn is_secure(&self) -> bool {
        false
    }

    fn log_in<'a>(
        &'a self,
        secret: &'a str,
        _: IpAddr,
    ) -> BoxFuture<'a, Result<String, LoginError>> {
        Box::pin(async move { self.log_in(secret) })
    }

    fn find_user<'a>(
        &'a self,
        cookie: &'a str,
        _: IpAddr,
    ) -> BoxFuture<'a, Result<Option<DashboardUser>, LoginError>> {
        let is_logged_in = self.secrets.lock().sessions.contains(&hash(cookie));
        let user = is_logged_in.then(|| DashboardUser {
            name: "this machine".to_owned(),
            can_act: true,
            project: None,
            token_id: None,
            person: None,
            session_id: None,
        });
        Box::pin(async move { Ok(user) })
    }

    fn log_out<'a>(&'a self, cookie: &'a str) -> BoxFuture<'a, Result<(), LoginError>> {
        self.secrets
            .lock()
            .sessions
            .retain(|session| *session != hash(cookie));
        Box::pin(async { Ok(()) })
    }
}

/// Hashes are compared, so that the duration of a comparison reveals nothing about a secret.
fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

fn random_secret() -> Result<String, CliError> {
    let mut bytes = [0_u8; 24];
    getrandom::fill(&mut bytes).map_err(|error| {
        CliError::infrastructure(format!(
            "cannot get random numbers from the system: {error}"
        ))
    })?;
    Ok(hex(&bytes))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn login_link_works_once() {
        let printed: Arc<Mutex<Vec<String>>> = Arc::default();
        let sink = Arc::clone(&printed);
        let login_link =
            OneTimeLoginLink::new(1, move |link| sink.lock().push(link.to_owned())).unwrap();
        login_link.show();
        let token = printed.lock()[0].rsplit('=').next().unwrap().to_owned();
        assert!(login_link.log_in("guess").is_err());
        let cookie = login_link.log_in(&token).unwrap();
        assert!(login_link.secrets.lock().sessions.contains(&hash(&cookie)));
        assert!(matches!(
            login_link.log_in(&token),
            Err(LoginError::UsedLink)
        ));
        let links = printed.lock().clone();
        assert_eq!(
            links.len(),
            2,
            "a guess shows nothing, a used link a new one"
        );
        assert_ne!(links[0], links[1]);
    }
}

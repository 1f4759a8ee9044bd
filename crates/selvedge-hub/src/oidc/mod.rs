//! Sign-in of people at an OpenID Connect provider: the authorization code flow with PKCE. A person gets a session of
//! the dashboard with the rights of the roles that their groups have; the provider's tokens are not kept.

mod id_token;
mod pending;
mod person;
mod provider;
mod settings;

use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use selvedge_store::hub::{HubStoreError, Person};
use sha2::{Digest, Sha256};
use tokio::time::sleep;

pub use self::settings::{ClientSecret, IssuerError, OidcSettings, Role, parse_issuer};

use self::id_token::IdTokenError;
use self::pending::{PendingSignIn, SigningKey};
use self::person::PersonError;
pub(crate) use self::provider::IdentityProviderError;
use self::provider::Provider;
use crate::hub::Hub;

/// The path that the provider sends browsers back to.
pub const CALLBACK_PATH: &str = selvedge_dashboard::web::SIGN_IN_CALLBACK_PATH;
/// Longest code of the provider, in bytes.
const MAX_CODE_BYTES: usize = 4_096;
/// First pause after an attempt to reach the provider at the start of the hub, and the longest one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_mins(1);

/// Why a person cannot sign in.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SignInError {
    /// The answer does not belong to a sign-in of this browser.
    #[error(
        "This sign-in was not started in this browser at {0}, or more than 10 minutes ago. Sign in again."
    )]
    Unknown(String),
    /// The provider reported an error instead of a code.
    #[error("The identity provider refused the sign-in: {0}")]
    Denied(String),
    /// The provider cannot be used now.
    #[error("{}", describe(.0))]
    Provider(#[from] IdentityProviderError),
    /// The ID token is not valid.
    #[error("The identity provider sent an ID token that is not valid: {0}")]
    IdToken(#[from] IdTokenError),
    /// The person may not use the hub, or claims that the hub needs are missing.
    #[error(transparent)]
    Person(#[from] PersonError),
    /// The store cannot be used now.
    #[error("The hub cannot complete the sign-in now. Try again.")]
    Store(#[from] HubStoreError),
    /// The operating system has no random numbers.
    #[error("The hub cannot begin the sign-in now. Try again.")]
    Random(#[from] getrandom::Error),
}

/// The text for a page. Addresses and details of the network are only in the log.
fn describe(error: &IdentityProviderError) -> &'static str {
    match error {
        IdentityProviderError::Unavailable(_) => {
            "The identity provider cannot be reached now. Try again, or sign in with a token."
        }
        IdentityProviderError::Refused(_) => {
            "The identity provider refused the sign-in. Sign in again."
        }
        IdentityProviderError::Protocol(_) => {
            "The hub cannot use the identity provider; see the hub's log for the reason. Sign in with a token."
        }
    }
}

/// Where to send a browser, and the cookie that binds the sign-in to it.
#[derive(Debug)]
pub(crate) struct StartedSignIn {
    pub(crate) url: String,
    pub(crate) cookie: String,
}

/// The provider's answer, as the browser sends it.
#[derive(Debug)]
pub(crate) struct ProviderAnswer<'a> {
    pub(crate) code: &'a str,
    pub(crate) state: &'a str,
    /// The issuer (RFC 9207), if the provider sends it.
    pub(crate) issuer: Option<&'a str>,
    /// The error, instead of a code.
    pub(crate) error: Option<&'a str>,
}

/// Sign-in at the provider of the settings.
#[derive(Debug)]
pub(crate) struct PersonSignIn {
    settings: OidcSettings,
    provider: Provider,
    key: SigningKey,
}

impl PersonSignIn {
    pub(crate) fn new(settings: OidcSettings) -> Self {
        Self {
            provider: Provider::new(&settings),
            key: SigningKey::of(&settings),
            settings,
        }
    }

    pub(crate) fn settings(&self) -> &OidcSettings {
        &self.settings
    }

    /// Begins a sign-in after which the browser continues at a path. The state is in the cookie, so that visitors
    /// cannot fill the hub's memory, and any hub on the database can complete it.
    pub(crate) async fn begin(&self, hub: &Hub, next: &str) -> Result<StartedSignIn, SignInError> {
        let discovery = self.provider.discovery().await?;
        let secret = crate::auth::generate_secret()?;
        let now = hub.store.now().await?;
        let pending = PendingSignIn::new(&self.key, &secret, now, next);
        let mut url: Url = discovery.authorization_endpoint.clone();
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.settings.client_id)
            .append_pair("redirect_uri", &redirect_url(hub))
            .append_pair("scope", &self.settings.scopes.join(" "))
            .append_pair("state", &pending.state())
            .append_pair("nonce", &pending.nonce())
            .append_pair("code_challenge", &pending.code_challenge())
            .append_pair("code_challenge_method", "S256");
        Ok(StartedSignIn {
            url: url.into(),
            cookie: pending.into_cookie(),
        })
    }

    /// Completes a sign-in. Returns the person and the path to continue at. Providers accept a code only once (RFC 6749,
    /// section 4.1.2).
    pub(crate) async fn finish(
        &self,
        hub: &Hub,
        answer: ProviderAnswer<'_>,
        cookie: &str,
    ) -> Result<(Person, String), SignInError> {
        let unknown = || SignInError::Unknown(hub.settings.public_url());
        let now = hub.store.now().await?;
        let pending = PendingSignIn::from_cookie(&self.key, cookie, now).ok_or_else(unknown)?;
        // Compares hashes, so that the duration reveals nothing about the state.
        if Sha256::digest(pending.state()) != Sha256::digest(answer.state) {
            return Err(unknown());
        }
        if answer
            .issuer
            .is_some_and(|issuer| issuer != self.settings.issuer)
        {
            return Err(SignInError::Denied(
                "the answer is from another issuer".to_owned(),
            ));
        }
        if let Some(error) = answer.error {
            return Err(SignInError::Denied(person::shown_text(error)));
        }
        if answer.code.is_empty() || answer.code.len() > MAX_CODE_BYTES {
            return Err(unknown());
        }
        let verifier = pending.code_verifier();
        let redirect = redirect_url(hub);
        let token = self.provider.id_token(answer.code, &verifier, &redirect);
        let token = token.await?;
        let claims = self.verified_claims(&token, &pending.nonce()).await?;
        let person = person::from_claims(&self.settings, &claims)?;
        Ok((person, pending.next().to_owned()))
    }

    /// The claims of a valid ID token. If no known key verifies it, the keys are read again once.
    async fn verified_claims(
        &self,
        token: &str,
        nonce: &str,
    ) -> Result<id_token::Claims, SignInError> {
        let keys = self.provider.keys(None).await?;
        match id_token::verify(token, &keys, &self.settings, nonce) {
            Err(IdTokenError::Signature) => {
                let keys = self.provider.keys(Some(&keys)).await?;
                Ok(id_token::verify(token, &keys, &self.settings, nonce)?)
            }
            verified => Ok(verified?),
        }
    }
}

fn redirect_url(hub: &Hub) -> String {
    format!("{}{CALLBACK_PATH}", hub.settings.public_url())
}

/// Reads the provider's configuration at the start of the hub, so that problems are in the log before anyone signs in.
pub(crate) async fn run(hub: Arc<Hub>) {
    let Some(sign_on) = &hub.sign_on else {
        return;
    };
    let issuer = &sign_on.settings.issuer;
    let mut pause = FIRST_PAUSE;
    while let Err(error) = sign_on.provider.discovery().await {
        tracing::warn!(%issuer, %error, "people cannot sign in yet");
        sleep(pause).await;
        pause = (pause * 2).min(MAX_PAUSE);
    }
    tracing::info!(%issuer, "people can sign in");
}

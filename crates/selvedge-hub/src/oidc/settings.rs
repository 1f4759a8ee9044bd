//! Settings of the sign-in of people.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use reqwest::Url;
use selvedge_protocol::Scope;

/// The rights of a person on the hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Reads everything.
    Viewer,
    /// Submits, cancels, retries and reviews tasks.
    Submitter,
    /// The same as a submitter, because no scope permits only reviews.
    Reviewer,
    /// Everything.
    Admin,
}

impl Role {
    /// All roles, those with fewer rights first.
    pub const ALL: [Self; 4] = [Self::Viewer, Self::Submitter, Self::Reviewer, Self::Admin];

    /// Its name in settings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Submitter => "submitter",
            Self::Reviewer => "reviewer",
            Self::Admin => "admin",
        }
    }

    /// Parses a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == name)
    }

    /// The scope that a token with the same rights has.
    pub const fn scope(self) -> Scope {
        match self {
            Self::Viewer => Scope::Read,
            Self::Submitter | Self::Reviewer => Scope::Submit,
            Self::Admin => Scope::Admin,
        }
    }
}

/// A secret that is never part of a debug output.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientSecret(String);

impl ClientSecret {
    /// Wraps a secret.
    pub fn new(secret: String) -> Self {
        Self(secret)
    }

    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ClientSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientSecret(…)")
    }
}

/// An OpenID Connect provider, and the rights of its people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OidcSettings {
    /// The issuer, exactly as the provider names itself.
    pub issuer: String,
    /// The client id that the provider gave the hub.
    pub client_id: String,
    /// The client secret.
    pub client_secret: ClientSecret,
    /// The scopes to request, with `openid`.
    pub scopes: Vec<String>,
    /// The claim with the person's groups; dots lead into objects.
    pub groups_claim: String,
    /// The groups of each role.
    pub roles: Vec<(Role, Vec<String>)>,
    /// The role of people whose groups have none; without it they may not sign in.
    pub default_role: Option<Role>,
    /// How long a session of a person lasts at most.
    pub session_lifetime: Duration,
}

/// Why an issuer cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum IssuerError {
    /// It is not a URL of the required form.
    #[error("must be a URL like `https://login.example`, without `?` and `#`")]
    Invalid,
    /// It would be asked without encryption.
    #[error("must begin with `https://`; `http://` is allowed on loopback only")]
    Unencrypted,
}

/// Checks the URL of an issuer, or of an endpoint of it.
pub fn parse_issuer(text: &str) -> Result<Url, IssuerError> {
    let url = parse_endpoint(text)?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(IssuerError::Invalid);
    }
    Ok(url)
}

/// Checks the URL of an endpoint.
pub(super) fn parse_endpoint(text: &str) -> Result<Url, IssuerError> {
    let url = Url::parse(text).map_err(|_| IssuerError::Invalid)?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(IssuerError::Invalid);
    }
    let host = url.host_str().ok_or(IssuerError::Invalid)?;
    let address: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    let is_loopback = host == "localhost" || address.is_some_and(|it| it.is_loopback());
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_loopback => Ok(url),
        "http" => Err(IssuerError::Unencrypted),
        _ => Err(IssuerError::Invalid),
    }
}

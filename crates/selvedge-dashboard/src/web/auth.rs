//! Login: a cookie that scripts cannot read and that browsers do not send for other sites' requests, and a
//! token in every form that only our own pages know.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::rejection::QueryRejection;
use axum::extract::{ConnectInfo, Query, Request, State};
use axum::http::header::{COOKIE, HeaderMap, SET_COOKIE};
use axum::http::uri::PathAndQuery;
use axum::http::{Extensions, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use selvedge_core::format::{hex, percent_encode};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::respond::{FormResult, form_fields, is_local_path, redirect_to, render_page};
use super::stream::end_stream_with;
use super::theme::theme_of;
use super::{Dashboard, LoginError, LoginMethod, SharedDashboard, SignInAnswer};
use crate::backend::DashboardUser;
use crate::pages::{LoginPage, NavItem, PageFrame};
use crate::text::make_visible;

/// The session that a request belongs to: its user, and how their pages look.
#[derive(Debug, Clone)]
pub(super) struct RequestSession {
    pub(super) user: DashboardUser,
    /// Whether there are workers to show.
    pub(super) has_fleet: bool,
    /// Colour scheme of the pages.
    pub(super) theme: &'static str,
    /// Secret that this user's form tokens are derived from; never on a page itself.
    csrf: String,
    cookie: String,
}

/// Counts the issued tokens, so that each is different and none can be guessed from many responses.
static ISSUED_TOKENS: AtomicU64 = AtomicU64::new(0);

impl RequestSession {
    /// Issues a token for the forms of one page.
    pub(super) fn form_token(&self) -> String {
        let number = ISSUED_TOKENS.fetch_add(1, Ordering::Relaxed);
        let now = Timestamp::now().as_nanosecond();
        self.token_for_salt(&format!("{number}-{now}"))
    }

    fn token_for_salt(&self, salt: &str) -> String {
        let seal = Sha256::digest(format!("{} on form {salt}", self.csrf));
        format!("{salt}.{}", hex(&seal))
    }

    /// Whether a form token was issued to this user.
    pub(super) fn accepts_form_token(&self, token: &str) -> bool {
        let salt = token.split_once('.').map_or("", |(salt, _)| salt);
        // Compares hashes, so that the duration reveals nothing about the token.
        let ours = self.token_for_salt(salt);
        Sha256::digest(token.as_bytes()) == Sha256::digest(ours.as_bytes())
    }
}

/// Maximum length of a cookie or token, in bytes.
const MAX_SECRET_BYTES: usize = 512;
/// Maximum length of the cookie of a login at an identity provider, in bytes: it contains a path.
const MAX_SIGN_IN_BYTES: usize = 4_096;
/// How long a browser keeps that cookie, in seconds.
const SIGN_IN_COOKIE_SECONDS: u32 = 600;

/// Passes requests of logged-in users on, and answers all others with the login page (status 401).
pub(super) async fn require_login(
    State(dashboard): State<SharedDashboard>,
    mut request: Request,
    next: Next,
) -> Response {
    let from = client_address(request.extensions());
    // After the login, the reader continues here.
    let path = request.uri().path_and_query();
    let path = path.map_or("/", PathAndQuery::as_str);
    let login = match find_session(&dashboard, request.headers(), from).await {
        Ok(Some(login)) => login,
        Ok(None) => return login_page(&dashboard, StatusCode::UNAUTHORIZED, "", path),
        Err(error) => {
            let why = error.to_string();
            return login_page(&dashboard, error.status(), &why, path);
        }
    };
    let user = login.user.clone();
    request.extensions_mut().insert(login);
    let response = next.run(request).await;
    end_stream_with(response, || dashboard.authenticator.access_ended(&user))
}

/// The client's address, as far as the server provides it.
fn client_address(extensions: &Extensions) -> IpAddr {
    let info = extensions.get::<ConnectInfo<SocketAddr>>();
    info.map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |info| info.0.ip())
}

async fn find_session(
    dashboard: &Dashboard,
    headers: &HeaderMap,
    from: IpAddr,
) -> Result<Option<RequestSession>, LoginError> {
    let name = dashboard.authenticator.cookie_name();
    let Some(cookie) = find_cookie(headers, name, MAX_SECRET_BYTES) else {
        return Ok(None);
    };
    let user = dashboard.authenticator.find_user(&cookie, from).await?;
    let csrf = hex(&Sha256::digest(format!("csrf of {cookie}")));
    Ok(user.map(|user| RequestSession {
        user,
        has_fleet: dashboard.has_fleet,
        theme: theme_of(headers),
        csrf,
        cookie,
    }))
}

fn find_cookie(headers: &HeaderMap, name: &str, longest: usize) -> Option<String> {
    let all = headers.get_all(COOKIE).into_iter();
    let pairs = all.filter_map(|value| value.to_str().ok());
    let found = pairs
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(cookie_key, _)| *cookie_key == name);
    let (_, value) = found?;
    (value.len() <= longest).then(|| value.to_owned())
}

/// The login page.
fn login_page(dashboard: &Dashboard, status: StatusCode, refused: &str, next: &str) -> Response {
    let login_page = LoginPage {
        frame: PageFrame::new("Sign in", NavItem::Other, None),
        needs_token: dashboard.authenticator.login_method() == LoginMethod::Token,
        single_sign_on: sign_in_path(dashboard, next),
        refused: make_visible(refused),
        entered: false,
        next: local_path(next),
    };
    render_page(status, &login_page)
}

/// The path that begins a login at the identity provider, if there is one.
fn sign_in_path(dashboard: &Dashboard, next: &str) -> Option<String> {
    dashboard.authenticator.single_sign_on()?;
    let next = percent_encode(&local_path(next), b"-._~/");
    Some(format!("/login/sso?next={next}"))
}

/// The path, or the list's if it does not lead to this server.
fn local_path(path: &str) -> String {
    if is_local_path(path) { path } else { "/" }.to_owned()
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct LoginLinkQuery {
    token: String,
}

/// `GET /login`: the login page, or a login by a one-time link.
pub(super) async fn get_login(
    State(dashboard): State<SharedDashboard>,
    method: Method,
    extensions: Extensions,
    link: Result<Query<LoginLinkQuery>, QueryRejection>,
) -> Response {
    let token = link.map(|Query(link)| link.token).unwrap_or_default();
    match dashboard.authenticator.login_method() {
        // Programs that preview links send HEAD, which must not use the link up.
        LoginMethod::OneTimeLink if !token.is_empty() && method == Method::GET => {
            log_in(&dashboard, &token, client_address(&extensions), "/").await
        }
        _ => login_page(&dashboard, StatusCode::OK, "", "/"),
    }
}

/// `POST /login`: login with a token.
pub(super) async fn post_login(
    State(dashboard): State<SharedDashboard>,
    extensions: Extensions,
    sent: FormResult,
) -> Response {
    match dashboard.authenticator.login_method() {
        LoginMethod::Token => {
            let fields = form_fields(sent);
            let from = client_address(&extensions);
            log_in(&dashboard, fields.token.trim(), from, &fields.next).await
        }
        LoginMethod::OneTimeLink => login_page(&dashboard, StatusCode::NOT_FOUND, "", "/"),
    }
}

async fn log_in(dashboard: &Dashboard, secret: &str, from: IpAddr, next: &str) -> Response {
    if secret.len() > MAX_SECRET_BYTES {
        return login_page(dashboard, StatusCode::UNAUTHORIZED, "Invalid token.", next);
    }
    let value = match dashboard.authenticator.log_in(secret, from).await {
        Ok(value) => value,
        Err(error) => {
            let why = error.to_string();
            return login_page(dashboard, error.status(), &why, next);
        }
    };
    signed_in_page(dashboard, &value, next)
}

/// Sets the cookie of a session and forwards the browser. A page instead of a redirect: the cookie is not sent in a
/// redirect chain that began at another site.
fn signed_in_page(dashboard: &Dashboard, session: &str, next: &str) -> Response {
    let entered = LoginPage {
        frame: PageFrame::new("Signed in", NavItem::Other, None),
        needs_token: false,
        single_sign_on: None,
        refused: String::new(),
        entered: true,
        next: local_path(next),
    };
    with_cookie(
        dashboard,
        session,
        "",
        render_page(StatusCode::OK, &entered),
    )
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SignInQuery {
    next: String,
}

/// `GET /login/sso`: sends the browser to the identity provider. Nothing is stored for it here.
pub(super) async fn begin_sign_in(
    State(dashboard): State<SharedDashboard>,
    sent: Result<Query<SignInQuery>, QueryRejection>,
) -> Response {
    let Some(single_sign_on) = dashboard.authenticator.single_sign_on() else {
        return login_page(&dashboard, StatusCode::NOT_FOUND, "", "/");
    };
    let next = local_path(&sent.map(|Query(sent)| sent.next).unwrap_or_default());
    match single_sign_on.begin(&next).await {
        Ok(start) => {
            let keep = format!("; Max-Age={SIGN_IN_COOKIE_SECONDS}");
            let redirect = redirect_to(&start.url);
            with_sign_in_cookie(&dashboard, &start.cookie, &keep, redirect)
        }
        Err(error) => login_page(&dashboard, error.status(), &error.to_string(), &next),
    }
}

/// `GET /login/sso/callback`: the identity provider sends the browser back with a code.
pub(super) async fn finish_sign_in(
    State(dashboard): State<SharedDashboard>,
    method: Method,
    headers: HeaderMap,
    extensions: Extensions,
    answer: Result<Query<SignInAnswer>, QueryRejection>,
) -> Response {
    let Some(single_sign_on) = dashboard.authenticator.single_sign_on() else {
        return login_page(&dashboard, StatusCode::NOT_FOUND, "", "/");
    };
    // Programs that preview links send HEAD, which must not use the code up.
    if method != Method::GET {
        return login_page(&dashboard, StatusCode::OK, "", "/");
    }
    let name = single_sign_on.sign_in_cookie_name();
    let cookie = find_cookie(&headers, name, MAX_SIGN_IN_BYTES).unwrap_or_default();
    let answer = answer.map(|Query(answer)| answer).unwrap_or_default();
    let from = client_address(&extensions);
    let refused =
        |error: LoginError| login_page(&dashboard, error.status(), &error.to_string(), "/");
    let response = match single_sign_on.finish(answer, &cookie, from).await {
        Ok(signed_in) => signed_in_page(&dashboard, &signed_in.session, &signed_in.next),
        // The cookie's sign-in may still be completed.
        Err(error @ (LoginError::UnknownSignIn(_) | LoginError::Unavailable(_))) => {
            return refused(error);
        }
        Err(error) => refused(error),
    };
    with_sign_in_cookie(&dashboard, "", "; Max-Age=0", response)
}

/// `POST /logout`.
pub(super) async fn post_logout(
    State(dashboard): State<SharedDashboard>,
    axum::Extension(login): axum::Extension<RequestSession>,
    sent: FormResult,
) -> Response {
    if !login.accepts_form_token(&form_fields(sent).csrf) {
        return redirect_to("/");
    }
    if let Err(error) = dashboard.authenticator.log_out(&login.cookie).await {
        return login_page(&dashboard, error.status(), &error.to_string(), "/");
    }
    with_cookie(&dashboard, "", "; Max-Age=0", redirect_to("/login"))
}

fn with_cookie(dashboard: &Dashboard, value: &str, more: &str, response: Response) -> Response {
    let name = dashboard.authenticator.cookie_name();
    let attributes = format!("SameSite=Strict{more}");
    with_any_cookie(dashboard, name, value, &attributes, response)
}

/// Sets the cookie of a login at the identity provider. Browsers send it when the provider redirects them back.
fn with_sign_in_cookie(
    dashboard: &Dashboard,
    value: &str,
    more: &str,
    response: Response,
) -> Response {
    let Some(single_sign_on) = dashboard.authenticator.single_sign_on() else {
        return response;
    };
    let name = single_sign_on.sign_in_cookie_name();
    let attributes = format!("SameSite=Lax{more}");
    with_any_cookie(dashboard, name, value, &attributes, response)
}

fn with_any_cookie(
    dashboard: &Dashboard,
    name: &str,
    value: &str,
    attributes: &str,
    mut response: Response,
) -> Response {
    let secure = if dashboard.authenticator.is_secure() {
        "; Secure"
    } else {
        ""
    };
    let cookie = format!("{name}={value}; Path=/; HttpOnly{secure}; {attributes}");
    match HeaderValue::from_str(&cookie) {
        Ok(cookie) => {
            response.headers_mut().append(SET_COOKIE, cookie);
            response
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(csrf: &str) -> RequestSession {
        let user = DashboardUser {
            name: "ada".to_owned(),
            can_act: true,
            project: None,
            token_id: None,
            person: None,
            session_id: None,
        };
        let (csrf, cookie) = (csrf.to_owned(), String::new());
        RequestSession {
            has_fleet: false,
            theme: "",
            user,
            csrf,
            cookie,
        }
    }

    #[test]
    fn form_token_is_valid_for_its_session_only() {
        let (ada, bob) = (of("a"), of("b"));
        let (one, two) = (ada.form_token(), ada.form_token());
        assert_ne!(one, two);
        assert!(ada.accepts_form_token(&one) && ada.accepts_form_token(&two));
        assert!(
            !bob.accepts_form_token(&one)
                && !ada.accepts_form_token("")
                && !ada.accepts_form_token("a")
        );
        let other_salt = format!("1-1.{}", one.split_once('.').unwrap().1);
        assert!(!ada.accepts_form_token(&other_salt));
    }
}

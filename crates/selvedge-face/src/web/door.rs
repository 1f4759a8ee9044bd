//! Who is in: a cookie that no script can read and no other site makes the browser send, and a token
//! in every form that only our own pages know.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::rejection::QueryRejection;
use axum::extract::{ConnectInfo, Query, Request, State};
use axum::http::header::{COOKIE, HeaderMap, SET_COOKIE};
use axum::http::{Extensions, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use selvedge_core::words::hex;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::respond::{Sent, fields, page, see};
use super::{Entrance, Face, Shared};
use crate::pages::{EntryPage, Frame, Here};
use crate::reading::Visitor;

/// Somebody who is in.
#[derive(Debug, Clone)]
pub(super) struct Inside {
    pub(super) visitor: Visitor,
    /// Whether there are machines to look at.
    pub(super) has_fleet: bool,
    /// What the tokens of this visitor's forms are made from; never on a page itself.
    csrf: String,
    cookie: String,
}

/// Numbers the tokens that this program gave out: none is given twice, so none can be guessed at from
/// many answers.
static GIVEN: AtomicU64 = AtomicU64::new(0);

impl Inside {
    /// A token for the forms of one page.
    pub(super) fn form_token(&self) -> String {
        let number = GIVEN.fetch_add(1, Ordering::Relaxed);
        let now = Timestamp::now().as_nanosecond();
        self.token(&format!("{number}-{now}"))
    }

    fn token(&self, salt: &str) -> String {
        let seal = Sha256::digest(format!("{} on form {salt}", self.csrf));
        format!("{salt}.{}", hex(&seal))
    }

    /// Whether a form was made for this visitor.
    pub(super) fn made(&self, token: &str) -> bool {
        let salt = token.split_once('.').map_or("", |(salt, _)| salt);
        // Hashes of both are compared, so that how long it takes says nothing.
        let ours = self.token(salt);
        Sha256::digest(token.as_bytes()) == Sha256::digest(ours.as_bytes())
    }
}

/// Longest cookie or token that is looked at, in bytes.
const LONGEST: usize = 512;

/// Lets in who is in already, and sends everybody else to the door.
pub(super) async fn guard(
    State(face): State<Shared>,
    mut request: Request,
    next: Next,
) -> Response {
    let from = address(request.extensions());
    let Some(inside) = inside(&face, request.headers(), from).await else {
        return door(&face, StatusCode::UNAUTHORIZED, "");
    };
    request.extensions_mut().insert(inside);
    next.run(request).await
}

/// Where a request comes from, as far as whoever serves the pages says so.
fn address(extensions: &Extensions) -> IpAddr {
    let info = extensions.get::<ConnectInfo<SocketAddr>>();
    info.map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |info| info.0.ip())
}

async fn inside(face: &Face, headers: &HeaderMap, from: IpAddr) -> Option<Inside> {
    let cookie = cookie(headers, face.gate.cookie())?;
    let visitor = face.gate.visitor(&cookie, from).await?;
    let csrf = hex(&Sha256::digest(format!("csrf of {cookie}")));
    Some(Inside {
        visitor,
        has_fleet: face.has_fleet,
        csrf,
        cookie,
    })
}

fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let all = headers.get_all(COOKIE).into_iter();
    let pairs = all.filter_map(|value| value.to_str().ok());
    let found = pairs
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(known, _)| *known == name);
    let (_, value) = found?;
    (value.len() <= LONGEST).then(|| value.to_owned())
}

/// The page at the door.
fn door(face: &Face, status: StatusCode, refused: &str) -> Response {
    let door = EntryPage {
        frame: Frame::new("Come in", Here::Nowhere, None),
        asks: face.gate.entrance() == Entrance::Token,
        refused: refused.to_owned(),
        entered: false,
    };
    page(status, &door)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Link {
    token: String,
}

/// `GET /login`: the door, or the way in by a link that works once.
pub(super) async fn look(
    State(face): State<Shared>,
    extensions: Extensions,
    link: Result<Query<Link>, QueryRejection>,
) -> Response {
    let token = link.map(|Query(link)| link.token).unwrap_or_default();
    match face.gate.entrance() {
        Entrance::Link if !token.is_empty() => let_in(&face, &token, address(&extensions)).await,
        _ => door(&face, StatusCode::OK, ""),
    }
}

/// `POST /login`: the way in by a token that is typed.
pub(super) async fn enter(
    State(face): State<Shared>,
    extensions: Extensions,
    sent: Sent,
) -> Response {
    match face.gate.entrance() {
        Entrance::Token => let_in(&face, fields(sent).token.trim(), address(&extensions)).await,
        Entrance::Link => door(&face, StatusCode::NOT_FOUND, ""),
    }
}

async fn let_in(face: &Face, secret: &str, from: IpAddr) -> Response {
    if secret.len() > LONGEST {
        return door(face, StatusCode::UNAUTHORIZED, "That is no token.");
    }
    let value = match face.gate.enter(secret, from).await {
        Ok(value) => value,
        Err(why) => return door(face, StatusCode::UNAUTHORIZED, &why),
    };
    // A page and no redirect: the cookie is not sent along on a way that began at another site.
    let entered = EntryPage {
        frame: Frame::new("You are in", Here::Nowhere, None),
        asks: false,
        refused: String::new(),
        entered: true,
    };
    with_cookie(face, &value, "", page(StatusCode::OK, &entered))
}

/// `POST /logout`.
pub(super) async fn leave(
    State(face): State<Shared>,
    axum::Extension(inside): axum::Extension<Inside>,
    sent: Sent,
) -> Response {
    if !inside.made(&fields(sent).csrf) {
        return see("/");
    }
    face.gate.leave(&inside.cookie).await;
    with_cookie(&face, "", "; Max-Age=0", see("/login"))
}

fn with_cookie(face: &Face, value: &str, more: &str, mut response: Response) -> Response {
    let secure = if face.gate.is_secure() {
        "; Secure"
    } else {
        ""
    };
    let cookie = format!(
        "{}={value}; Path=/; HttpOnly; SameSite=Strict{secure}{more}",
        face.gate.cookie()
    );
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

    fn of(csrf: &str) -> Inside {
        let visitor = Visitor {
            name: "ada".to_owned(),
            may_act: true,
            tenant: None,
        };
        let (csrf, cookie) = (csrf.to_owned(), String::new());
        Inside {
            has_fleet: false,
            visitor,
            csrf,
            cookie,
        }
    }

    #[test]
    fn a_form_is_known_by_its_visitor_alone_and_no_two_pages_bear_the_same_token() {
        let (ada, bob) = (of("a"), of("b"));
        let (one, two) = (ada.form_token(), ada.form_token());
        assert_ne!(one, two);
        assert!(ada.made(&one) && ada.made(&two));
        assert!(!bob.made(&one) && !ada.made("") && !ada.made("a"));
        let other_salt = format!("1-1.{}", one.split_once('.').unwrap().1);
        assert!(!ada.made(&other_salt));
    }
}

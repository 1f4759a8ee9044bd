//! Security headers of every response, and rejection of foreign requests. A request that another site caused
//! (DNS rebinding, forged forms) is recognised by `Host` and `Origin`, and is rejected before anything else
//! is read.

use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, HeaderName, HeaderValue, ORIGIN, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::SharedDashboard;

/// Allows only our own script and stylesheet, nothing from other hosts, and no framing.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Host names that the dashboard accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AllowedHosts {
    /// Exactly these, with their ports: `127.0.0.1:4610`.
    Listed(Vec<String>),
    /// The surrounding server checks the host.
    CheckedElsewhere,
}

impl AllowedHosts {
    fn allows(&self, host: &str) -> bool {
        match self {
            Self::Listed(hosts) => hosts
                .iter()
                .any(|allowed_host| allowed_host.eq_ignore_ascii_case(host)),
            Self::CheckedElsewhere => true,
        }
    }
}

/// Adds the security headers to a response.
pub(super) async fn add_security_headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    set_security_headers(response.headers_mut());
    response
}

/// The security headers of every page.
pub(super) fn set_security_headers(headers: &mut HeaderMap) {
    let fixed: [(HeaderName, &'static str); 6] = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        // With `no-referrer`, browsers send `null` as the origin of our own forms.
        (REFERRER_POLICY, "same-origin"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let no_store = HeaderValue::from_static("no-store");
    headers.entry(CACHE_CONTROL).or_insert(no_store);
}

/// Rejects requests for another host, and requests that another site caused.
pub(super) async fn reject_foreign_requests(
    State(dashboard): State<SharedDashboard>,
    request: Request,
    next: Next,
) -> Response {
    match check_origin(
        &dashboard.allowed_hosts,
        request.method(),
        request.headers(),
    ) {
        Ok(()) => next.run(request).await,
        Err(why) => (StatusCode::FORBIDDEN, why).into_response(),
    }
}

fn check_origin(
    hosts: &AllowedHosts,
    method: &Method,
    headers: &HeaderMap,
) -> Result<(), &'static str> {
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let host = text(&HOST).unwrap_or_default();
    if !hosts.allows(host) {
        return Err("unknown host name\n");
    }
    if method == Method::GET || method == Method::HEAD {
        return Ok(());
    }
    // Browsers send the origin with every form that changes something.
    let origin = text(&ORIGIN).unwrap_or_default();
    let (_, from) = origin.split_once("://").unwrap_or_default();
    if host.is_empty() || !from.eq_ignore_ascii_case(host) {
        return Err("cross-origin requests are rejected\n");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cross_origin_requests_are_rejected() {
        let hosts = AllowedHosts::Listed(vec!["127.0.0.1:1".into()]);
        let check = |method: Method, host: &str, origin: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, host.parse().unwrap());
            if let Some(origin) = origin {
                headers.insert(ORIGIN, origin.parse().unwrap());
            }
            check_origin(&hosts, &method, &headers).is_ok()
        };
        assert!(check(Method::GET, "127.0.0.1:1", None));
        assert!(!check(Method::GET, "evil.example:1", None));
        assert!(!check(Method::GET, "127.0.0.1:2", None));
        assert!(check(
            Method::POST,
            "127.0.0.1:1",
            Some("http://127.0.0.1:1")
        ));
        assert!(!check(Method::POST, "127.0.0.1:1", None));
        assert!(!check(Method::POST, "127.0.0.1:1", Some("null")));
        assert!(!check(
            Method::POST,
            "127.0.0.1:1",
            Some("http://127.0.0.1:2")
        ));
    }
}

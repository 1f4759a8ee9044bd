//! The stylesheet, the scripts and the icon, embedded in the program.

use std::sync::LazyLock;

use axum::extract::{Path, RawQuery};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use selvedge_core::format::hex;
use sha2::{Digest, Sha256};

const CSS: &str = include_str!("../assets/dashboard.css");
const SCRIPT: &str = include_str!("../assets/dashboard.js");
const LIVE_SCRIPT: &str = include_str!("../assets/live.js");
const ICON: &str = include_str!("../assets/icon.svg");

/// Version in the URLs of all assets; it changes whenever an asset changes.
pub(crate) static VERSION: LazyLock<String> = LazyLock::new(|| {
    let mut hash = Sha256::new();
    for text in [CSS, SCRIPT, LIVE_SCRIPT, ICON] {
        hash.update(text);
    }
    hex(hash.finalize().get(..8).unwrap_or_default())
});

/// Browsers cache a URL with the current version forever; any other URL is revalidated each time.
const CACHE_IMMUTABLE: &str = "public, max-age=31536000, immutable";
const CACHE_REVALIDATE: &str = "public, no-cache";

/// The icon with a dot in the colour of a state.
fn state_icon(colour: &str) -> String {
    let dot =
        format!("<circle cx=\"11\" cy=\"11\" r=\"5\" fill=\"{colour}\" stroke=\"#fff\"/></svg>");
    ICON.replace("</svg>", &dot)
}

/// Serves one asset.
pub(crate) async fn asset(
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let (kind, text) = match name.as_str() {
        "dashboard.css" => ("text/css; charset=utf-8", CSS.to_owned()),
        "dashboard.js" => ("text/javascript; charset=utf-8", SCRIPT.to_owned()),
        "live.js" => ("text/javascript; charset=utf-8", LIVE_SCRIPT.to_owned()),
        "icon.svg" => ("image/svg+xml", ICON.to_owned()),
        "icon-good.svg" => ("image/svg+xml", state_icon("#1f9d55")),
        "icon-bad.svg" => ("image/svg+xml", state_icon("#d0323f")),
        "icon-warn.svg" => ("image/svg+xml", state_icon("#d99a14")),
        "icon-live.svg" => ("image/svg+xml", state_icon("#2f7de0")),
        _ => return StatusCode::NOT_FOUND.into_response(),
    };
    let version = VERSION.as_str();
    let named = query.as_deref().and_then(|query| query.strip_prefix("v="));
    let cache_control = if named == Some(version) {
        CACHE_IMMUTABLE
    } else {
        CACHE_REVALIDATE
    };
    // Weak, because the same asset is also sent compressed.
    let tag = format!("W/\"{version}\"");
    let cache_headers = [
        (CACHE_CONTROL, cache_control.to_owned()),
        (VARY, "accept-encoding".to_owned()),
        (ETAG, tag.clone()),
    ];
    let known_etags = headers.get(IF_NONE_MATCH).and_then(|it| it.to_str().ok());
    if known_etags.is_some_and(|known_etags| known_etags.split(',').any(|it| it.trim() == tag)) {
        return (StatusCode::NOT_MODIFIED, cache_headers).into_response();
    }
    (cache_headers, [(CONTENT_TYPE, kind)], text).into_response()
}

/// Serves the icon that browsers request by themselves.
pub(crate) async fn icon(headers: HeaderMap) -> Response {
    asset(Path("icon.svg".to_owned()), RawQuery(None), headers).await
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[tokio::test]
    async fn asset_cache_depends_on_hash_in_path() {
        let ask = async |query: Option<String>, tag: Option<HeaderValue>| {
            let mut headers = HeaderMap::new();
            headers.extend(tag.map(|tag| (IF_NONE_MATCH, tag)));
            asset(Path("dashboard.css".to_owned()), RawQuery(query), headers).await
        };
        let named = ask(Some(format!("v={}", *VERSION)), None).await;
        assert_eq!(named.headers()[CACHE_CONTROL], CACHE_IMMUTABLE);
        let other = ask(Some("v=0.1.0".to_owned()), None).await;
        assert_eq!(other.headers()[CACHE_CONTROL], CACHE_REVALIDATE);
        let tag = other.headers()[ETAG].clone();
        let again = ask(None, Some(tag)).await;
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    }
}

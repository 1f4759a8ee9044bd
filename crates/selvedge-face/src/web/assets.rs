//! The stylesheet, the script and the icon, from this program itself.

use axum::extract::Path;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};

const CSS: &str = include_str!("../../assets/face.css");
const SCRIPT: &str = include_str!("../../assets/face.js");
const ICON: &str = include_str!("../../assets/icon.svg");

/// Their addresses bear a version, so that a browser may keep them for a while.
const KEPT: &str = "public, max-age=3600";

/// One of them.
pub(super) async fn asset(Path(name): Path<String>) -> Response {
    let (kind, text) = match name.as_str() {
        "face.css" => ("text/css; charset=utf-8", CSS),
        "face.js" => ("text/javascript; charset=utf-8", SCRIPT),
        "icon.svg" => ("image/svg+xml", ICON),
        _ => return StatusCode::NOT_FOUND.into_response(),
    };
    ([(CONTENT_TYPE, kind), (CACHE_CONTROL, KEPT)], text).into_response()
}

/// What browsers ask for by themselves.
pub(super) async fn icon() -> Response {
    asset(Path("icon.svg".to_owned())).await
}

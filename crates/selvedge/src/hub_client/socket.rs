//! A worker's WebSocket: an HTTP upgrade by the same client as all other requests, so that URLs, certificates and
//! proxies behave the same.

use reqwest::Method;
use reqwest::Upgraded;
use reqwest::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use selvedge_protocol::{API_PATH, SESSION_PROTOCOL, WORKER_PATH};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use super::error::HubError;
use super::http::HubClient;

const MAX_MESSAGE_BYTES: usize = 64 * 1024 * 1024;

impl HubClient {
    /// Opens a worker's session.
    pub(crate) async fn open_session(&self) -> Result<WebSocketStream<Upgraded>, HubError> {
        let key = generate_key();
        let path = WORKER_PATH.strip_prefix(API_PATH).unwrap_or(WORKER_PATH);
        let request = self
            .request(Method::GET, path, &[])
            .header(CONNECTION, "Upgrade")
            .header(UPGRADE, "websocket")
            .header(SEC_WEBSOCKET_VERSION, "13")
            .header(SEC_WEBSOCKET_PROTOCOL, SESSION_PROTOCOL)
            .header(SEC_WEBSOCKET_KEY, &key);
        let response = self.send(request).await?;
        let accept = response.headers().get(SEC_WEBSOCKET_ACCEPT);
        if accept.is_none_or(|it| it.as_bytes() != derive_accept_key(key.as_bytes()).as_bytes()) {
            let status = response.status().as_u16();
            return Err(HubError::InvalidResponse(format!(
                "WebSocket rejected at {WORKER_PATH} (HTTP {status})"
            )));
        }
        let socket = response
            .upgrade()
            .await
            .map_err(|e| self.unreachable_error(&e))?;
        let config = WebSocketConfig::default()
            .max_message_size(Some(MAX_MESSAGE_BYTES))
            .max_frame_size(Some(MAX_MESSAGE_BYTES));
        Ok(WebSocketStream::from_raw_socket(socket, Role::Client, Some(config)).await)
    }
}

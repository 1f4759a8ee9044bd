//! A WebDriver client: JSON over HTTP on loopback. An error response fails the test, except in
//! `try_post`.

use serde_json::{Value, json};

use crate::watched_value::WAIT_TIMEOUT;

/// A WebDriver session.
pub(super) struct WebDriverSession {
    runtime: tokio::runtime::Runtime,
    client: reqwest::Client,
    session: String,
}

impl std::fmt::Debug for WebDriverSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wire")
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

impl WebDriverSession {
    #[track_caller]
    pub(super) fn connect(port: u16, capabilities: &Value) -> Self {
        // An error means that it is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let client = reqwest::Client::builder()
            .no_proxy()
            .timeout(WAIT_TIMEOUT)
            .build();
        let mut wire = Self {
            runtime: runtime.expect("a runtime"),
            client: client.expect("a client"),
            session: format!("http://127.0.0.1:{port}/session"),
        };
        let session = wire.send(reqwest::Method::POST, "", Some(capabilities));
        let session = session.unwrap_or_else(|error| panic!("no browser: {error}"));
        let name = session["sessionId"].as_str().expect("a session");
        wire.session = format!("{}/{name}/", wire.session);
        wire
    }

    #[track_caller]
    pub(super) fn post(&self, what: &str, body: &Value) -> Value {
        let answer = self.try_post(what, body);
        answer.unwrap_or_else(|error| panic!("{what} {body}: {error}"))
    }

    pub(super) fn try_post(&self, what: &str, body: &Value) -> Result<Value, String> {
        self.send(reqwest::Method::POST, what, Some(body))
    }

    #[track_caller]
    pub(super) fn get(&self, what: &str) -> Value {
        let answer = self.send(reqwest::Method::GET, what, None);
        answer.unwrap_or_else(|error| panic!("{what}: {error}"))
    }

    fn send(
        &self,
        method: reqwest::Method,
        what: &str,
        body: Option<&Value>,
    ) -> Result<Value, String> {
        let mut request = self
            .client
            .request(method, format!("{}{what}", self.session));
        if let Some(body) = body {
            request = request.json(body);
        }
        let answer = self.runtime.block_on(async {
            let answer = request.send().await?;
            let is_good = answer.status().is_success();
            Ok::<_, reqwest::Error>((is_good, answer.json::<Value>().await?))
        });
        match answer {
            Ok((true, mut answer)) => Ok(answer["value"].take()),
            Ok((false, answer)) => Err(answer["value"]["message"].to_string()),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl Drop for WebDriverSession {
    fn drop(&mut self) {
        // A browser that does not close is killed with the environment.
        let _ = self.send(
            reqwest::Method::DELETE,
            "",
            None::<&Value>.or(Some(&json!({}))),
        );
    }
}

/// Decodes standard base64, the encoding of screenshots.
pub(super) fn decode_base64(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    let decoded = base64::engine::general_purpose::STANDARD.decode(text);
    decoded.expect("base64")
}

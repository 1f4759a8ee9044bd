//! A provider of OpenID Connect on loopback, over real HTTP. Everyone who comes to its authorization endpoint is signed
//! in already, as the person whose claims the test has set. It signs ID tokens with ES256 and checks what a provider has
//! to check: the client, its secret, the redirect URL, PKCE, and that a code is used once.

use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::extract::{Form, Query, Request, State};
use axum::http::header::{AUTHORIZATION, LOCATION};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;

use crate::model_server::serve;
use crate::watched_value::WatchedValue;

/// A running provider. It stops when dropped.
#[derive(Debug)]
pub struct IdentityProvider {
    address: SocketAddr,
    state: Arc<WatchedValue<ProviderState>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct ProviderState {
    issuer: String,
    is_available: bool,
    /// Whether the client sends its secret in the body, and not in a header.
    secret_in_body: bool,
    claims: Map<String, Value>,
    key: SigningKey,
    /// The keys that the provider publishes.
    published: Vec<Value>,
    codes: HashMap<String, IssuedCode>,
    issued: usize,
}

#[derive(Debug)]
struct SigningKey {
    id: String,
    pair: EcdsaKeyPair,
}

/// The request that a code was issued for.
#[derive(Debug)]
struct IssuedCode {
    redirect_uri: String,
    code_challenge: String,
    nonce: String,
}

type SharedState = Arc<WatchedValue<ProviderState>>;

impl IdentityProvider {
    /// The id of the only client. It contains characters that are encoded in requests.
    pub const CLIENT_ID: &str = "selvedge hub";
    /// The secret of this client.
    pub const CLIENT_SECRET: &str = "s3cret: of+the=hub";

    /// Serves on a free port of the loopback interface.
    #[track_caller]
    pub fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port on loopback");
        let address = listener.local_addr().expect("an address");
        let key = SigningKey::generate("key 1");
        let state = Arc::new(WatchedValue::new(ProviderState {
            issuer: format!("http://{address}"),
            is_available: true,
            secret_in_body: false,
            claims: Map::new(),
            published: vec![key.public_jwk()],
            key,
            codes: HashMap::new(),
            issued: 0,
        }));
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(discovery))
            .route("/keys", get(keys))
            .route("/authorize", get(authorize))
            .route("/token", post(token))
            .layer(from_fn_with_state(Arc::clone(&state), refuse_while_away))
            .with_state(Arc::clone(&state));
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || serve(listener, router, stopped));
        Self {
            address,
            state,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// The issuer.
    pub fn issuer(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Sets the person who signs in next: claims that replace those that the provider sets by itself.
    pub fn set_claims(&self, claims: &Value) {
        let claims = claims.as_object().expect("claims are an object").clone();
        self.state.update(|state| state.claims = claims);
    }

    /// Answers every request with 503, or serves again.
    pub fn set_available(&self, is_available: bool) {
        self.state.update(|state| state.is_available = is_available);
    }

    /// Accepts the client's secret only in the body of requests.
    pub fn require_secret_in_body(&self) {
        self.state.update(|state| state.secret_in_body = true);
    }

    /// Signs with a new key from now on. It is published instead of the earlier ones, or not at all.
    pub fn rotate_key(&self, id: &str, is_published: bool) {
        let key = SigningKey::generate(id);
        self.state.update(|state| {
            if is_published {
                state.published = vec![key.public_jwk()];
            }
            state.key = key;
        });
    }
}

impl Drop for IdentityProvider {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the server's thread was already printed.
            let _ = thread.join();
        }
    }
}

impl SigningKey {
    fn generate(id: &str) -> Self {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("a key");
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random);
        Self {
            id: id.to_owned(),
            pair: pair.expect("a key pair"),
        }
    }

    fn public_jwk(&self) -> Value {
        // An uncompressed point: 4, and two coordinates.
        let point = self.pair.public_key().as_ref();
        let (x, y) = point[1..].split_at(32);
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        json!({
            "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": self.id,
            "x": encode(x), "y": encode(y),
        })
    }

    fn sign(&self, claims: &Value) -> String {
        let header = json!({"alg": "ES256", "typ": "JWT", "kid": self.id});
        let encode = |json: &Value| URL_SAFE_NO_PAD.encode(json.to_string());
        let message = format!("{}.{}", encode(&header), encode(claims));
        let signed = self.pair.sign(&SystemRandom::new(), message.as_bytes());
        let signature = signed.expect("a signature");
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

async fn refuse_while_away(
    State(state): State<SharedState>,
    request: Request,
    next: Next,
) -> Response {
    let is_available = state.get().is_available;
    if is_available {
        next.run(request).await
    } else {
        StatusCode::SERVICE_UNAVAILABLE.into_response()
    }
}

async fn discovery(State(state): State<SharedState>) -> Json<Value> {
    let state = state.get();
    let issuer = &state.issuer;
    let method = if state.secret_in_body {
        "client_secret_post"
    } else {
        "client_secret_basic"
    };
    Json(json!({
        "token_endpoint_auth_methods_supported": [method],
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize?prompt=login"),
        "token_endpoint": format!("{issuer}/token"),
        "jwks_uri": format!("{issuer}/keys"),
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    }))
}

async fn keys(State(state): State<SharedState>) -> Json<Value> {
    // Clients have to skip keys of kinds that they do not know.
    let mut keys = vec![json!({"kty": "unknown", "kid": "other"})];
    keys.extend(state.get().published.clone());
    Json(json!({"keys": keys}))
}

#[derive(Debug, Deserialize)]
struct AuthorizationRequest {
    response_type: String,
    client_id: String,
    redirect_uri: String,
    scope: String,
    state: String,
    nonce: String,
    code_challenge: String,
    code_challenge_method: String,
}

async fn authorize(
    State(state): State<SharedState>,
    Query(request): Query<AuthorizationRequest>,
) -> Response {
    let is_valid = request.response_type == "code"
        && request.client_id == IdentityProvider::CLIENT_ID
        && request.scope.split(' ').any(|scope| scope == "openid")
        && request.code_challenge_method == "S256";
    if !is_valid {
        return (StatusCode::BAD_REQUEST, format!("{request:?}")).into_response();
    }
    let code = state.update(|state| {
        state.issued += 1;
        let code = format!("code-{}", state.issued);
        let issued = IssuedCode {
            redirect_uri: request.redirect_uri.clone(),
            code_challenge: request.code_challenge,
            nonce: request.nonce,
        };
        state.codes.insert(code.clone(), issued);
        code
    });
    let location = format!(
        "{}?code={code}&state={}",
        request.redirect_uri, request.state
    );
    (StatusCode::FOUND, [(LOCATION, location)]).into_response()
}

#[derive(Debug, Deserialize)]
struct TokenRequest {
    grant_type: String,
    code: String,
    redirect_uri: String,
    code_verifier: String,
    client_id: Option<String>,
    client_secret: Option<String>,
}

async fn token(
    State(state): State<SharedState>,
    headers: HeaderMap,
    Form(request): Form<TokenRequest>,
) -> Response {
    let refuse =
        |status: StatusCode, error: &str| (status, Json(json!({"error": error}))).into_response();
    let is_client = if state.get().secret_in_body {
        request.client_id.as_deref() == Some(IdentityProvider::CLIENT_ID)
            && request.client_secret.as_deref() == Some(IdentityProvider::CLIENT_SECRET)
    } else {
        is_client(&headers)
    };
    if !is_client {
        return refuse(StatusCode::UNAUTHORIZED, "invalid_client");
    }
    let issued = state.update(|state| state.codes.remove(&request.code));
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(&request.code_verifier));
    let issued = issued.filter(|issued| {
        request.grant_type == "authorization_code"
            && issued.redirect_uri == request.redirect_uri
            && issued.code_challenge == challenge
    });
    let Some(issued) = issued else {
        return refuse(StatusCode::BAD_REQUEST, "invalid_grant");
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.expect("a time after 1970").as_secs();
    let state = state.get();
    let mut claims = json!({
        "iss": state.issuer,
        "aud": IdentityProvider::CLIENT_ID,
        "sub": "1",
        "iat": now,
        "exp": now + 300,
        "nonce": issued.nonce,
    });
    if let Some(all) = claims.as_object_mut() {
        all.extend(state.claims.clone());
    }
    Json(json!({
        "access_token": "unused",
        "token_type": "Bearer",
        "id_token": state.key.sign(&claims),
    }))
    .into_response()
}

/// Whether a request has the credentials of the client, each encoded as in a form.
fn is_client(headers: &HeaderMap) -> bool {
    let header = headers.get(AUTHORIZATION).and_then(|it| it.to_str().ok());
    let credentials = header.and_then(|header| header.strip_prefix("Basic "));
    let decoded = credentials.and_then(|text| STANDARD.decode(text).ok());
    decoded.is_some_and(|it| it == b"selvedge%20hub:s3cret%3A%20of%2Bthe%3Dhub")
}

//! Files in an object store: a small server on loopback that has the part of S3's interface that hubs use, that checks
//! what is signed, and that can fail.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use parking_lot::Mutex;
use selvedge_hub::{HubSettings, ObjectStorage, ObjectStoreCredentials, ObjectStoreSettings};
use selvedge_protocol::Scope;
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;

use crate::harness::{HttpAnswer, TEST_TIMEOUT, TestDatabase, TestHub};

fn hex_digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

/// The object store.
#[derive(Default)]
struct FakeObjectStore {
    objects: Mutex<BTreeMap<String, Vec<u8>>>,
    is_down: AtomicBool,
}

impl FakeObjectStore {
    async fn start() -> (Arc<Self>, ObjectStorage) {
        let store = Arc::new(Self::default());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = axum::Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&store));
        tokio::spawn(async move { axum::serve(listener, router).await });
        let variables = [
            ("AWS_ACCESS_KEY_ID", "key-id"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
        ];
        let storage = ObjectStorage::new(&ObjectStoreSettings {
            bucket: "files".to_owned(),
            endpoint: Some(url),
            region: None,
            prefix: "hub/one".to_owned(),
            is_virtual_hosted: false,
            credentials: ObjectStoreCredentials::Environment(
                variables
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
                    .into(),
            ),
        });
        (store, storage.unwrap())
    }

    /// The keys of the objects with content of files.
    fn keys(&self) -> Vec<String> {
        let objects = self.objects.lock();
        let keys = objects
            .keys()
            .filter(|key| !key.ends_with("selvedge-probe"));
        keys.cloned().collect()
    }
}

async fn answer(
    State(store): State<Arc<FakeObjectStore>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if store.is_down.load(Ordering::SeqCst) {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let signature = headers[header::AUTHORIZATION].to_str().unwrap();
    assert!(
        signature.starts_with("AWS4-HMAC-SHA256 Credential=key-id/"),
        "{signature}"
    );
    assert_eq!(headers["x-amz-content-sha256"], hex_digest(&body));
    let key = uri.path().to_owned();
    assert!(key.starts_with("/files/hub/one/"), "{key}");
    let mut objects = store.objects.lock();
    match method {
        Method::PUT => {
            objects.insert(key, body.to_vec());
            [(header::ETAG, "\"1\"")].into_response()
        }
        Method::GET => match objects.get(&key) {
            Some(bytes) => {
                let headers = [
                    (header::ETAG, "\"1\""),
                    (header::LAST_MODIFIED, "Wed, 21 Oct 2015 07:28:00 GMT"),
                ];
                (headers, bytes.clone()).into_response()
            }
            None => (
                StatusCode::NOT_FOUND,
                "<Error><Code>NoSuchKey</Code></Error>",
            )
                .into_response(),
        },
        Method::DELETE => {
            objects.remove(&key);
            StatusCode::NO_CONTENT.into_response()
        }
        _ => StatusCode::METHOD_NOT_ALLOWED.into_response(),
    }
}

struct Uploader {
    hub: TestHub,
    token: String,
}

impl Uploader {
    async fn new(database: TestDatabase, objects: Option<ObjectStorage>) -> Self {
        let settings = HubSettings {
            objects,
            requests_per_second: 1_000_000,
            ..HubSettings::default()
        };
        let hub = TestHub::with_settings(settings, database).await;
        let token = hub.token(&[Scope::Worker]).await;
        Self { hub, token }
    }

    async fn put(&self, content: &[u8], from: usize, to: usize) -> HttpAnswer {
        let range = format!(
            "Content-Range: bytes {from}-{}/{}\r\n",
            to - 1,
            content.len()
        );
        self.send("PUT", content, &range, &content[from..to]).await
    }

    async fn send(&self, method: &str, content: &[u8], headers: &str, body: &[u8]) -> HttpAnswer {
        let path = format!("/api/v1/blobs/{}", hex_digest(content));
        let token = Some(self.token.as_str());
        self.hub.request(method, &path, token, headers, body).await
    }

    async fn get(&self, content: &[u8]) -> HttpAnswer {
        self.send("GET", content, "", b"").await
    }

    async fn upload(&self, content: &[u8]) {
        let middle = content.len() / 2;
        assert_eq!(self.put(content, 0, middle).await.status, 204);
        assert_eq!(self.put(content, middle, content.len()).await.status, 204);
    }
}

pub(crate) async fn file_is_in_the_object_store_until_its_retention_ends(database: TestDatabase) {
    let (store, storage) = FakeObjectStore::start().await;
    let without = Uploader::new(database, None).await;
    without.upload(b"stored in the database").await;
    let token = without.token.clone();
    let settings = HubSettings {
        objects: Some(storage),
        ..without.hub.hub.settings().clone()
    };
    let hub = without.hub.restart_with(settings).await;
    let uploader = Uploader { hub, token };
    let file = b"stored in the object store";
    // The second beginning replaces the first one.
    assert_eq!(uploader.put(file, 0, 4).await.status, 204);
    uploader.upload(file).await;
    assert_eq!(uploader.send("HEAD", file, "", b"").await.status, 200);
    assert_eq!(uploader.get(file).await.body.as_bytes(), file);
    let old = uploader.get(b"stored in the database").await;
    assert_eq!(old.body, "stored in the database");
    // A part of a file, an upload that is finished already, and wrong bytes.
    assert_eq!(uploader.put(file, 0, 4).await.status, 204);
    assert_eq!(uploader.put(b"other", 3, 5).await.status, 409);
    let wrong = uploader.send("PUT", b"expected", "", b"received").await;
    assert_eq!(wrong.status, 422, "{wrong:?}");
    let hub_store = uploader.hub.hub.store();
    while hub_store.purge_expired(-60_000, 100).await.unwrap() > 0 {}
    let until = tokio::time::Instant::now() + TEST_TIMEOUT;
    while !store.keys().is_empty() || hub_store.count_unused_objects().await.unwrap() > 0 {
        assert!(tokio::time::Instant::now() < until, "{:?}", store.keys());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(uploader.get(file).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn unavailable_object_store_fails_uploads_and_downloads_and_nothing_else() {
    let (store, storage) = FakeObjectStore::start().await;
    let uploader = Uploader::new(TestDatabase::sqlite(), Some(storage)).await;
    let submit = uploader.hub.token(&[Scope::Submit]).await;
    let probe = async |path: &str| {
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: 10.0.0.9\r\nConnection: close\r\nAuthorization: Bearer {submit}\r\n\r\n"
        );
        uploader.hub.raw(&request, b"").await
    };
    uploader.upload(b"first file").await;
    assert_eq!(probe("/readyz").await.body, "ready\n");
    let metrics = probe("/metrics").await.body;
    assert!(
        metrics.contains("\nselvedge_object_store_up 1\n"),
        "{metrics}"
    );
    store.is_down.store(true, Ordering::SeqCst);
    for answer in [
        uploader.put(b"second file", 0, 11).await,
        uploader.get(b"first file").await,
    ] {
        assert_eq!(answer.status, 503, "{answer:?}");
        assert!(answer.head.contains("retry-after"), "{answer:?}");
        let problem = answer.json();
        assert!(
            problem["type"].as_str().unwrap().ends_with("object-store"),
            "{answer:?}"
        );
        assert!(!answer.body.contains("127.0.0.1"), "{answer:?}");
    }
    let ready = probe("/readyz").await;
    assert_eq!(ready.status, 200);
    assert!(
        ready.body.contains("object store is unavailable"),
        "{ready:?}"
    );
    let metrics = probe("/metrics").await.body;
    assert!(
        metrics.contains("\nselvedge_object_store_up 0\n"),
        "{metrics}"
    );
    let put_errors =
        "selvedge_object_store_request_seconds_count{operation=\"put\",result=\"error\"} 1";
    assert!(metrics.contains(put_errors), "{metrics}");
    assert_eq!(
        uploader.send("HEAD", b"first file", "", b"").await.status,
        200
    );
    uploader
        .hub
        .submit(&submit, &json!({"description": "x"}))
        .await;
    store.is_down.store(false, Ordering::SeqCst);
    // The client repeats the same request.
    assert_eq!(uploader.put(b"second file", 0, 11).await.status, 204);
    assert_eq!(uploader.get(b"first file").await.body, "first file");
    assert_eq!(uploader.get(b"second file").await.body, "second file");
    assert_eq!(probe("/readyz").await.body, "ready\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_or_lost_object_is_reported_and_never_delivered() {
    let (store, storage) = FakeObjectStore::start().await;
    let uploader = Uploader::new(TestDatabase::sqlite(), Some(storage)).await;
    let content = b"the only content";
    assert_eq!(uploader.put(content, 0, content.len()).await.status, 204);
    let [key] = store.keys().try_into().unwrap();
    let mut replaced = content.to_vec();
    replaced[0] ^= 1;
    store.objects.lock().insert(key.clone(), replaced);
    let changed = uploader.get(content).await;
    assert_eq!(changed.status, 410, "{changed:?}");
    assert!(changed.body.contains("not what was stored"), "{changed:?}");
    store.objects.lock().remove(&key);
    let lost = uploader.get(content).await;
    assert_eq!(lost.status, 410, "{lost:?}");
    assert!(
        lost.body.contains("missing in the hub's object store"),
        "{lost:?}"
    );
    // Other files are not affected.
    let ready = "GET /readyz HTTP/1.1\r\nHost: 10.0.0.9\r\nConnection: close\r\n\r\n";
    assert_eq!(uploader.hub.raw(ready, b"").await.body, "ready\n");
}

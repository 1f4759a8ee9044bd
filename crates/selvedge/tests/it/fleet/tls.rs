//! A hub with a certificate: all commands and workers use TLS and trust only that certificate.

use reqwest::{Certificate, Client, StatusCode, Version};
use selvedge_testkit::TestCa;
use serde_json::{Value, json};

use super::fixture::HubFixture;

#[test]
fn tls_hub_works_for_clients_that_trust_it() {
    let fleet = HubFixture::with_tls("echo good > out");
    let _worker = fleet.worker("one");
    let task = fleet.submit("grep -q good out", &[]);
    let out = fleet.watch(&task);
    out.assert_code(0);
    assert_eq!(out.json()["outcome"], "verified");
    let workers = fleet.run(&["workers", "--format", "json"]).json();
    assert_eq!(workers[0]["worker"], "one");

    let refused = |url: &str, trusted: Option<&TestCa>, message: &str| {
        let mut command = fleet
            .env
            .selvedge(["list", "--hub", url])
            .arg("--token-file")
            .arg(fleet.token());
        if let Some(authority) = trusted {
            command = command.env("SSL_CERT_FILE", authority.ca_certificate_path());
        }
        let out = command.run();
        out.assert_code(9);
        assert!(out.stderr.contains(message), "{message}: {}", out.stderr);
    };
    let stranger =
        TestCa::with_server_certificate(&fleet.env.root().join("stranger"), &["127.0.0.1"]);
    refused(&fleet.url, Some(&stranger), "certificate");
    let other_name = fleet.url.replace("127.0.0.1", "localhost");
    refused(&other_name, fleet.tls.as_ref(), "certificate");
    let in_the_clear = fleet.url.replace("https://", "http://");
    refused(&in_the_clear, None, "cannot reach the hub");
}

#[test]
fn tls_rejects_unusable_certificate_before_listening() {
    let env = crate::fixtures::env_with_repo();
    let one = TestCa::with_server_certificate(&env.root().join("one"), &["localhost"]);
    let other = TestCa::with_server_certificate(&env.root().join("other"), &["localhost"]);
    let missing = env.root().join("missing.pem");
    for (chain, key, message) in [
        (
            one.server_certificate_path(),
            other.server_key_path(),
            "invalid certificate or key",
        ),
        (missing, one.server_key_path(), "missing.pem"),
        (
            one.server_key_path(),
            one.server_key_path(),
            "no PEM certificate",
        ),
    ] {
        let out = env
            .selvedge(["hub", "--listen", "127.0.0.1:0", "--tls-cert"])
            .arg(chain)
            .arg("--tls-key")
            .arg(key)
            .run();
        out.assert_code(2);
        assert!(out.stderr.contains(message), "{message}: {}", out.stderr);
    }
}

#[test]
fn tls_certificate_is_read_again_on_sighup() {
    let fleet = HubFixture::with_tls("true");
    let hub = fleet.hub.as_ref().unwrap();
    let folder = fleet.env.root().join("tls");
    let old_key = std::fs::read(folder.join("server.key")).unwrap();
    // A certificate with the key of another one: the hub keeps the previous one.
    let new = TestCa::with_server_certificate(&folder, &["127.0.0.1"]);
    let new_key = std::fs::read(new.server_key_path()).unwrap();
    std::fs::write(new.server_key_path(), old_key).unwrap();
    hub.hang_up();
    hub.wait_for_stderr("the previous one stays in use");
    fleet.run(&["list"]).assert_code(9);
    std::fs::write(new.server_key_path(), new_key).unwrap();
    hub.hang_up();
    hub.wait_for_stderr("the certificate was read again");
    // The clients trust the new authority only.
    fleet.run(&["list"]).assert_code(0);
}

#[test]
fn tls_certificate_that_clients_reject_is_explained() {
    let env = crate::fixtures::env_with_repo();
    let made = TestCa::with_self_signed_certificate(&env.root().join("tls"), &["127.0.0.1"]);
    let token = env.root().join("admin.token");
    let hub = env
        .selvedge(["hub", "--listen", "127.0.0.1:0", "--tls-cert"])
        .arg(made.server_certificate_path())
        .arg("--tls-key")
        .arg(made.server_key_path())
        .arg("--admin-token-file")
        .arg(&token)
        .spawn();
    hub.wait_for_stderr("basicConstraints=critical,CA:FALSE");
    hub.wait_for_stdout("listening on https");
    hub.wait_for_stdout("\n");
    let stdout = hub.stdout();
    let url = stdout.split_whitespace().last().unwrap();
    let out = env
        .selvedge(["list", "--hub", url, "--token-file"])
        .arg(&token)
        .env("SSL_CERT_FILE", made.server_certificate_path())
        .run();
    out.assert_code(9);
    assert!(
        out.stderr.contains("marked as a certificate authority"),
        "{}",
        out.stderr
    );

    let encrypted = env.root().join("encrypted.key");
    std::fs::write(
        &encrypted,
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
    )
    .unwrap();
    let out = env
        .selvedge(["hub", "--listen", "127.0.0.1:0", "--tls-cert"])
        .arg(made.server_certificate_path())
        .arg("--tls-key")
        .arg(&encrypted)
        .run();
    out.assert_code(2);
    assert!(out.stderr.contains("openssl pkey"), "{}", out.stderr);
}

#[test]
fn tls_hub_speaks_http2_with_clients_that_offer_it() {
    let fleet = HubFixture::with_tls("echo good > out");
    let ca = fleet.tls.as_ref().unwrap().ca_certificate_path();
    let ca = Certificate::from_pem(&std::fs::read(ca).unwrap()).unwrap();
    // Another test may have installed it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = || {
        let builder = Client::builder().tls_certs_only([ca.clone()]).no_proxy();
        builder.http2_adaptive_window(true)
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let http2 = client().build().unwrap();
        let tasks = format!("{}/api/v1/tasks", fleet.url);
        let submit = http2.post(&tasks).bearer_auth(fleet.read_token());
        let task = json!({"description": "x", "labels": ["nowhere"], "skip_verification": true});
        let answer = submit.json(&task).send().await.unwrap();
        assert_eq!(answer.version(), Version::HTTP_2);
        assert_eq!(answer.status(), StatusCode::CREATED);
        let id = answer.json::<Value>().await.unwrap()["task_id"].clone();
        // Several streams and requests share the connection.
        let events = format!("{tasks}/{}/events", id.as_str().unwrap());
        let mut streams = Vec::new();
        for _ in 0..10 {
            let request = http2.get(&events).bearer_auth(fleet.read_token());
            let mut stream = request.send().await.unwrap();
            let first = stream.chunk().await.unwrap().unwrap();
            assert!(String::from_utf8_lossy(&first).contains("event: state"));
            streams.push(stream);
        }
        let row = http2
            .get(format!("{tasks}/{}", id.as_str().unwrap()))
            .bearer_auth(fleet.read_token());
        assert_eq!(row.send().await.unwrap().status(), StatusCode::OK);
        let unknown_host = fleet.url.replace("127.0.0.1", "localhost");
        let refused = http2.get(unknown_host).send().await;
        assert!(refused.is_err(), "the certificate names another host");

        let http1 = client().http1_only().build().unwrap();
        let answer = http1.get(format!("{}/healthz", fleet.url)).send().await;
        assert_eq!(answer.unwrap().version(), Version::HTTP_11);
    });
}

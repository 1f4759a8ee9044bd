//! A hub with a certificate: all commands and workers use TLS and trust only that certificate.

use selvedge_testkit::TestCa;

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

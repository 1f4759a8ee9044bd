//! The encrypted connection to a database server: verifies the certificate, its host name and its root.

use selvedge_store::hub::{HubStoreError, PostgresHub, Queue, StoreSettings};
use selvedge_testkit::{Postgres, TestCa};

async fn open(url: &str) -> Result<PostgresHub, HubStoreError> {
    PostgresHub::open(url, None, StoreSettings::default()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_tls_verifies_the_certificate() {
    if !Postgres::is_available() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let authority =
        TestCa::with_server_certificate(&directory.path().join("known"), &["localhost"]);
    let stranger =
        TestCa::with_server_certificate(&directory.path().join("stranger"), &["localhost"]);
    let server = Postgres::with_tls(&authority);
    let at = |host: &str, mode: &str, of: &TestCa| {
        let roots = of
            .ca_certificate_path()
            .display()
            .to_string()
            .replace('/', "%2F");
        format!(
            "{}?sslmode={mode}&sslrootcert={roots}",
            server.network_url(host)
        )
    };
    for mode in ["require", "verify-full"] {
        let hub = open(&at("localhost", mode, &authority)).await.unwrap();
        hub.now().await.unwrap();
        let ours = "SELECT count(*) FILTER (WHERE s.ssl), count(*) FROM pg_stat_ssl s JOIN pg_stat_activity a
                    USING (pid) WHERE a.application_name = 'selvedge hub'";
        let counted = server.run_sql(&server.url("selvedge", "postgres"), ours);
        let (encrypted, all) = counted.trim().split_once('|').unwrap();
        assert_eq!(encrypted, all, "{mode}");
        assert_ne!(all, "0");
        drop(hub);
    }
    for (url, message) in [
        (
            at("localhost", "require", &stranger),
            "invalid peer certificate",
        ),
        (
            at("127.0.0.1", "verify-full", &authority),
            "not valid for name",
        ),
    ] {
        let refused = open(&url).await.unwrap_err().to_string();
        assert!(refused.contains(message), "{refused}");
    }
}

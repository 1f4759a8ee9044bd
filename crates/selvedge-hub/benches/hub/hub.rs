//! A hub in its own process, with its own database.

use std::path::Path;
use std::process::Stdio;

use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::http::HttpClient;

pub(crate) struct HubProcess {
    pub(crate) host: String,
    admin: String,
    child: Child,
    _directory: TempDir,
}

impl HubProcess {
    pub(crate) async fn start(program: &str, database: Option<&str>) -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let token = directory.path().join("admin");
        let file = directory.path().join("hub.db");
        let mut hub = Command::new(program);
        hub.args(["hub", "--listen", "127.0.0.1:0", "--database"]);
        hub.arg(database.map_or(file.as_path(), Path::new));
        hub.arg("--admin-token-file").arg(&token);
        hub.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = hub.kill_on_drop(true).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let host = loop {
            let line = lines
                .next_line()
                .await
                .unwrap()
                .expect("a hub that listens");
            if let Some(host) = line.strip_prefix("listening on http://") {
                break host.to_owned();
            }
        };
        let admin = std::fs::read_to_string(token).expect("a database that is new");
        Self {
            host,
            admin: admin.trim().to_owned(),
            child,
            _directory: directory,
        }
    }

    /// New tokens: each client needs its own, because requests are counted by token.
    pub(crate) async fn tokens(&self, scope: &str, count: usize) -> Vec<String> {
        let mut client = HttpClient::connect(&self.host, &self.admin).await;
        let mut tokens = Vec::new();
        for number in 0..count {
            let request = json!({"name": format!("{scope} {number}"), "scopes": [scope]});
            let made = client.post("/api/v1/tokens", &request).await;
            tokens.push(made["token"].as_str().unwrap().to_owned());
        }
        tokens
    }

    /// The hub's resident memory in MiB.
    pub(crate) fn resident_mib(&self) -> f64 {
        let kib = u32::try_from(self.resident() >> 10).unwrap();
        f64::from(kib) / 1_024.0
    }

    /// The hub's resident memory in bytes.
    pub(crate) fn resident(&self) -> u64 {
        let id = self.child.id().unwrap();
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.unwrap().trim().trim_end_matches(" kB");
        kib.parse::<u64>().unwrap() << 10
    }
}

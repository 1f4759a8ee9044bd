//! A hub with files in an S3-compatible store that is a program of its own.

use std::path::{Path, PathBuf};

use selvedge_testkit::{Invocation, SpawnedProgram, TestEnv};

use crate::fixtures::{env_with_repo, program};

const BUCKET: &str = "files";
/// The only key that the store accepts.
const KEY: &str = "S3RVER";

/// The store, which keeps its objects below a folder.
struct ObjectStoreServer {
    url: String,
    folder: PathBuf,
    _program: SpawnedProgram,
}

impl ObjectStoreServer {
    fn start(env: &TestEnv) -> Self {
        let folder = env.root().join("store");
        let server = env.command(program("s3rver")).arg("--directory");
        let server = server
            .arg(&folder)
            .args(["--port", "0", "--address", "127.0.0.1"]);
        let server = server
            .args(["--no-vhost-buckets", "--configure-bucket", BUCKET])
            .env("PATH", std::env::var_os("PATH").unwrap())
            .spawn();
        server.wait_for_stdout("listening on");
        server.wait_for_stdout("\n");
        let stdout = server.stdout();
        let line = stdout.lines().find(|line| line.contains("listening on"));
        let address = line.unwrap().split_whitespace().last().unwrap();
        Self {
            url: format!("http://{address}"),
            folder,
            _program: server,
        }
    }

    /// The files of the objects below a prefix.
    fn objects(&self, prefix: &str) -> Vec<PathBuf> {
        files_below(&self.folder.join(BUCKET).join(prefix))
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| {
            if path.is_dir() {
                files_below(&path)
            } else {
                vec![path]
            }
        })
        .filter(|path| path.to_string_lossy().ends_with("_object"))
        .collect()
}

fn hub(env: &TestEnv, store: &ObjectStoreServer, bucket: &str, key: &str) -> Invocation {
    let keys = format!("[default]\naws_access_key_id = {key}\naws_secret_access_key = {KEY}\n");
    let keys_file = env.root().join("s3.credentials");
    std::fs::write(&keys_file, keys).unwrap();
    env.selvedge(["hub", "--listen", "127.0.0.1:0", "--admin-token-file"])
        .arg(env.root().join("admin.token"))
        .args(["--s3-bucket", bucket, "--s3-endpoint", &store.url])
        .args(["--s3-prefix", "hub", "--s3-credentials-file"])
        .arg(keys_file)
}

#[test]
fn files_of_tasks_are_in_the_object_store() {
    let env = env_with_repo();
    let store = ObjectStoreServer::start(&env);
    let refused = hub(&env, &store, BUCKET, "unknown").run();
    refused.assert_code(9);
    let message = &refused.stderr;
    assert!(message.contains("InvalidAccessKeyId"), "{message}");
    assert!(message.contains("hint: "), "{message}");
    let missing = hub(&env, &store, "absent", KEY).run();
    missing.assert_code(9);
    assert!(
        missing.stderr.contains("the bucket does not exist"),
        "{}",
        missing.stderr
    );

    let running = hub(&env, &store, BUCKET, KEY).spawn();
    running.wait_for_stdout("listening on http");
    running.wait_for_stdout("\n");
    let stdout = running.stdout();
    let url = stdout.split_whitespace().last().unwrap().to_owned();
    let client = |args: &[&str], token: &str| {
        let command = env.selvedge(args).env("SELVEDGE_HUB", &url);
        command.arg("--token-file").arg(env.root().join(token))
    };
    let token = env.root().join("worker.token");
    let added = [
        "tokens",
        "add",
        "w",
        "--scope",
        "worker",
        "--out",
        token.to_str().unwrap(),
    ];
    client(&added, "admin.token").run().assert_code(0);
    let repo = env.work_dir().to_str().unwrap().to_owned();
    let task = env.root().join("task.json");
    let body = serde_json::json!({
        "description": "run it", "agent": "shell", "command": "echo good > out", "repository": repo,
        "verification_steps": [{"type": "command", "target": "grep -q good out"}],
    });
    std::fs::write(&task, body.to_string()).unwrap();
    let submit = [
        "submit",
        "--format",
        "json",
        "--file",
        task.to_str().unwrap(),
    ];
    let submitted = client(&submit, "admin.token").run();
    submitted.assert_code(0);
    let worker = ["worker", "--once", "--allow-path", &repo];
    client(&worker, "worker.token").run().assert_code(0);
    let objects = store.objects("hub");
    // The object of the check at the start is one of them.
    assert!(objects.len() > 1, "{objects:?}");
    let contents: Vec<Vec<u8>> = objects
        .iter()
        .map(|it| std::fs::read(it).unwrap())
        .collect();
    let has_patch = contents
        .iter()
        .any(|bytes| String::from_utf8_lossy(bytes).contains("+good"));
    assert!(has_patch, "{objects:?}");
}

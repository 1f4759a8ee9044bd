//! A PostgreSQL server for tests: created in a scratch folder and reached through a socket in that
//! folder, so that servers do not conflict. Under root it runs as another user, because PostgreSQL
//! refuses to run as root.
//!
//! Its programs come from Debian's package (`postgresql`) or from the path. A small shell process, the
//! watchdog, stops the server and removes the folder when this process ends, in whatever way: its
//! standard input is a pipe from this process.

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::certificates::TestCa;

/// The user that the server runs as if the tests run as root.
const SERVER_USER: &str = "nobody";
/// Options that skip syncs to disk: tests stop only the server, never the machine.
const NO_FSYNC_OPTIONS: [&str; 2] = ["-c", "fsync=off"];

static SHARED: OnceLock<Postgres> = OnceLock::new();

/// A server, its folder, and the watchdog that stops the server and removes the folder.
#[derive(Debug)]
pub struct Postgres {
    directory: PathBuf,
    programs: PathBuf,
    durable: bool,
    /// The TCP port for encrypted connections, if the server accepts them.
    port: Option<u16>,
    databases: AtomicU64,
    command_count: AtomicU64,
    // Stops the server when its standard input closes.
    watchdog: Child,
}

impl Postgres {
    /// Whether PostgreSQL's programs are installed; a test that needs a server calls this first and
    /// returns if they are missing. Fails the test in CI instead.
    #[must_use]
    #[track_caller]
    pub fn is_available() -> bool {
        crate::is_available("PostgreSQL", &find_programs())
    }

    /// The server that all tests of this process share.
    pub fn shared() -> &'static Self {
        SHARED.get_or_init(Self::start)
    }

    /// Starts a server for one test, which may stop and restart it.
    pub fn start() -> Self {
        Self::create(std::env::temp_dir().as_path(), false, None)
    }

    /// Starts a server that also accepts encrypted connections on loopback, with the server certificate
    /// of `authority`.
    pub fn with_tls(authority: &TestCa) -> Self {
        Self::create(std::env::temp_dir().as_path(), false, Some(authority))
    }

    /// Starts a server below `parent` that syncs to disk, as servers in production do.
    pub fn durable_in(parent: &Path) -> Self {
        Self::create(parent, true, None)
    }

    fn create(parent: &Path, durable: bool, authority: Option<&TestCa>) -> Self {
        let programs = find_programs().unwrap_or_else(|why| panic!("{why}"));
        let directory = tempfile::Builder::new()
            .prefix("selvedge-pg-")
            .tempdir_in(parent)
            .expect("a scratch folder for PostgreSQL");
        // The watchdog removes the folder; it outlives this process.
        let directory = directory.keep();
        fs::set_permissions(&directory, Permissions::from_mode(0o700)).expect("permissions");
        if rustix::process::geteuid().is_root() {
            let (user, group) = server_user_ids();
            chown(&directory, Some(user), Some(group)).expect("the folder given to `nobody`");
        }
        let server = Self {
            watchdog: spawn_watchdog(&directory, &programs),
            directory,
            programs,
            durable,
            port: authority.map(|_| free_port()),
            databases: AtomicU64::new(0),
            command_count: AtomicU64::new(0),
        };
        let data = server.data_dir();
        server.run("initdb", |command| {
            command
                .args(["--username=selvedge", "--auth=trust", "--encoding=UTF8"])
                .args(["--locale=C", "--no-sync", "--no-instructions", "--pgdata"])
                .arg(&data);
        });
        if let Some(authority) = authority {
            server.copy_private_file("server.pem", &authority.server_certificate_path());
            server.copy_private_file("server.key", &authority.server_key_path());
        }
        server.restart();
        server
    }

    /// Copies a file so that only the server can read it.
    fn copy_private_file(&self, name: &str, from: &Path) {
        let path = self.directory.join(name);
        fs::copy(from, &path).expect("a copy for the server");
        fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("permissions");
        if rustix::process::geteuid().is_root() {
            let (user, group) = server_user_ids();
            chown(&path, Some(user), Some(group)).expect("the file given to `nobody`");
        }
    }

    fn data_dir(&self) -> PathBuf {
        self.directory.join("data")
    }

    /// Stops the server abruptly, as in a crash: it writes nothing more and does not close its
    /// connections properly.
    pub fn stop_immediately(&self) {
        self.run("pg_ctl", |command| {
            let data = self.data_dir();
            command.args(["stop", "-m", "immediate", "-D"]).arg(data);
        });
    }

    /// Starts the server and waits until it accepts connections.
    pub fn restart(&self) {
        let (data, log) = (self.data_dir(), self.directory.join("log"));
        let mut options = vec![
            "-c".to_owned(),
            format!(
                "listen_addresses={}",
                if self.port.is_some() { "127.0.0.1" } else { "" }
            ),
            "-c".to_owned(),
            format!("unix_socket_directories={}", self.directory.display()),
            "-c".to_owned(),
            "max_connections=300".to_owned(),
        ];
        if let Some(port) = self.port {
            let file = |name: &str| self.directory.join(name).display().to_string();
            for option in [
                format!("port={port}"),
                "ssl=on".to_owned(),
                format!("ssl_cert_file={}", file("server.pem")),
                format!("ssl_key_file={}", file("server.key")),
            ] {
                options.extend(["-c".to_owned(), option]);
            }
        }
        if !self.durable {
            options.extend(NO_FSYNC_OPTIONS.map(str::to_owned));
        }
        self.run("pg_ctl", |command| {
            command
                .args(["start", "-w", "-t", "120", "-D"])
                .arg(data)
                .arg("-l")
                .arg(log)
                .arg("-o")
                .arg(options.join(" "));
        });
    }

    /// Creates an empty database; returns its `postgres://…` URL.
    pub fn create_database(&self) -> String {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.run("createdb", |command| {
            if let Some(port) = self.port {
                command.arg(format!("--port={port}"));
            }
            command.arg("--host").arg(&self.directory).args([
                "--username=selvedge",
                "--template=template0",
                &name,
            ]);
        });
        self.url("selvedge", &name)
    }

    /// The URL of a database on this server for a user.
    pub fn url(&self, user: &str, database: &str) -> String {
        let host = self.directory.display().to_string().replace('/', "%2F");
        let port = self.port.map(|port| format!(":{port}"));
        format!(
            "postgres://{user}@{host}{}/{database}",
            port.unwrap_or_default()
        )
    }

    /// The URL of the server's own database over TCP, for a host name of this machine. Panics for a
    /// server without encrypted connections.
    pub fn network_url(&self, host: &str) -> String {
        let port = self.port.expect("a server that listens");
        format!("postgres://selvedge@{host}:{port}/postgres")
    }

    /// Runs a statement with `psql`; returns its output, one line per row.
    pub fn run_sql(&self, url: &str, statement: &str) -> String {
        self.run("psql", |command| {
            command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", url]);
            command.args(["-c", statement]);
        })
    }

    fn run(&self, program: &str, arguments: impl FnOnce(&mut Command)) -> String {
        let mut command = command_as_server_user(&self.programs.join(program));
        command.current_dir(&self.directory);
        // The server inherits pg_ctl's output; a pipe would stay open while the server runs.
        let number = self.command_count.fetch_add(1, Ordering::Relaxed);
        let output_path = self.directory.join(format!("told-{number}"));
        let output = fs::File::create(&output_path).expect("a file for what a program says");
        command.stdin(Stdio::null());
        command.stderr(output.try_clone().expect("one more handle"));
        command.stdout(output);
        arguments(&mut command);
        let status = command.status().expect("a program of PostgreSQL runs");
        let text = fs::read_to_string(&output_path).unwrap_or_default();
        // An error does not matter: the file is removed with the folder.
        let _ = fs::remove_file(&output_path);
        assert!(status.success(), "{program} failed ({status}):\n{text}");
        text
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // The end of its input makes the watchdog stop the server.
        drop(self.watchdog.stdin.take());
        let _ = self.watchdog.wait();
    }
}

/// Starts a shell that waits for the end of its input, then stops the server and removes the folder.
fn spawn_watchdog(directory: &Path, programs: &Path) -> Child {
    let script = r#"
        trap '' INT TERM HUP
        read -r _
        "$1/pg_ctl" stop -m immediate -D "$0/data" >/dev/null 2>&1
        rm -rf "$0"
    "#;
    let mut command = command_as_server_user(Path::new("sh"));
    command
        .arg("-c")
        .arg(script)
        .arg(directory)
        .arg(programs)
        .current_dir("/")
        // A signal to the tests' process group must not end the watchdog.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().expect("`setpriv` or `sh` runs")
}

/// Returns a port that was free a moment ago; another process could take it before the server does.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

/// A command that runs as the user that the server runs as.
fn command_as_server_user(program: &Path) -> Command {
    let mut command = if rustix::process::geteuid().is_root() {
        let mut command = Command::new("setpriv");
        let (user, group) = server_user_ids();
        command
            .arg(format!("--reuid={user}"))
            .arg(format!("--regid={group}"))
            .arg("--clear-groups")
            .arg("--")
            .arg(program);
        command
    } else {
        Command::new(program)
    };
    // The user's own PostgreSQL settings must not apply.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PG") {
            command.env_remove(name);
        }
    }
    command.env("LC_ALL", "C");
    command
}

fn server_user_ids() -> (u32, u32) {
    let users = fs::read_to_string("/etc/passwd").expect("/etc/passwd");
    let entry = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let user = fields.nth(1)?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        (name == SERVER_USER).then_some((user, group))
    });
    entry.expect("a user `nobody`, for the server does not run as root")
}

/// Finds the folder with the server's programs: on the path, or of Debian's newest version.
fn find_programs() -> Result<PathBuf, &'static str> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut versions: Vec<PathBuf> = debian.flatten().map(|entry| entry.path()).collect();
    versions.sort();
    places.extend(versions.into_iter().rev().map(|path| path.join("bin")));
    let complete = |place: &&PathBuf| {
        ["initdb", "pg_ctl", "postgres", "createdb", "psql"]
            .iter()
            .all(|program| place.join(program).is_file())
    };
    let found = places.iter().find(complete).cloned();
    found.ok_or(
        "its programs (initdb, pg_ctl, postgres, createdb, psql) are neither on the path nor in \
         /usr/lib/postgresql/*/bin: install Debian's `postgresql`",
    )
}

//! Tests that apply to containers only, with an image that uses this machine's tools. Podman's storage is below
//! the build folder. Docker is tested only if `DOCKER_HOST` names a service, which then stores the image; no
//! other service is used without permission.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::OnceLock;

use super::fixture::SandboxFixture;
use selvedge_testkit::wait_until;

use crate::fixtures::{make_executable, wait_for};

const IMAGE: &str = "localhost/selvedge-test";

/// Mounts this machine's programs, so that tests find their tools, and sets limits that are allowed if the
/// tests themselves are limited.
const CONTAINER: &[&str] = &[
    "--volume=/usr:/usr:ro",
    "--ulimit=nofile=1024:1024",
    "--ulimit=nproc=1024:1024",
];

/// A container engine.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Engine {
    Podman,
    Docker,
}

impl Engine {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Podman => "podman",
            Self::Docker => "docker",
        }
    }

    /// Returns settings with the image, which is built once; an error says why the engine cannot be used.
    pub(crate) fn settings(self) -> Result<String, String> {
        static MADE: [OnceLock<Result<String, String>>; 2] = [OnceLock::new(), OnceLock::new()];
        let [podman, docker] = &MADE;
        let cell = match self {
            Self::Podman => podman,
            Self::Docker => docker,
        };
        cell.get_or_init(|| self.make()).clone()
    }

    /// Returns the engine's global arguments.
    fn args(self) -> Vec<String> {
        if let Self::Docker = self {
            let host = std::env::var("DOCKER_HOST").ok();
            return host
                .map(|host| format!("--host={host}"))
                .into_iter()
                .collect();
        }
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("podman");
        let mut args = vec![
            format!("--root={}", folder.join("storage").display()),
            format!("--runroot={}", folder.join("run").display()),
        ];
        let fixed = [
            "--storage-driver=vfs",
            "--cgroup-manager=cgroupfs",
            "--events-backend=none",
        ];
        args.extend(fixed.map(ToOwned::to_owned));
        if Path::new("/usr/sbin/runc").exists() {
            args.push("--runtime=runc".to_owned());
        }
        args
    }

    fn run(self, args: &[&str]) -> Result<Output, String> {
        let name = self.name();
        let output = Command::new(name).args(self.args()).args(args).output();
        let output = output.map_err(|error| format!("{name}: {error}"))?;
        if output.status.success() {
            return Ok(output);
        }
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }

    fn make(self) -> Result<String, String> {
        if matches!(self, Self::Docker) && std::env::var_os("DOCKER_HOST").is_none() {
            return Err("`DOCKER_HOST` names no service".to_owned());
        }
        if self.run(&["image", "inspect", IMAGE]).is_err() {
            let root = tempfile::tempdir().map_err(|error| error.to_string())?;
            create_root(root.path()).map_err(|error| error.to_string())?;
            let archive = root.path().join("image.tar");
            let packed = Command::new("tar")
                .arg("-C")
                .arg(root.path().join("root"))
                .arg("-cf")
                .arg(&archive)
                .arg(".")
                .status();
            packed.map_err(|error| error.to_string())?;
            self.run(&["import", &archive.to_string_lossy(), IMAGE])?;
        }
        let mut trial = vec!["run", "--rm", "--network=none"];
        trial.extend(CONTAINER);
        trial.extend([IMAGE, "true"]);
        self.run(&trial)?;
        Ok(format!(
            "[sandbox]\nimage = {IMAGE:?}\nengine_args = {:?}\ncontainer_args = {CONTAINER:?}\n",
            self.args()
        ))
    }

    /// Returns whether the container of this record exists.
    fn has(self, record: &str) -> bool {
        let name = record.trim_end_matches(".json");
        self.run(&["container", "inspect", name]).is_ok()
    }
}

/// Creates a root file system that consists of mount points and links.
fn create_root(root: &Path) -> std::io::Result<()> {
    let root = root.join("root");
    for name in [
        "usr", "tmp", "proc", "sys", "dev", "etc", "run", "var/tmp", "root",
    ] {
        fs::create_dir_all(root.join(name))?;
    }
    for name in ["bin", "sbin", "lib", "lib64"] {
        symlink(format!("usr/{name}"), root.join(name))?;
    }
    fs::write(root.join("etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n")
}

/// Returns the records of this fixture's containers.
fn container_records(fixture: &SandboxFixture) -> Vec<String> {
    let folder = fixture.env.state().join("selvedge/containers");
    let listed = fs::read_dir(folder).into_iter().flatten();
    listed
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect()
}

/// Defines a test for each function and engine: `sandbox::containers::podman::name`.
macro_rules! on_engines {
    ($($name:ident),+ $(,)?) => {
        crate::sandbox::in_containers!(podman, Podman, $($name),+);
        crate::sandbox::in_containers!(docker, Docker, $($name),+);
    };
}
on_engines!(
    container_is_removed_with_its_session,
    container_of_killed_supervisor_is_removed_at_next_start,
    container_needs_an_image,
    container_reports_program_missing_in_the_image,
    container_files_of_hub_and_worker_build,
);

/// A session's container is removed when the session ends, also when it is killed.
fn container_is_removed_with_its_session(fixture: &SandboxFixture) {
    let record = "test -e /.selvedge/control && echo in a container; true";
    let output = fixture.check_output(record);
    assert!(output.contains("in a container"), "{output}");
    assert_eq!(container_records(fixture), [] as [String; 0]);

    let begun = fixture.env.work_dir().join("begun");
    fixture.env.write("attempt.sh", "touch begun; sleep 600");
    let child = fixture.env.spawn(["verify", "--check", "sh attempt.sh"]);
    wait_for(&begun);
    let records = container_records(fixture);
    assert_eq!(records.len(), 1, "{records:?}");
    assert!(fixture.engine().has(&records[0]));
    child.kill();
    wait_until("the container's end", || {
        container_records(fixture).is_empty()
    });
    assert!(!fixture.engine().has(&records[0]));
}

/// The next start removes containers that no supervisor could remove.
fn container_of_killed_supervisor_is_removed_at_next_start(fixture: &SandboxFixture) {
    let begun = fixture.env.work_dir().join("begun");
    fixture.env.write("attempt.sh", "touch begun; sleep 600");
    let child = fixture.env.spawn(["verify", "--check", "sh attempt.sh"]);
    wait_for(&begun);
    let records = container_records(fixture);
    let temporary = Path::new("/tmp").join(records[0].trim_end_matches(".json"));
    // Once its supervisor is gone, any other test may remove it.
    assert!(temporary.exists(), "{records:?}");
    fixture.kill_selvedge_processes();
    drop(child);
    assert!(fixture.engine().has(&records[0]), "{records:?}");
    fixture.check_output("true");
    assert!(!fixture.engine().has(&records[0]));
    assert_eq!(container_records(fixture), [] as [String; 0]);
    assert!(!temporary.exists());
}

fn container_needs_an_image(fixture: &SandboxFixture) {
    let path = fixture.env.config().join("selvedge/config.toml");
    let settings = fs::read_to_string(&path).unwrap();
    let image = format!("image = {IMAGE:?}\n");
    fs::write(&path, settings.replace(&image, "")).unwrap();
    for (image, says) in [
        ("", "no container image is configured"),
        ("localhost/selvedge-no-such", "selvedge-no-such"),
    ] {
        let run = fixture.env.selvedge(["verify", "--check", "touch ran"]);
        let run = run.env("SELVEDGE_SANDBOX_IMAGE", image).run();
        let run = run.assert_code(9);
        assert!(run.stderr.contains(says), "{}", run.stderr);
        assert!(!fixture.env.work_dir().join("ran").exists());
    }
}

fn container_reports_program_missing_in_the_image(fixture: &SandboxFixture) {
    let run = [
        "verify",
        "--check",
        "selvedge-no-such-program",
        "--format",
        "json",
    ];
    let report = fixture.env.selvedge(run).run().json();
    let reason = report["checks"][0]["reason"].as_str().unwrap();
    assert!(
        reason.contains("in the image localhost/selvedge-test"),
        "{reason}"
    );
}

/// The images of `packaging/` start their command as an ordinary user. Debian's packages are this machine's.
fn container_files_of_hub_and_worker_build(fixture: &SandboxFixture) {
    let engine = fixture.engine();
    if let Engine::Docker = engine {
        // It cannot mount folders while it builds.
        return;
    }
    let packaging = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging");
    let context = fixture.env.root().join("context");
    // A small file in place of the tested program, which is mounted.
    let program = "#!/bin/sh\nexec /program/selvedge \"$@\"\n";
    make_executable(&fixture.env.write("../context/selvedge", program));
    let base = format!("--build-arg=BASE={IMAGE}");
    // The image has a file in /usr/local.
    let mut run = vec![
        "run".to_owned(),
        "--rm".to_owned(),
        "--network=none".to_owned(),
    ];
    for folder in ["bin", "lib", "lib64", "sbin"] {
        run.push(format!("--volume=/usr/{folder}:/usr/{folder}:ro"));
    }
    let programs = Path::new(env!("CARGO_BIN_EXE_selvedge")).parent().unwrap();
    run.push(format!("--volume={}:/program:ro", programs.display()));
    run.extend(CONTAINER[1..].iter().map(|&limit| limit.to_owned()));
    let start = |more: &[&str]| {
        let args: Vec<&str> = run
            .iter()
            .map(String::as_str)
            .chain(more.iter().copied())
            .collect();
        String::from_utf8(engine.run(&args).unwrap().stdout).unwrap()
    };
    for role in ["hub", "worker"] {
        let file = packaging.join(format!("Containerfile.{role}"));
        let tag = format!("localhost/selvedge-test-{role}");
        let mut build = vec![
            "build",
            "--network=none",
            &base,
            "--build-arg=PACKAGES=",
            "--tag",
            &tag,
        ];
        build.extend(CONTAINER);
        let (file, context) = (file.to_string_lossy(), context.to_string_lossy());
        build.extend(["--file", &*file, &*context]);
        engine.run(&build).unwrap();
        let usage = format!("Usage: selvedge {role}");
        let help = start(&[&tag, "--help"]);
        assert!(help.contains(&usage), "{help}");
        let user = start(&["--entrypoint=/usr/bin/id", &tag, "--user", "--name"]);
        assert_eq!(user.trim(), "selvedge");
    }
}

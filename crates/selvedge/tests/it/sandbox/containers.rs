//! Containers: an image of this machine's own tools, made from a folder, and what is true of containers
//! alone. Podman keeps what it keeps below the build's folder. Docker is tried where `DOCKER_HOST` names a
//! service, which keeps the image: nobody's own is used unasked.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::OnceLock;

use super::fixture::SandboxFixture;
use crate::fixtures::{wait_for, wait_until};

const IMAGE: &str = "localhost/selvedge-test";

/// This machine's programs are shown to it, so that every attempt finds its tools; and limits that may
/// be set where the tests themselves are limited.
const CONTAINER: &[&str] = &[
    "--volume=/usr:/usr:ro",
    "--ulimit=nofile=1024:1024",
    "--ulimit=nproc=1024:1024",
];

/// Who runs containers.
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

    /// Settings that name the image, which is made once; or why there is none.
    pub(crate) fn settings(self) -> Result<String, String> {
        static MADE: [OnceLock<Result<String, String>>; 2] = [OnceLock::new(), OnceLock::new()];
        let [podman, docker] = &MADE;
        let made = match self {
            Self::Podman => podman,
            Self::Docker => docker,
        };
        made.get_or_init(|| self.make()).clone()
    }

    /// What comes before its own command.
    fn args(self) -> Vec<String> {
        if let Self::Docker = self {
            let host = std::env::var("DOCKER_HOST").ok();
            return host
                .map(|host| format!("--host={host}"))
                .into_iter()
                .collect();
        }
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("podman");
        let mut words = vec![
            format!("--root={}", folder.join("storage").display()),
            format!("--runroot={}", folder.join("run").display()),
        ];
        let fixed = [
            "--storage-driver=vfs",
            "--cgroup-manager=cgroupfs",
            "--events-backend=none",
        ];
        words.extend(fixed.map(ToOwned::to_owned));
        if Path::new("/usr/sbin/runc").exists() {
            words.push("--runtime=runc".to_owned());
        }
        words
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
            lay(root.path()).map_err(|error| error.to_string())?;
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

    /// Whether it has the container of this record.
    fn has(self, record: &str) -> bool {
        let name = record.trim_end_matches(".json");
        self.run(&["container", "inspect", name]).is_ok()
    }
}

/// A root with nothing in it but where things are to be.
fn lay(root: &Path) -> std::io::Result<()> {
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

/// The containers that the engine keeps anything of, whose session is one of this scene's.
fn kept(scene: &SandboxFixture) -> Vec<String> {
    let folder = scene.env.state().join("selvedge/containers");
    let listed = fs::read_dir(folder).into_iter().flatten();
    listed
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect()
}

/// One test for each function and engine: `sandbox::containers::podman::name`.
macro_rules! on_engines {
    ($($name:ident),+ $(,)?) => {
        crate::sandbox::in_containers!(podman, Podman, $($name),+);
        crate::sandbox::in_containers!(docker, Docker, $($name),+);
    };
}
on_engines!(
    a_container_goes_with_its_session,
    a_container_whose_supervisor_was_killed_goes_at_the_next_start,
    without_an_image_nothing_runs,
    what_the_image_lacks_is_told_of_the_image,
);

/// One for the session and one for every check, each gone with it, also when it is killed.
fn a_container_goes_with_its_session(scene: &SandboxFixture) {
    let record = "test -e /.selvedge/control && echo in a container; true";
    let said = scene.check_output(record);
    assert!(said.contains("in a container"), "{said}");
    assert_eq!(kept(scene), [] as [String; 0]);

    let begun = scene.env.work_dir().join("begun");
    scene.env.write("attempt.sh", "touch begun; sleep 600");
    let child = scene.env.spawn(["verify", "--check", "sh attempt.sh"]);
    wait_for(&begun);
    let there = kept(scene);
    assert_eq!(there.len(), 1, "{there:?}");
    assert!(scene.engine().has(&there[0]));
    child.kill();
    wait_until("the container's end", || kept(scene).is_empty());
    assert!(!scene.engine().has(&there[0]));
}

/// The next start clears away what nobody was left to clear away.
fn a_container_whose_supervisor_was_killed_goes_at_the_next_start(scene: &SandboxFixture) {
    let begun = scene.env.work_dir().join("begun");
    scene.env.write("attempt.sh", "touch begun; sleep 600");
    let child = scene.env.spawn(["verify", "--check", "sh attempt.sh"]);
    wait_for(&begun);
    let there = kept(scene);
    scene.kill_selvedge_processes();
    drop(child);
    let temporary = Path::new("/tmp").join(there[0].trim_end_matches(".json"));
    assert!(
        temporary.exists() && scene.engine().has(&there[0]),
        "{there:?}"
    );
    scene.check_output("true");
    assert!(!scene.engine().has(&there[0]));
    assert_eq!(kept(scene), [] as [String; 0]);
    assert!(!temporary.exists());
}

fn without_an_image_nothing_runs(scene: &SandboxFixture) {
    let path = scene.env.config().join("selvedge/config.toml");
    let settings = fs::read_to_string(&path).unwrap();
    let image = format!("image = {IMAGE:?}\n");
    fs::write(&path, settings.replace(&image, "")).unwrap();
    for (image, says) in [
        ("", "no image is named"),
        ("localhost/selvedge-no-such", "selvedge-no-such"),
    ] {
        let run = scene.env.selvedge(["verify", "--check", "touch ran"]);
        let run = run.env("SELVEDGE_SANDBOX_IMAGE", image).run();
        let run = run.assert_code(9);
        assert!(run.stderr.contains(says), "{}", run.stderr);
        assert!(!scene.env.work_dir().join("ran").exists());
    }
}

fn what_the_image_lacks_is_told_of_the_image(scene: &SandboxFixture) {
    let run = [
        "verify",
        "--check",
        "selvedge-no-such-program",
        "--format",
        "json",
    ];
    let report = scene.env.selvedge(run).run().json();
    let reason = report["checks"][0]["reason"].as_str().unwrap();
    assert!(
        reason.contains("in the image localhost/selvedge-test"),
        "{reason}"
    );
}

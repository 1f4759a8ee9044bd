//! Containers: an image of this machine's own tools, made from a folder, and what is true of containers
//! alone. The engine keeps what it keeps below the build's folder.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use super::scene::Scene;
use crate::stage::{wait_for, wait_until};

const IMAGE: &str = "localhost/selvedge-test";

/// This machine's programs are shown to it, so that every attempt finds its tools; and limits that may
/// be set where the tests themselves are limited.
const CONTAINER: &[&str] = &[
    "--volume=/usr:/usr:ro",
    "--ulimit=nofile=1024:1024",
    "--ulimit=nproc=1024:1024",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("podman")
}

fn engine() -> Vec<String> {
    let folder = folder();
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

fn podman(args: &[&str]) -> Result<Output, String> {
    let output = Command::new("podman").args(engine()).args(args).output();
    let output =
        output.map_err(|error| format!("podman: {error} (Debian: apt install podman runc)"))?;
    if output.status.success() {
        return Ok(output);
    }
    Err(String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Settings that name the image, which is made once; or why there is none.
pub(crate) fn settings() -> Result<String, String> {
    static MADE: OnceLock<Result<String, String>> = OnceLock::new();
    MADE.get_or_init(make).clone()
}

fn make() -> Result<String, String> {
    if podman(&["image", "exists", IMAGE]).is_err() {
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
        podman(&["import", &archive.to_string_lossy(), IMAGE])?;
    }
    let mut trial = vec!["run", "--rm", "--network=none"];
    trial.extend(CONTAINER);
    trial.extend([IMAGE, "true"]);
    podman(&trial)?;
    Ok(format!(
        "[sandbox]\nimage = {IMAGE:?}\nengine_args = {:?}\ncontainer_args = {CONTAINER:?}\n",
        engine()
    ))
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
fn kept(scene: &Scene) -> Vec<String> {
    let folder = scene.env.state().join("selvedge/containers");
    let listed = fs::read_dir(folder).into_iter().flatten();
    listed
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect()
}

fn exists(record: &str) -> bool {
    let name = record.trim_end_matches(".json");
    podman(&["container", "exists", name]).is_ok()
}

/// One for the session and one for every check, each gone with it, also when it is killed.
#[test]
fn a_container_goes_with_its_session() {
    let Some(scene) = Scene::in_container() else {
        return;
    };
    let record = "test -e /.selvedge/control && echo in a container; true";
    let said = scene.attempt(record);
    assert!(said.contains("in a container"), "{said}");
    assert_eq!(kept(&scene), [] as [String; 0]);

    let begun = scene.env.work().join("begun");
    scene.env.write("attempt.sh", "touch begun; sleep 600");
    let child = scene.env.spawn(["verify", "--check", "sh attempt.sh"]);
    wait_for(&begun);
    let there = kept(&scene);
    assert_eq!(there.len(), 1, "{there:?}");
    assert!(exists(&there[0]));
    child.kill();
    wait_until("the container's end", || kept(&scene).is_empty());
    assert!(!exists(&there[0]));
}

/// The next start clears away what nobody was left to clear away.
#[test]
fn a_container_whose_supervisor_was_killed_goes_at_the_next_start() {
    let Some(scene) = Scene::in_container() else {
        return;
    };
    let begun = scene.env.work().join("begun");
    scene.env.write("attempt.sh", "touch begun; sleep 600");
    let child = scene.env.spawn(["verify", "--check", "sh attempt.sh"]);
    wait_for(&begun);
    let there = kept(&scene);
    scene.kill_ours();
    drop(child);
    let temporary = Path::new("/tmp").join(there[0].trim_end_matches(".json"));
    assert!(temporary.exists() && exists(&there[0]), "{there:?}");
    scene.attempt("true");
    assert!(!exists(&there[0]));
    assert_eq!(kept(&scene), [] as [String; 0]);
    assert!(!temporary.exists());
}

#[test]
fn without_an_image_nothing_runs() {
    let Some(scene) = Scene::in_container() else {
        return;
    };
    fs::remove_file(scene.env.config().join("selvedge/config.toml")).unwrap();
    for (image, says) in [
        ("", "no image is named"),
        ("localhost/selvedge-no-such", "selvedge-no-such"),
    ] {
        let run = scene.env.selvedge(["verify", "--check", "touch ran"]);
        let run = run.env("SELVEDGE_SANDBOX_IMAGE", image).run();
        let run = run.assert_code(9);
        assert!(run.stderr.contains(says), "{}", run.stderr);
        assert!(!scene.env.work().join("ran").exists());
    }
}

#[test]
fn what_the_image_lacks_is_told_of_the_image() {
    let Some(scene) = Scene::in_container() else {
        return;
    };
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

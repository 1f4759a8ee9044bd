//! Workspaces, state and programs below the folder for temporary files, in paths with spaces and other characters.

use std::fs;
use std::os::unix::fs::symlink;

use selvedge_testkit::TestEnv;

use super::behind;
use super::fixture::SandboxFixture;
use crate::fixtures::make_executable;

/// Sets up everything below `/tmp`: an active virtual environment in the workspace, and an agent's program that is a
/// link to a script in another folder, which reads a file next to it.
fn set_up(fixture: &SandboxFixture) -> String {
    let env = &fixture.env;
    let root = env.root().to_owned();
    for folder in ["bin", "lib/pkg", "work/.venv/bin", "python/bin"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    fs::write(
        root.join("lib/pkg/part.sh"),
        "echo x > .venv/bin/made; echo good > out\n",
    )
    .unwrap();
    let script = "#!/bin/sh\ncat > /dev/null\n. \"$(dirname \"$(readlink -f \"$0\")\")/part.sh\"\n";
    fs::write(root.join("lib/pkg/agent.sh"), script).unwrap();
    fs::write(root.join("python/bin/python9"), "#!/bin/sh\necho python9\n").unwrap();
    for program in ["lib/pkg/agent.sh", "python/bin/python9"] {
        make_executable(&root.join(program));
    }
    symlink("../lib/pkg/agent.sh", root.join("bin/own-agent")).unwrap();
    symlink(
        root.join("python/bin/python9"),
        root.join("work/.venv/bin/python9"),
    )
    .unwrap();
    env.write(".gitignore", ".venv\n");
    env.commit("A virtual environment");
    let at = |path: &str| root.join(path).display().to_string();
    let path = std::env::var("PATH").unwrap();
    format!("{}:{}:{path}", at("work/.venv/bin"), at("bin"))
}

fn temporary_workspace_state_and_programs_work(fixture: &SandboxFixture) {
    let path = set_up(fixture);
    let env = &fixture.env;
    let check = "test \"$(cat out)\" = good && python9 && echo x > \"$TMPDIR/made\" \
                 && git status --short";
    for profile in ["default", "strict"] {
        let _ = fs::remove_file(env.work_dir().join("out"));
        let run = env.selvedge([
            "run",
            "do it",
            "--agent-cmd",
            "own-agent",
            "--check",
            check,
            "--retries",
            "0",
            "--format",
            "json",
        ]);
        let run = run
            .env("PATH", &path)
            .env("VIRTUAL_ENV", env.work_dir().join(".venv"))
            .env("SELVEDGE_SANDBOX_CHECKS", profile)
            .env("SELVEDGE_SANDBOX_AGENTS", profile)
            .run();
        let result = run.json();
        let checks = &result["verification_report"]["checks"];
        assert_eq!(
            checks[0]["status"], "pass",
            "{profile}: {result} {}",
            run.stderr
        );
        // An agent may change a virtual environment in the workspace.
        assert!(env.work_dir().join(".venv/bin/made").exists(), "{profile}");
    }
}

macro_rules! below_tmp {
    ($($backend:ident),+) => {
        $(#[test]
        fn $backend() {
            let folder = tempfile::Builder::new().prefix("a ß'folder-").tempdir_in("/tmp").unwrap();
            let backend = stringify!($backend);
            if let Some(fixture) = SandboxFixture::with_backend_in(backend, folder.path()) {
                temporary_workspace_state_and_programs_work(&fixture);
            }
        })+
    };
}
below_tmp!(bubblewrap, landlock);

/// The home is the session's own folder for temporary files, and other users' files stay hidden.
fn temporary_folder_as_home_stays_private(fixture: &SandboxFixture) {
    let file = tempfile::NamedTempFile::new_in("/tmp").unwrap();
    fs::write(&file, "somebody's").unwrap();
    let script = format!(
        "echo x > ~/made; cat {}/*; true",
        file.path().parent().unwrap().display()
    );
    let report = fixture.verify(&script, &[("HOME", "/tmp")]);
    let output = report["checks"][0]["output"].as_str().unwrap();
    assert!(!output.contains("somebody's"), "{output}");
    assert!(!std::path::Path::new("/tmp/made").exists());
}
behind!(home, bubblewrap, temporary_folder_as_home_stays_private);

/// Landlock cannot protect a home in a writable folder; the report names the folder.
#[test]
fn temporary_folder_as_home_is_named_by_landlock() {
    let Some(fixture) = SandboxFixture::with_backend("landlock") else {
        return;
    };
    let run = fixture.env.selvedge(["verify", "--check", "true"]);
    let run = run.env("HOME", "/var/tmp").run();
    run.assert_code(9);
    assert!(
        run.stderr
            .contains("HOME is /var/tmp, a folder for temporary files"),
        "{}",
        run.stderr
    );
}

/// With Landlock, nothing can be created in a folder for temporary files that contains something protected.
#[test]
fn temporary_folder_that_landlock_closes_is_named() {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let Some(fixture) = SandboxFixture::with_backend_in("landlock", folder.path()) else {
        return;
    };
    let made = format!("/tmp/selvedge-test-made-{}", std::process::id());
    let report = fixture.verify(&format!("touch {made}"), &[]);
    let check = &report["checks"][0];
    assert_eq!(check["status"], "error", "{check}");
    let reason = check["reason"].as_str().unwrap();
    assert!(reason.contains("Landlock cannot protect"), "{reason}");
}

/// A browser starts without a writable home.
#[test]
fn chromium_starts_with_its_own_settings() {
    let program = std::process::Command::new("chromium")
        .arg("--version")
        .output();
    if !selvedge_testkit::is_available("chromium", &program) {
        return;
    }
    let Some(fixture) = SandboxFixture::with_backend("bubblewrap") else {
        return;
    };
    let env: &TestEnv = &fixture.env;
    env.write("page.html", "<p>hello from a page</p>");
    let is_root = fs::metadata("/root").is_ok_and(|_| fs::read_dir("/root").is_ok());
    let option = if is_root { "--no-sandbox" } else { "" };
    let page = env.work_dir().join("page.html").display().to_string();
    let output = fixture.check_output(&format!(
        "chromium --headless {option} --dump-dom 'file://{page}' 2> log || cat log"
    ));
    assert!(output.contains("hello from a page"), "{output}");
}

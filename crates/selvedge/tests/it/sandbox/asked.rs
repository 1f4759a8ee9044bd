//! Who asks for which walls, and what is said of them.

use std::os::unix::fs::MetadataExt;

use selvedge_testkit::TestEnv;

use super::fixture::{SECRET, SandboxFixture};

#[test]
fn a_repository_may_narrow_the_walls_and_not_widen_them() {
    let Some(scene) = SandboxFixture::with_backend("bubblewrap") else {
        return;
    };
    for (widens, key) in [
        ("backend = \"none\"", "backend"),
        ("checks = \"none\"", "checks"),
        ("required = false", "required"),
        ("writable = [\"/\"]", "writable"),
    ] {
        scene
            .env
            .write("selvedge.toml", format!("[sandbox]\n{widens}\n"));
        let run = scene.env.selvedge(["verify", "--check", "true"]).run();
        let run = run.assert_code(2);
        assert!(
            run.stderr.contains(&format!("sandbox.{key}")),
            "{}",
            run.stderr
        );
    }
    scene.env.write(
        "selvedge.toml",
        "[sandbox]\nchecks = \"strict\"\nrequired = true\n",
    );
    let report = scene.verify("true", &[]);
    assert_eq!(report["sandbox"]["profile"], "strict");
}

#[test]
fn what_is_required_and_not_there_is_refused() {
    let scene = SandboxFixture::create("none");
    let run = scene.env.selvedge(["verify", "--check", "touch ran"]);
    let run = run.env("SELVEDGE_SANDBOX_REQUIRED", "true").run();
    run.assert_code(9);
    assert!(run.stderr.contains("required"), "{}", run.stderr);
    assert!(
        !scene.env.work_dir().join("ran").exists(),
        "it ran without walls"
    );
}

/// An empty list allows nothing, and an empty name in it neither.
#[test]
fn an_empty_list_allows_nothing() {
    let Some(scene) = SandboxFixture::with_backend("bubblewrap") else {
        return;
    };
    let settings = scene.env.config().join("selvedge/config.toml");
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    for listed in ["[]", "[\"\"]", "[\".\"]"] {
        std::fs::write(&settings, format!("[sandbox]\nwritable = {listed}\n")).unwrap();
        scene.check_output("touch ~/made; true");
        assert!(!scene.env.home().join("made").exists(), "{listed}");
    }
    let folder = scene.env.home().join("shared");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(&settings, "[sandbox]\nwritable = [\"~/shared\"]\n").unwrap();
    scene.check_output("touch ~/shared/made ~/made; true");
    assert!(folder.join("made").exists());
    assert!(!scene.env.home().join("made").exists());
}

#[test]
fn what_holds_is_said() {
    let (Some(_), Some(_)) = (
        SandboxFixture::with_backend("bubblewrap"),
        SandboxFixture::with_backend("landlock"),
    ) else {
        return;
    };
    let scene = SandboxFixture::create("auto");
    let doctor = scene.env.selvedge(["doctor"]).run().stdout.clone();
    for said in [
        "bubblewrap, default: holds writes, secrets",
        "landlock, strict: holds writes, secrets",
        "agents: bubblewrap, default",
    ] {
        assert!(doctor.contains(said), "{doctor}");
    }
}

/// Root raises walls by its rights, anybody else by namespaces of their own; where these tests are not
/// root's, all of them are of this kind.
#[test]
fn walls_stand_for_somebody_who_is_not_root() {
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        return;
    }
    if SandboxFixture::with_backend("bubblewrap").is_none() {
        return;
    }
    // Somebody else must be able to come here, and to the program.
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge")).with_sandbox("bubblewrap");
    env.create_repo();
    std::fs::copy(env!("CARGO_BIN_EXE_selvedge"), env.root().join("selvedge")).unwrap();
    let key = env.home().join(".ssh/id_ed25519");
    std::fs::create_dir(env.home().join(".ssh")).unwrap();
    std::fs::write(&key, SECRET).unwrap();
    env.write(
        "attempt.sh",
        "id -u; cat ~/.ssh/id_ed25519; touch ~/made made; true",
    );
    let root = env.root().display().to_string();
    env.command("chown")
        .args(["-R", "65534:65534", &root])
        .run()
        .assert_success();
    let run = ["--reuid=65534", "--regid=65534", "--clear-groups", "--"];
    let run = env.command("setpriv").args(run).args([
        &format!("{root}/selvedge"),
        "verify",
        "--check",
        "sh attempt.sh",
        "--format",
        "json",
    ]);
    let run = run.run();
    let report = run.assert_success().json();
    assert_eq!(report["sandbox"]["backend"], "bubblewrap", "{report}");
    let said = report["checks"][0]["output"].as_str().unwrap();
    assert!(
        said.starts_with("65534\n") && !said.contains(SECRET),
        "{said}"
    );
    assert!(env.work_dir().join("made").exists());
    assert!(!env.home().join("made").exists());
}

//! Settings of the sandbox: who may change them, and how its restrictions are reported.

use std::os::unix::fs::MetadataExt;

use selvedge_testkit::TestEnv;

use super::fixture::{SECRET, SandboxFixture};

#[test]
fn sandbox_can_be_tightened_but_not_loosened_by_repository() {
    let Some(fixture) = SandboxFixture::with_backend("bubblewrap") else {
        return;
    };
    for (widens, key) in [
        ("backend = \"none\"", "backend"),
        ("checks = \"none\"", "checks"),
        ("required = false", "required"),
        ("writable = [\"/\"]", "writable"),
        ("grants = { check = [\"~/.netrc\"] }", "grants"),
    ] {
        fixture
            .env
            .write("selvedge.toml", format!("[sandbox]\n{widens}\n"));
        let run = fixture.env.selvedge(["verify", "--check", "true"]).run();
        let run = run.assert_code(2);
        assert!(
            run.stderr.contains(&format!("sandbox.{key}")),
            "{}",
            run.stderr
        );
    }
    fixture.env.write(
        "selvedge.toml",
        "[sandbox]\nchecks = \"strict\"\nrequired = true\n",
    );
    let report = fixture.verify("true", &[]);
    assert_eq!(report["sandbox"]["profile"], "strict");
}

#[test]
fn sandbox_that_is_required_but_missing_is_an_error() {
    let fixture = SandboxFixture::create("none");
    let run = fixture.env.selvedge(["verify", "--check", "touch ran"]);
    let run = run.env("SELVEDGE_SANDBOX_REQUIRED", "true").run();
    run.assert_code(9);
    assert!(run.stderr.contains("required"), "{}", run.stderr);
    assert!(
        !fixture.env.work_dir().join("ran").exists(),
        "it ran without walls"
    );
}

/// Neither an empty list nor an empty name in a list makes anything writable.
#[test]
fn sandbox_writable_list_with_empty_names_allows_nothing() {
    let Some(fixture) = SandboxFixture::with_backend("bubblewrap") else {
        return;
    };
    let settings = fixture.env.config().join("selvedge/config.toml");
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    for listed in ["[]", "[\"\"]", "[\".\"]"] {
        std::fs::write(&settings, format!("[sandbox]\nwritable = {listed}\n")).unwrap();
        fixture.check_output("touch ~/made; true");
        assert!(!fixture.env.home().join("made").exists(), "{listed}");
    }
    let folder = fixture.env.home().join("shared");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(&settings, "[sandbox]\nwritable = [\"~/shared\"]\n").unwrap();
    fixture.check_output("touch ~/shared/made ~/made; true");
    assert!(folder.join("made").exists());
    assert!(!fixture.env.home().join("made").exists());
}

#[test]
fn doctor_reports_sandbox_restrictions() {
    let (Some(_), Some(_)) = (
        SandboxFixture::with_backend("bubblewrap"),
        SandboxFixture::with_backend("landlock"),
    ) else {
        return;
    };
    let fixture = SandboxFixture::create("auto");
    let doctor = fixture.env.selvedge(["doctor"]).run().stdout.clone();
    for line in [
        "bubblewrap, default: enforces writes, secrets",
        "landlock, strict: enforces writes, secrets",
        "agents: bubblewrap, default",
    ] {
        assert!(doctor.contains(line), "{doctor}");
    }
    for backend in ["bubblewrap", "Landlock"] {
        let documented = [format!("With {backend}:"), "With both:".to_owned()]
            .map(|introduction| documented_list(&introduction));
        let line = format!("cannot enforce: {}\n", documented.concat().join("; "));
        assert!(doctor.contains(&line), "{line}{doctor}");
    }
}

/// The list in the reference after a line that ends with `introduction`.
fn documented_list(introduction: &str) -> Vec<&'static str> {
    let lines = include_str!("../../../../../docs/reference/sandbox.md").lines();
    lines
        .skip_while(|line| !line.ends_with(introduction))
        .skip(2)
        .map_while(|line| line.strip_prefix("- "))
        .collect()
}

/// Root sets up the sandbox with its privileges, other users with user namespaces. If the tests do not run as
/// root, all of them cover the second case.
#[test]
fn sandbox_works_for_unprivileged_users() {
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        return;
    }
    if SandboxFixture::with_backend("bubblewrap").is_none() {
        return;
    }
    // Another user must be able to access the environment and the program.
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
    let output = report["checks"][0]["output"].as_str().unwrap();
    assert!(
        output.starts_with("65534\n") && !output.contains(SECRET),
        "{output}"
    );
    assert!(env.work_dir().join("made").exists());
    assert!(!env.home().join("made").exists());
}

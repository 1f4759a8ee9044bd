//! Who asks for which walls, and what is said of them.

use super::scene::Scene;

#[test]
fn a_repository_may_narrow_the_walls_and_not_widen_them() {
    let scene = Scene::behind("bubblewrap");
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
    let scene = Scene::behind("none");
    let run = scene.env.selvedge(["verify", "--check", "touch ran"]);
    let run = run.env("SELVEDGE_SANDBOX_REQUIRED", "true").run();
    run.assert_code(9);
    assert!(run.stderr.contains("required"), "{}", run.stderr);
    assert!(
        !scene.env.work().join("ran").exists(),
        "it ran without walls"
    );
}

/// An empty list allows nothing, and an empty name in it neither.
#[test]
fn an_empty_list_allows_nothing() {
    let scene = Scene::behind("bubblewrap");
    let settings = scene.env.config().join("selvedge/config.toml");
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    for listed in ["[]", "[\"\"]", "[\".\"]"] {
        std::fs::write(&settings, format!("[sandbox]\nwritable = {listed}\n")).unwrap();
        scene.attempt("touch ~/made; true");
        assert!(!scene.env.home().join("made").exists(), "{listed}");
    }
    let folder = scene.env.home().join("shared");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(&settings, "[sandbox]\nwritable = [\"~/shared\"]\n").unwrap();
    scene.attempt("touch ~/shared/made ~/made; true");
    assert!(folder.join("made").exists());
    assert!(!scene.env.home().join("made").exists());
}

#[test]
fn what_holds_is_said() {
    let scene = Scene::behind("auto");
    let doctor = scene.env.selvedge(["doctor"]).run().stdout.clone();
    for said in [
        "bubblewrap, default: holds writes, secrets",
        "landlock, strict: holds writes, secrets",
        "agents: bubblewrap, default",
    ] {
        assert!(doctor.contains(said), "{doctor}");
    }
}

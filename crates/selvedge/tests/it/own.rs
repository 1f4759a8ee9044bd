//! Runs in isolated clones: the work is returned as a branch, and the user's checkout, index and settings stay
//! unchanged whatever the agent does.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use selvedge_testkit::{CommandOutput, TestEnv};

use crate::fixtures::{agent, env_with_repo, make_executable, wait_for};

/// Returns the last eight digits of the run's id, which are in the branch's name.
fn short(out: &CommandOutput) -> String {
    let id = out.json()["run_id"].as_str().unwrap().replace('-', "");
    id[id.len() - 8..].to_owned()
}

fn run(env: &TestEnv, script: &str, check: &str, more: &[&str]) -> CommandOutput {
    let agent = agent(env, script);
    let base = [
        "run",
        "Mend it\nand more",
        "--agent-cmd",
        &agent,
        "--check",
        check,
    ];
    env.selvedge(
        base.iter()
            .chain(more)
            .chain(&["--retries", "1", "--format", "json"]),
    )
    .run()
}

fn checkouts(env: &TestEnv) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(env.state().join("selvedge/checkouts"))
        .into_iter()
        .flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn state_of(env: &TestEnv) -> Vec<String> {
    let questions: [&[&str]; 5] = [
        &["rev-parse", "HEAD"],
        &["status", "--porcelain"],
        &["stash", "list"],
        &["ls-files", "--stage"],
        &["config", "--local", "--list"],
    ];
    questions
        .iter()
        .map(|question| env.git(question.iter()))
        .collect()
}

#[test]
fn isolated_clone_returns_verified_work_as_a_branch() {
    let env = env_with_repo();
    env.write("README", "changed, not committed\n");
    let before = state_of(&env);
    let out = run(
        &env,
        "test ! -e second && touch second && exit 0; echo good > out; git commit -qam mine; echo changed >> README",
        "test -s out",
        &["--isolated"],
    );
    out.assert_code(0);
    assert_eq!(state_of(&env), before);
    assert!(!env.work_dir().join("out").exists());
    assert!(
        out.stderr
            .contains("uncommitted changes are not part of the clone"),
        "{}",
        out.stderr
    );

    let branch = format!("selvedge/{}", short(&out));
    assert!(out.stderr.contains(&branch), "{}", out.stderr);
    assert_eq!(env.git(["show", &format!("{branch}:out")]), "good\n");
    assert_eq!(
        env.git(["rev-list", "--count", &format!("HEAD..{branch}")])
            .trim(),
        "1"
    );
    let message = env.git(["log", "-1", "--format=%B", &branch]);
    assert!(
        message.starts_with("Mend it\n\nMend it\nand more\n\nSelvedge-Run: "),
        "{message}"
    );
    assert!(message.contains("Selvedge-Outcome: verified"), "{message}");
    assert!(
        !env.git(["show", &format!("{branch}:README")])
            .contains("not committed")
    );
    env.git(["fsck", "--strict"]);

    assert_eq!(checkouts(&env).len(), 1, "kept until somebody asks");
    let doctor = env.selvedge(["doctor"]).run();
    assert!(doctor.stdout.contains("checkouts"), "{}", doctor.stdout);
    let dry_run = env.selvedge(["gc", "--dry-run"]).run();
    assert!(
        dry_run.stdout.contains("would be removed"),
        "{}",
        dry_run.stdout
    );
    assert_eq!(checkouts(&env).len(), 1);
    env.selvedge(["gc"]).run().assert_code(0);
    assert_eq!(checkouts(&env), Vec::<PathBuf>::new());
}

#[test]
fn gc_removes_leftover_verification_room() {
    let env = env_with_repo();
    run(&env, "echo good > out", "grep -q good out", &[]).assert_code(0);
    let runs = env.state().join("selvedge/runs");
    let run = std::fs::read_dir(runs).unwrap().next().unwrap().unwrap();
    let room = run.path().join("room");
    std::fs::create_dir_all(room.join("root")).unwrap();
    let dry_run = env.selvedge(["gc", "--dry-run"]).run();
    assert!(dry_run.stdout.starts_with("room "), "{}", dry_run.stdout);
    env.selvedge(["gc"]).run().assert_code(0);
    assert!(!room.exists() && run.path().exists());

    // What the last room of a workspace left for the next one, which did not come.
    let shadow = env.state().join("selvedge/shadows/unused");
    for name in ["last-room", "last-written", "last-results", "built"] {
        std::fs::create_dir_all(shadow.join(name).join("folder")).unwrap();
    }
    env.selvedge(["gc"]).run().assert_code(0);
    assert_eq!(std::fs::read_dir(&shadow).unwrap().count(), 4);
    let last = std::fs::File::open(shadow.join("last-room")).unwrap();
    let eight_days_ago = SystemTime::now() - Duration::from_hours(8 * 24);
    last.set_modified(eight_days_ago).unwrap();
    env.selvedge(["gc"]).run().assert_code(0);
    assert_eq!(std::fs::read_dir(&shadow).unwrap().count(), 0);
}

#[test]
fn isolated_clone_keeps_failed_work_with_its_outcome() {
    let env = env_with_repo();
    let out = run(&env, "echo bad > out", "false", &["--isolated", "--clean"]);
    out.assert_code(1);
    let branch = format!("selvedge/{}", short(&out));
    let message = env.git(["log", "-1", "--format=%B", &branch]);
    assert!(
        message.contains("Selvedge-Outcome: max_retries_exhausted"),
        "{message}"
    );
    env.selvedge(["gc"]).run().assert_code(0);
    assert_eq!(checkouts(&env).len(), 1, "not what failed, unless asked");
    env.selvedge(["gc", "--failed"]).run().assert_code(0);
    assert_eq!(checkouts(&env).len(), 0);
}

#[test]
fn isolated_clone_of_verified_work_is_removed_by_clean() {
    let env = env_with_repo();
    let out = run(
        &env,
        "echo good > out",
        "test -s out",
        &["--isolated", "--clean"],
    );
    out.assert_code(0);
    assert_eq!(checkouts(&env).len(), 0);
    env.git([
        "rev-parse",
        "--verify",
        &format!("selvedge/{}", short(&out)),
    ]);
}

#[test]
fn isolated_clone_without_changes_makes_no_branch() {
    let env = env_with_repo();
    let out = run(&env, "true", "true", &["--isolated"]);
    out.assert_code(11);
    assert!(
        out.stderr.contains("no changes, no branch created"),
        "{}",
        out.stderr
    );
    assert_eq!(env.git(["branch", "--list", "selvedge/*"]), "");
}

#[test]
fn isolated_clone_of_url_and_revision_is_pushed() {
    let env = env_with_repo();
    env.git(["branch", "older"]);
    env.write("newer", "newer\n");
    env.commit("newer");
    let origin = env.root().join("origin.git");
    env.git(["clone", "--quiet", "--bare", ".", origin.to_str().unwrap()]);
    let address = format!("file://{}", origin.display());
    let options = ["--repo", &address, "--rev", "older", "--push", "--clean"];
    let out = run(
        &env,
        "test ! -e newer && echo good > out",
        "test -s out",
        &options,
    );
    out.assert_code(0);
    let branch = format!("selvedge/{}", short(&out));
    let git_dir = ["--git-dir", origin.to_str().unwrap(), "show"];
    assert_eq!(
        env.git(
            git_dir
                .iter()
                .copied()
                .chain([format!("{branch}:out").as_str()])
        ),
        "good\n"
    );
    assert_eq!(checkouts(&env).len(), 0);
}

#[test]
fn isolated_clone_with_failed_push_is_pushed_on_resume() {
    let env = env_with_repo();
    let origin = env.root().join("origin.git");
    env.git(["clone", "--quiet", "--bare", ".", origin.to_str().unwrap()]);
    let hook = origin.join("hooks/pre-receive");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
    make_executable(&hook);
    let address = format!("file://{}", origin.display());
    let options = ["--repo", &address, "--push", "--clean"];
    run(&env, "echo good > out", "test -s out", &options).assert_code(9);
    env.selvedge(["gc"]).run().assert_code(0);
    assert_eq!(checkouts(&env).len(), 1, "it stands nowhere else");

    std::fs::remove_file(&hook).unwrap();
    env.selvedge(["resume", "last"]).run().assert_code(0);
    let git_dir = ["--git-dir", origin.to_str().unwrap()];
    let branches = git_dir
        .iter()
        .copied()
        .chain(["branch", "--list", "selvedge/*"]);
    assert_ne!(env.git(branches), "");
    assert_eq!(checkouts(&env).len(), 0);
}

#[test]
fn isolated_clone_keeps_what_a_branch_cannot_hold() {
    let env = env_with_repo();
    env.write(".gitignore", "lib/\n");
    env.commit("ignore");
    let script = "mkdir lib target && echo good > lib/out && echo good > out && touch target/made";
    let clean = ["--isolated", "--clean"];
    let out = run(&env, script, "test -s lib/out", &clean);
    out.assert_code(0);
    assert!(
        out.stderr.contains("ignored by git: lib/\n"),
        "{}",
        out.stderr
    );
    env.selvedge(["gc"]).run().assert_code(0);
    assert_eq!(checkouts(&env).len(), 1);

    let nested = "git init -q svc && cd svc && touch precious && git add . && git -c user.name=a -c user.email=a@b commit -qm a";
    let out = run(&env, nested, "test -e svc/precious", &clean);
    out.assert_code(0);
    let branch = format!("selvedge/{}", short(&out));
    assert_eq!(env.git(["show", &format!("{branch}:svc/precious")]), "");
    assert_eq!(checkouts(&env).len(), 1);
    let gc = env.selvedge(["gc"]).run();
    assert!(
        gc.stdout.contains("it contains files that git ignores"),
        "{}",
        gc.stdout
    );
}

#[test]
fn isolated_clone_needs_a_possible_branch() {
    let env = env_with_repo();
    env.git(["branch", "selvedge"]);
    let out = run(&env, "touch ../../../../paid", "true", &["--isolated"]);
    out.assert_code(2);
    assert!(
        out.stderr
            .contains("has a branch `selvedge`, so it cannot have the branch `selvedge/"),
        "{}",
        out.stderr
    );
    assert_eq!(checkouts(&env), Vec::<PathBuf>::new());
    assert_eq!(env.git(["branch", "--list", "selvedge/*"]), "");
}

#[test]
fn isolated_clone_says_why_it_is_kept() {
    let env = env_with_repo();
    let out = run(
        &env,
        "echo bad > out",
        "test -s missing",
        &["--isolated", "--clean"],
    );
    assert!(
        out.stderr.contains("(kept: the work is not verified)"),
        "{}",
        out.stderr
    );
    let gc = env.selvedge(["gc", "--format", "json"]).run().json();
    let reason = "its run was not verified (`--failed` removes it)";
    assert_eq!(gc["kept"][0]["reason"], reason, "{gc}");
}

#[test]
fn isolated_clone_of_interrupted_run_is_resumed() {
    let env = env_with_repo();
    let script =
        "if [ \"$SELVEDGE_RUN_NUMBER\" = 1 ]; then echo ready; exec sleep 600; fi; echo good > out";
    let agent = agent(&env, script);
    let args = [
        "run",
        "x",
        "--agent-cmd",
        &agent,
        "--check",
        "test -s out",
        "--isolated",
        "--format",
        "jsonl",
    ];
    let child = env.spawn(args);
    wait_for(&env.root().join("prompts/1"));
    child.kill();
    child.wait();
    assert_eq!(env.git(["branch", "--list", "selvedge/*"]), "");
    assert_eq!(checkouts(&env).len(), 1);
    env.selvedge(["gc", "--failed"]).run().assert_code(0);
    assert_eq!(
        checkouts(&env).len(),
        1,
        "a run that is not over may need it"
    );
    let out = env.selvedge(["resume", "last", "--format", "json"]).run();
    out.assert_code(0);
    assert_eq!(
        env.git(["show", &format!("selvedge/{}:out", short(&out))]),
        "good\n"
    );
}

#[test]
fn isolated_clone_never_runs_its_hooks_or_settings() {
    let env = env_with_repo();
    let ran = env.root().join("ran");
    let evil = format!("touch {}", ran.display());
    let script = format!(
        "echo good > out
         printf '#!/bin/sh\\n{evil}\\n' > .git/hooks/pre-commit
         for hook in post-commit reference-transaction post-checkout; do cp .git/hooks/pre-commit .git/hooks/$hook; done
         chmod +x .git/hooks/*
         git config core.fsmonitor '{evil}'; git config filter.evil.clean '{evil}'
         echo '* filter=evil' > .gitattributes
         git config core.worktree /; git config diff.external '{evil}'
         git config core.hooksPath .git/hooks; rm -f .git/HEAD; echo 'ref: refs/heads/x' > .git/HEAD"
    );
    // The user's repository is not trusted either.
    let hook = env.work_dir().join(".git/hooks/reference-transaction");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, format!("#!/bin/sh\n{evil}\n")).unwrap();
    make_executable(&hook);
    let out = run(
        &env,
        &format!("mkdir -p .git/hooks\n{script}"),
        "test -s out",
        &["--isolated"],
    );
    out.assert_code(0);
    assert!(!ran.exists(), "something of a repository was run");
    std::fs::remove_file(&hook).unwrap();
    assert_eq!(
        env.git(["show", &format!("selvedge/{}:out", short(&out))]),
        "good\n"
    );
}

#[test]
fn isolated_clone_errors_leave_nothing_behind() {
    let env = env_with_repo();
    let refused: [(&[&str], &str); 6] = [
        (
            &["--isolated", "--rev", "nowhere"],
            "revision \"nowhere\" does not exist",
        ),
        (
            &["--repo", "https://token@localhost/x"],
            "credential helper",
        ),
        (
            &["--repo", "ext::sh -c true"],
            "unsupported protocol \"ext\"",
        ),
        (
            &["--repo", "/not/there"],
            "neither a URL nor an existing folder",
        ),
        (&["--rev", "main"], "--isolated"),
        (&["--isolated", "--push"], "--repo"),
    ];
    for (options, message) in refused {
        let out = run(&env, "true", "true", options);
        out.assert_code(2);
        assert!(out.stderr.contains(message), "{options:?}: {}", out.stderr);
    }
    let out = env
        .selvedge(["run", "x", "--isolated", "--agent", "nobody"])
        .run();
    out.assert_code(2);
    assert_eq!(checkouts(&env).len(), 0, "{}", out.stderr);
}

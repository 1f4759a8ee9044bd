//! Ordinary builds in the default sandbox: fetching, compiling and testing a project must work as it does
//! without a sandbox, from a fresh clone and an empty cache.

use std::path::PathBuf;

use selvedge_testkit::TestEnv;

use crate::fixtures::env_with_repo;
use crate::tools::with_registries;

/// Commits the files, and asserts that the command passes in the sandbox.
fn passes(files: &[(&str, &str)], check: &str) {
    let env = env_with_repo();
    for (path, text) in files {
        env.write(path, text);
    }
    env.write(
        ".gitignore",
        "target/\nnode_modules/\n.venv/\n*.egg-info/\n",
    );
    env.commit("A project");
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap();
    let rustup =
        std::env::var_os("RUSTUP_HOME").map_or_else(|| home.join(".rustup"), PathBuf::from);
    let args = [
        "verify",
        "--check",
        check,
        "--verification-timeout",
        "300s",
        "--format",
        "json",
    ];
    let verify = with_registries(env.selvedge(args), &env).env("RUSTUP_HOME", rustup);
    let out = verify.run();
    out.assert_code(0);
    let sandbox = &out.json()["sandbox"];
    assert_ne!(sandbox["backend"], "none", "{sandbox}");
    assert!(sandbox["holds"].to_string().contains("writes"), "{sandbox}");
    assert_writes_outside_are_denied(&env);
}

/// Asserts that the sandbox denies writes outside of the workspace and the tools' caches.
fn assert_writes_outside_are_denied(env: &TestEnv) {
    let escape = [
        "verify",
        "--check",
        "sh -c 'touch ../escaped'",
        "--format",
        "json",
    ];
    let out = env.selvedge(escape).run();
    assert!(!env.root().join("escaped").exists(), "{}", out.stdout);
}

#[test]
fn cargo_test() {
    let manifest = "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\nitoa = \"1\"\n";
    let code = "pub fn one() -> String {\n    itoa::Buffer::new().format(1).to_owned()\n}\n\n\
                #[test]\nfn is_one() {\n    assert_eq!(one(), \"1\");\n}\n";
    passes(
        &[("Cargo.toml", manifest), ("src/lib.rs", code)],
        "cargo test",
    );
}

#[test]
fn npm_install_and_test() {
    let package = r#"{"name": "demo", "version": "1.0.0", "scripts": {"test": "node --test"}, "dependencies": {"is-number": "7.0.0"}}"#;
    let test = "require('node:test')('one', () => { if (!require('is-number')(1)) throw 1; });\n";
    let lock = "sh -c 'npm install --package-lock-only --no-audit --no-fund && npm ci --no-audit --no-fund && npm test'";
    passes(&[("package.json", package), ("one.test.js", test)], lock);
}

#[test]
fn pip_install_and_pytest() {
    let project = "[build-system]\nrequires = [\"setuptools\"]\nbuild-backend = \"setuptools.build_meta\"\n\n\
                   [project]\nname = \"demo\"\nversion = \"0.1.0\"\n";
    let files = [
        ("pyproject.toml", project),
        ("src/demo/__init__.py", "def one():\n    return 1\n"),
        (
            "tests/test_one.py",
            "from demo import one\n\n\ndef test_one():\n    assert one() == 1\n",
        ),
    ];
    passes(
        &files,
        "sh -c 'python3 -m venv .venv && .venv/bin/pip install -q -e . pytest && .venv/bin/pytest -q'",
    );
}

#[test]
fn go_test() {
    if std::process::Command::new("go")
        .arg("version")
        .output()
        .is_err()
    {
        eprintln!("skipped: there is no `go` on this machine");
        return;
    }
    let test = "package demo\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) {\n\tif One() != 1 {\n\t\tt.Fatal()\n\t}\n}\n";
    let files = [
        ("go.mod", "module example.com/demo\n\ngo 1.19\n"),
        ("one.go", "package demo\n\nfunc One() int { return 1 }\n"),
        ("one_test.go", test),
    ];
    passes(&files, "go test ./...");
}

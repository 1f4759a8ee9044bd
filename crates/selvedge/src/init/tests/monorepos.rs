//! Several projects in one repository, and which of them covers others.

use std::fs;

use super::check;
use crate::init::detect;

#[test]
fn monorepo_cargo_workspace_covers_members() {
    check(
        &[
            (
                "Cargo.toml",
                "[workspace]\nmembers = [\"crates/*\"]\nexclude = [\"fuzz\"]",
            ),
            ("crates/one/Cargo.toml", "[package]"),
            ("crates/two/Cargo.toml", "[package]"),
            ("fuzz/Cargo.toml", "[package]"),
        ],
        &[
            "tests: cargo test --workspace",
            "clippy: cargo clippy --workspace --all-targets -- -D warnings",
            "format: cargo fmt --all --check",
            "fuzz: tests: cargo test",
            "fuzz: clippy: cargo clippy --all-targets -- -D warnings",
            "fuzz: format: cargo fmt --check",
        ],
    );
}

#[test]
fn monorepo_javascript_root_covers_members() {
    let member = r#"{"scripts": {"test": "vitest run"}}"#;
    let members = [
        ("packages/a/package.json", member),
        (
            "packages/b/package.json",
            r#"{"scripts": {"lint": "eslint ."}}"#,
        ),
        ("site/package.json", member),
    ];
    let with = |root: &[(&'static str, &'static str)]| [root, &members].concat();
    let not_a_member = "site: tests:";
    check(
        &with(&[
            (
                "package.json",
                r#"{"workspaces": ["packages/*"], "scripts": {"lint": "turbo lint"}}"#,
            ),
            ("package-lock.json", ""),
        ]),
        &[
            "tests: npm run test --workspaces --if-present",
            "lint: npm run lint",
            &format!("{not_a_member} npm test"),
        ],
    );
    check(
        &with(&[
            ("package.json", "{}"),
            (
                "pnpm-workspace.yaml",
                "packages:\n  # all\n  - 'packages/**'\n  - '!packages/b'\ncatalog:\n  - x\n",
            ),
            ("pnpm-lock.yaml", ""),
        ]),
        &[
            "tests: pnpm --recursive run test",
            "packages/b: lint: pnpm run lint",
            &format!("{not_a_member} pnpm run test"),
        ],
    );
    check(
        &with(&[
            (
                "package.json",
                r#"{"workspaces": {"packages": ["./packages/*/"]}}"#,
            ),
            ("yarn.lock", ""),
            (".yarnrc.yml", ""),
        ]),
        &[
            "tests: yarn workspaces foreach --all run test",
            "lint: yarn workspaces foreach --all run lint",
            &format!("{not_a_member} yarn run test"),
        ],
    );
}

#[test]
fn monorepo_other_roots_cover_members() {
    check(
        &[
            ("go.work", "go 1.24\nuse (\n\t./api // served\n\t./lib\n)\n"),
            ("api/go.mod", ""),
            ("lib/go.mod", ""),
            ("tools/go.mod", ""),
        ],
        &[
            "tests: go test ./api/... ./lib/...",
            "vet: go vet ./api/... ./lib/...",
            "tools: tests: go test ./...",
            "tools: vet: go vet ./...",
        ],
    );
    check(
        &[
            ("pom.xml", "<modules><module>core</module></modules>"),
            ("core/pom.xml", ""),
            ("apps/pom.xml", ""),
        ],
        &["tests: mvn --batch-mode test"],
    );
    check(
        &[("settings.gradle", ""), ("app/build.gradle", "")],
        &["tests: gradle test"],
    );
    check(
        &[("mix.exs", "apps_path: \"apps\""), ("apps/one/mix.exs", "")],
        &["tests: mix test"],
    );
    check(
        &[
            (
                "pyproject.toml",
                "[tool.uv.workspace]\nmembers = [\"libs/*\"]\n[tool.pytest]",
            ),
            ("libs/one/pyproject.toml", "[tool.pytest.ini_options]"),
        ],
        &["tests: uv run pytest"],
    );
}

#[test]
fn monorepo_with_different_ecosystems() {
    check(
        &[
            ("backend/go.mod", ""),
            ("frontend/package.json", r#"{"scripts": {"test": "jest"}}"#),
            ("Makefile", "test:\n\tcd backend && go test\n"),
        ],
        &[
            "tests: make test",
            "backend: tests: go test ./...",
            "backend: vet: go vet ./...",
            "frontend: tests: npm test",
        ],
    );
}

#[test]
fn monorepo_walk_skips_foreign_folders() {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("go.mod", "module x"),
        (".config/nextest.toml", ""),
        (".gitignore", "generated/\n"),
        ("generated/go.mod", "module generated"),
        ("vendor/dep/go.mod", "module dep"),
        (
            "web/node_modules/dep/package.json",
            r#"{"scripts": {"test": "x"}}"#,
        ),
        ("web/package.json", r#"{"scripts": {"test": "jest"}}"#),
        (".cache/copy/go.mod", "module copy"),
        ("fuzz/go.mod", "module fuzz"),
        ("benchmarks/go.mod", "module benchmarks"),
        ("web/template/go.mod", "module template"),
        ("a/b/c/d/e/go.mod", "module too_deep"),
    ] {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let found: Vec<_> = detect(root.path())
        .0
        .iter()
        .map(|found| found.found_in.clone())
        .collect();
    assert_eq!(found, ["go.mod", "go.mod", "web/package.json"]);
}

#[test]
fn installed_programs_run_from_their_directory() {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("requirements-dev.txt", "pytest"),
        (".gitignore", ".venv/\nnode_modules/\n"),
        (".venv/bin/pytest", ""),
        (
            "web/package.json",
            r#"{"devDependencies": {"jest": "^29"}}"#,
        ),
        ("node_modules/.bin/jest", ""),
    ] {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let (proposals, ..) = detect(root.path());
    let found: Vec<_> = proposals
        .iter()
        .map(|found| (found.step.target.as_str(), found.install.is_some()))
        .collect();
    let expected = [
        (".venv/bin/pytest", true),
        ("../node_modules/.bin/jest", false),
    ];
    assert_eq!(found, expected);
}

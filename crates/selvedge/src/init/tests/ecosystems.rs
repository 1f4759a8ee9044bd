//! Proposals for one project of each kind.

use selvedge_core::model::StepKind;

use super::{check, proposals};
use crate::init::proposal::CheckRole;

/// Asserts the commands that are tried for the tests, in their order.
#[track_caller]
fn check_test_commands(files: &[(&str, &str)], expected: &[&str]) {
    let found = proposals(files);
    let tests = found.iter().find(|it| it.role == CheckRole::Test).unwrap();
    let others = tests.alternatives.iter();
    let commands: Vec<_> = std::iter::once(tests)
        .chain(others)
        .map(|proposal| proposal.step.target.as_str())
        .collect();
    assert_eq!(commands, expected);
}

#[test]
fn ecosystem_cargo() {
    check(
        &[("Cargo.toml", "[package]\nname = \"x\"")],
        &[
            "tests: cargo test",
            "clippy: cargo clippy --all-targets -- -D warnings",
            "format: cargo fmt --check",
        ],
    );
    let nextest = [("Cargo.toml", "[package]"), (".config/nextest.toml", "")];
    assert_eq!(proposals(&nextest)[0].step.target, "cargo nextest run");
    check(&[("Cargo.toml", "this is no TOML")], &[]);
    let fuzz = "[package.metadata]\ncargo-fuzz = true";
    check(&[("Cargo.toml", fuzz)], &[]);
}

#[test]
fn ecosystem_bats() {
    check(&[("test/bats_a.bats", "")], &["tests: bats test"]);
    let nested = [
        ("tests/a/b.bats", ""),
        ("tests/bats/test/c.bats", ""),
        ("node_modules/.bin/bats", ""),
    ];
    let expected = "tests: node_modules/.bin/bats --recursive tests";
    check(&nested, &[expected]);
    check(&[("test/bats/test/c.bats", "")], &[]);
    let other = [("test/a.bats", ""), ("go.mod", ""), ("a_test.go", "")];
    assert_eq!(proposals(&other)[0].step.target, "go test ./...");
}

#[test]
fn ecosystem_check_types() {
    let kinds: Vec<_> = proposals(&[("Cargo.toml", "")])
        .iter()
        .map(|proposal| proposal.step.kind)
        .collect();
    assert_eq!(
        kinds,
        [StepKind::TestPasses, StepKind::Command, StepKind::Command]
    );
}

#[test]
fn ecosystem_javascript_by_package_manager() {
    let package = r#"{"scripts": {"test": "vitest run", "lint": "eslint .", "type-check": "tsc"}}"#;
    for (lockfile, commands) in [
        (
            "package-lock.json",
            ["npm test", "npm run type-check", "npm run lint"],
        ),
        (
            "pnpm-lock.yaml",
            ["pnpm run test", "pnpm run type-check", "pnpm run lint"],
        ),
        (
            "yarn.lock",
            ["yarn run test", "yarn run type-check", "yarn run lint"],
        ),
        (
            "bun.lock",
            ["bun run test", "bun run type-check", "bun run lint"],
        ),
        (
            "nothing",
            ["npm test", "npm run type-check", "npm run lint"],
        ),
    ] {
        let [tests, types, lint] = commands;
        check(
            &[("package.json", package), (lockfile, "")],
            &[
                &format!("tests: {tests}"),
                &format!("types: {types}"),
                &format!("lint: {lint}"),
            ],
        );
    }
    let declared = r#"{"packageManager": "pnpm@9.1.0", "scripts": {"test": "jest"}}"#;
    check(
        &[("package.json", declared), ("yarn.lock", "")],
        &["tests: pnpm run test"],
    );
}

#[test]
fn ecosystem_javascript_ignores_other_scripts() {
    check(
        &[
            (
                "package.json",
                r#"{
                    "scripts": {
                        "test": "jest --watch",
                        "lint": "eslint --fix .",
                        "typecheck": "echo \"Error: no test specified\" && exit 1"
                    },
                    "devDependencies": {"jest": "^29", "typescript": "^5"}
                }"#,
            ),
            ("tsconfig.json", "{\n  // strict\n  \"references\": []\n}"),
            ("eslint.config.mjs", ""),
        ],
        &[
            "tests: npx --no-install jest",
            "types: npx --no-install tsc --build",
            "lint: npx --no-install eslint .",
        ],
    );
    check(
        &[
            ("package.json", "{}"),
            ("biome.json", ""),
            ("pnpm-lock.yaml", ""),
        ],
        &["lint: pnpm exec biome check ."],
    );
    check(&[("package.json", "no JSON")], &[]);
}

/// Tests of a package import it, so it is installed together with pytest.
#[test]
fn missing_pytest_is_installed_with_the_package() {
    let pytest = "[tool.pytest.ini_options]\n";
    for (project, package) in [
        ("", ""),
        ("[project]\nname = \"a\"\n", "-e . "),
        (
            "[project.optional-dependencies]\ntest = [\"pytest\"]\n",
            "-e '.[test]' ",
        ),
    ] {
        let found = proposals(&[
            ("pyproject.toml", &format!("{pytest}{project}")),
            ("tests/test_it.py", "import pytest\n"),
        ]);
        let installs: Vec<_> = found.iter().map(|it| it.install.as_deref()).collect();
        let expected = format!("python3 -m venv .venv && .venv/bin/pip install {package}pytest");
        assert_eq!(installs, [Some(expected.as_str())]);
    }
}

#[test]
fn locked_dependencies_are_a_remedy_for_their_own_programs_only() {
    let found = proposals(&[
        ("pyproject.toml", "[tool.pytest.ini_options]\n[tool.ruff]"),
        ("uv.lock", "[[package]]\nname = \"pytest\"\n"),
    ]);
    let installs: Vec<_> = found.iter().map(|it| it.install.as_deref()).collect();
    assert_eq!(installs, [Some("uv sync"), None]);
}

#[test]
fn ecosystem_python() {
    check(
        &[
            (
                "pyproject.toml",
                "[tool.pytest.ini_options]\n[tool.ruff.format]\n[tool.mypy]\nfiles = \"src\"",
            ),
            ("uv.lock", ""),
        ],
        &[
            "tests: uv run pytest",
            "mypy: uv run mypy",
            "ruff: uv run ruff check .",
            "format: uv run ruff format --check .",
        ],
    );
    check(
        &[(
            "pyproject.toml",
            "[tool.poetry.group.dev.dependencies]\npytest = \"8\"",
        )],
        &["tests: poetry run pytest"],
    );
    check(
        &[("pyproject.toml", "[tool.ruff]\nfix = true")],
        &["ruff: ruff check --no-fix ."],
    );
    check(
        &[("setup.cfg", "[tool:pytest]\n[flake8]\n[mypy]")],
        &["tests: pytest", "mypy: mypy .", "flake8: flake8"],
    );
    check(
        &[
            ("requirements.txt", "flask\n"),
            ("requirements-dev.txt", "pytest==8\n"),
        ],
        &["tests: pytest"],
    );
    check(
        &[("tox.ini", "[tox]\n[testenv]\ncommands = unittest")],
        &["tests: tox"],
    );
    check(
        &[("manage.py", ""), ("requirements.txt", "django")],
        &["tests: python manage.py test"],
    );
    check(
        &[("setup.py", ""), ("tests/test_it.py", "")],
        &["tests: python -m unittest discover -s tests"],
    );
    check(
        &[("tests/__init__.py", ""), ("tests/test_it.py", "")],
        &["tests: python -m unittest discover"],
    );
    check(&[("lib/it.py", "")], &[]);
    check(
        &[
            ("pyproject.toml", "[project]\nname = \"x\""),
            ("pyrightconfig.json", "{}"),
        ],
        &["pyright: pyright"],
    );
    check(&[("script.py", "")], &[]);
}

#[test]
fn ecosystem_go() {
    check(
        &[("go.mod", "module x"), (".golangci.yml", "")],
        &[
            "tests: go test ./...",
            "vet: go vet ./...",
            "golangci-lint: golangci-lint run ./...",
        ],
    );
    // Without a module, the trial names the command that makes one.
    let old = [
        ("quote.go", ""),
        ("quote_test.go", ""),
        ("cmd/x_test.go", ""),
    ];
    check(&old, &["tests: go test ./..."]);
    let install = proposals(&old)[0].install.clone();
    assert_eq!(install.as_deref(), Some("go mod init MODULE"));
}

#[test]
fn ecosystem_maven_and_gradle() {
    check(
        &[("pom.xml", "<project/>")],
        &["tests: mvn --batch-mode test"],
    );
    check(
        &[("pom.xml", ""), ("mvnw", "")],
        &["tests: ./mvnw --batch-mode test"],
    );
    check(&[("build.gradle", "")], &["tests: gradle test"]);
    check(
        &[("build.gradle.kts", ""), ("gradlew", "")],
        &["tests: ./gradlew test"],
    );
}

#[test]
fn ecosystem_elixir() {
    check(
        &[
            ("mix.exs", "{:credo, \"~> 1.7\"}, {:dialyxir, \"~> 1.4\"}"),
            (".formatter.exs", ""),
        ],
        &[
            "tests: mix test",
            "dialyzer: mix dialyzer",
            "credo: mix credo",
            "format: mix format --check-formatted",
        ],
    );
}

#[test]
fn ecosystem_ruby() {
    check(
        &[("Gemfile", "gem 'rspec'"), (".rubocop.yml", "")],
        &["tests: bundle exec rspec", "rubocop: bundle exec rubocop"],
    );
    check(
        &[
            ("Gemfile", "gem \"minitest\""),
            ("Rakefile", "Rake::TestTask.new"),
        ],
        &["tests: bundle exec rake test"],
    );
    check(
        &[
            ("Gemfile", ""),
            ("bin/rails", ""),
            ("test/models/user_test.rb", ""),
        ],
        &["tests: bin/rails test"],
    );
    check(
        &[("Gemfile", "gem 'standard'")],
        &["standardrb: bundle exec standardrb"],
    );
}

#[test]
fn ecosystem_php() {
    check(
        &[
            ("composer.json", "{}"),
            ("phpunit.xml.dist", ""),
            ("phpstan.neon", ""),
        ],
        &[
            "tests: vendor/bin/phpunit",
            "phpstan: vendor/bin/phpstan analyse",
        ],
    );
    check(
        &[("composer.json", r#"{"scripts": {"test": "phpunit"}}"#)],
        &["tests: composer test"],
    );
    check(
        &[(
            "composer.json",
            r#"{"require-dev": {"pestphp/pest": "^3"}}"#,
        )],
        &["tests: vendor/bin/pest"],
    );
}

#[test]
fn ecosystem_dotnet_cmake_deno() {
    check(
        &[("App.sln", ""), ("App.Tests/App.Tests.csproj", "")],
        &["tests: dotnet test"],
    );
    check(&[("App.Tests.csproj", "")], &["tests: dotnet test"]);
    check(&[("App.csproj", "")], &[]);
    check(
        &[
            ("CMakeLists.txt", "enable_testing()"),
            ("lib/CMakeLists.txt", "enable_testing()"),
        ],
        &[
            "tests: cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure",
        ],
    );
    check(&[("CMakeLists.txt", "add_library(x)")], &[]);
    check(
        &[("deno.json", r#"{"tasks": {"test": "deno test -A"}}"#)],
        &[
            "tests: deno task test",
            "lint: deno lint",
            "format: deno fmt --check",
        ],
    );
}

#[test]
fn ecosystem_task_runners_fill_gaps() {
    check(
        &[(
            "Makefile",
            "test := no\ncheck: all\n\tprove\nlint: all\n\tshellcheck *.sh\n",
        )],
        &["tests: make check", "lint: make lint"],
    );
    check(
        &[
            ("justfile", "test filter=\"\":\n  go test\n@lint:\n  x\n"),
            ("go.mod", ""),
        ],
        &["tests: go test ./...", "vet: go vet ./..."],
    );
    check(
        &[
            ("justfile", "@test:\n"),
            ("Makefile", "test:\n"),
            ("sub/Makefile", "test:\n"),
        ],
        &["tests: make test"],
    );
}

#[test]
fn alternatives_of_commands_that_cannot_be_used() {
    let script = r#"{"scripts": {"test": "npm run lint && tape test/*.js && node --test", "test:unit": "tape test/*.js"}}"#;
    check_test_commands(
        &[("package.json", script), ("node_modules/.bin/tape", "")],
        &[
            "npm test",
            "npm run test:unit",
            "node_modules/.bin/tape test/*.js",
            "node --test",
        ],
    );
    let missing = r#"{"scripts": {"test": "npm run unit && npm run types", "unit": "tape test", "types": "tstyche"},
        "devDependencies": {"tape": "5", "tstyche": "7"}}"#;
    check_test_commands(
        &[
            ("package.json", missing),
            ("node_modules", ""),
            ("node_modules/.bin/tape", ""),
        ],
        &["npm run unit", "npm test", "node_modules/.bin/tape test"],
    );
    let launched = r#"{"scripts": {"test": "nub exec --node vitest run"}}"#;
    check_test_commands(
        &[("package.json", launched), ("node_modules/.bin/vitest", "")],
        &["npm test", "node_modules/.bin/vitest run"],
    );
    let types = r#"{"scripts": {"test": "pnpm lint && vitest run --typecheck"}}"#;
    check_test_commands(
        &[("package.json", types), ("node_modules/.bin/vitest", "")],
        &[
            "npm test",
            "node_modules/.bin/vitest run --typecheck",
            "node_modules/.bin/vitest run",
        ],
    );
    check_test_commands(
        &[
            ("pyproject.toml", "[tool.uv]\n[tool.pytest]\n"),
            (".venv/bin/pytest", ""),
        ],
        &["uv run pytest", ".venv/bin/pytest"],
    );
    check_test_commands(
        &[
            ("tox.ini", "[testenv]\n"),
            ("tests/test_it.py", ""),
            (".venv/bin/python", ""),
            (".venv/bin/python3", ""),
        ],
        &[
            "tox",
            ".venv/bin/python -m unittest discover -s tests",
            ".venv/bin/python3 -m unittest discover -s tests",
            "pytest",
        ],
    );
    check_test_commands(
        &[("Gemfile", "gem 'rspec'"), ("Rakefile", "task :test do")],
        &[
            "bundle exec rspec",
            "rspec",
            "bundle exec rake test",
            "rake test",
        ],
    );
    check_test_commands(
        &[
            (
                "composer.json",
                r#"{"scripts": {"test": "phpunit --testdox"}}"#,
            ),
            ("phpunit.xml", ""),
        ],
        &["composer test", "vendor/bin/phpunit", "phpunit"],
    );
}

#[test]
fn ecosystem_ruby_without_bundler() {
    let named = "Rake::TestTask.new(\"test_units\") do |t|\nend\ntask :test_all => [:test_units]\n";
    check(
        &[("Rakefile", named), ("lib/x.rb", "")],
        &["tests: rake test_units"],
    );
    check(
        &[("x.gemspec", ""), ("spec/x_spec.rb", "")],
        &["tests: rspec"],
    );
    check(&[("Rakefile", "task :test_all")], &[]);
    check(&[("Rakefile", "task_list :test")], &[]);
    let definitions = [
        ("task \"spec\" do", "spec"),
        ("task(:spec)", "spec"),
        ("  task spec: %i[build]", "spec"),
        ("RSpec::Core::RakeTask.new(:examples)", "examples"),
        ("RSpec::Core::RakeTask.new do |t|", "spec"),
        ("Minitest::TestTask.create", "test"),
        ("Minitest::TestTask.create(:units)", "units"),
        ("Rake::TestTask.new(units: :build)", "units"),
    ];
    for (definition, task) in definitions {
        check(
            &[("Rakefile", definition), ("spec/x_spec.rb", "")],
            &[&format!("tests: rake {task}")],
        );
    }
}

#[test]
fn ecosystem_perl() {
    check(
        &[("t/basic.t", ""), ("lib/X.pm", "")],
        &["tests: prove -lrv t"],
    );
    check(
        &[("x/t/basic.t", ""), ("x/cpanfile", "")],
        &["x: tests: prove -lrv t"],
    );
    check(&[("t/basic.t", ""), ("t/run.sh", "")], &[]);
}

//! The files that are protected without being asked for, in a table: which names, what kind of
//! file each is (and so how it is compared), and the words by which a task may speak of it.

/// What a protected file is, which says how its check-relevant parts are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Every byte counts, and so does being there at all.
    Whole,
    /// Loaded by the interpreter or the runner before anything else.
    Injected,
    /// pytest's hooks and fixtures.
    Conftest,
    /// Runner, coverage and lint sections of an INI file.
    Ini,
    /// `pyproject.toml` and its kin.
    PythonToml,
    /// A manifest of Cargo.
    CargoManifest,
    /// Cargo's own configuration.
    CargoConfig,
    /// TOML of a tool that only checks (nextest, clippy, …).
    ToolToml,
    /// A manifest of npm.
    PackageJson,
    /// The TypeScript compiler's configuration.
    TsConfig,
    /// JSON (with comments) of a tool that only checks.
    ToolJson,
    /// Configuration that is a program (`jest.config.js`, `noxfile.py`).
    Script,
    /// Continuous integration: its steps that check.
    Pipeline,
    /// Lists of settings in YAML or plain lines: Taskfile, lint configuration.
    Steps,
    /// `make`.
    Makefile,
    /// `just`.
    Justfile,
    /// Build files that say how tests run among much else (Maven, Gradle, mix).
    Build,
    /// Set-up code that tests load first (`spec_helper.rb`, `test_helper.exs`).
    TestSetup,
    /// npm's settings.
    Npmrc,
    /// What a tool leaves out, or how git treats files.
    Ignores,
    /// A lock file: allowed, and said.
    Lock,
}

/// One line of the table.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) kind: Kind,
    /// A glob without a `/` holds in every directory, any other one from the root.
    pub(super) globs: &'static [&'static str],
    /// Words by which a task speaks of the file's content; its name and path always count.
    pub(super) subjects: &'static [&'static str],
}

const fn entry(
    kind: Kind,
    globs: &'static [&'static str],
    subjects: &'static [&'static str],
) -> Entry {
    Entry {
        kind,
        globs,
        subjects,
    }
}

/// The first entry that fits a path holds.
#[rustfmt::skip]
pub(super) const TABLE: &[Entry] = &[
    entry(
        Kind::Injected,
        &[
            "sitecustomize.py", "usercustomize.py", "site-packages/*.pth", "dist-packages/*.pth",
            "*.pyc", "pytest.py", "/pytest/__init__.*", "_pytest/**", "pluggy.py", "pluggy/**",
            "/unittest.py", "/unittest/__init__.*",
        ],
        &[],
    ),
    entry(
        Kind::Conftest,
        &["conftest.py"],
        &["conftest", "pytest hook", "pytest plugin"],
    ),
    entry(
        Kind::Ini,
        &[
            "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg", ".coveragerc", ".flake8",
            "mypy.ini", ".mypy.ini", ".pylintrc", "pylintrc",
        ],
        &[
            "pytest config", "pytest option", "pytest setting", "pytest marker", "tox config",
            "tox env", "coverage config", "coverage threshold", "coverage setting",
            "flake8 config", "flake8 rule", "mypy config", "mypy setting", "pylint config",
            "lint config", "lint rule",
        ],
    ),
    entry(
        Kind::PythonToml,
        &["pyproject.toml", "pytest.toml", ".pytest.toml", "ruff.toml", ".ruff.toml"],
        &[
            "pytest config", "pytest option", "pytest setting", "pytest marker", "ruff config",
            "ruff rule", "mypy config", "mypy setting", "coverage config", "coverage threshold",
            "coverage setting", "lint config", "lint rule", "line length",
        ],
    ),
    entry(
        Kind::CargoManifest,
        &["Cargo.toml"],
        &["cargo lint", "clippy lint", "lint table"],
    ),
    entry(
        Kind::CargoConfig,
        &["**/.cargo/config.toml", "**/.cargo/config"],
        &["cargo config", "cargo alias", "rustflags", "linker"],
    ),
    entry(
        Kind::ToolToml,
        &[
            "**/.config/nextest.toml", "clippy.toml", ".clippy.toml", "rustfmt.toml",
            ".rustfmt.toml", "deny.toml", "bunfig.toml", "tarpaulin.toml",
        ],
        &[
            "nextest config", "nextest profile", "clippy config", "rustfmt config",
            "formatting config", "lint config",
        ],
    ),
    entry(
        Kind::PackageJson,
        &["package.json"],
        &[
            "npm script", "test script", "lint script", "build script", "jest config",
            "jest timeout", "mocha config", "eslint config",
        ],
    ),
    entry(
        Kind::TsConfig,
        &["tsconfig*.json", "jsconfig.json"],
        &["typescript config", "compiler option", "strict mode", "ts config"],
    ),
    entry(
        Kind::ToolJson,
        &[
            ".eslintrc", ".eslintrc.json", "biome.json", "biome.jsonc", ".prettierrc",
            ".prettierrc.json", ".mocharc.json", ".mocharc.jsonc", ".nycrc", ".nycrc.json",
            ".c8rc.json", "jest.config.json", "deno.json", "deno.jsonc", "cypress.json",
            "pyrightconfig.json", ".jshintrc", ".oxlintrc.json",
        ],
        &[
            "eslint config", "eslint rule", "lint rule", "lint config", "biome config",
            "prettier config", "formatting config", "mocha config", "jest config", "jest timeout",
            "coverage threshold", "coverage config", "pyright config",
        ],
    ),
    entry(
        Kind::Script,
        &[
            "jest.config.*", "vitest.config.*", "vitest.workspace.*", "karma.conf.*",
            "playwright.config.*", "cypress.config.*", "ava.config.*", ".mocharc.*js",
            "wdio.conf.*", "eslint.config.*", ".eslintrc.*js", "prettier.config.*",
            ".prettierrc.*js", "noxfile.py", "Rakefile", "Jenkinsfile", "dangerfile.*",
        ],
        &[
            "jest config", "jest timeout", "vitest config", "vitest timeout", "test timeout",
            "playwright config", "cypress config", "karma config", "mocha config",
            "eslint config", "eslint rule", "lint rule", "lint config", "prettier config",
            "nox session", "rake task", "coverage threshold", "jenkins pipeline", "ci pipeline",
        ],
    ),
    entry(
        Kind::Pipeline,
        &[
            "/.github/workflows/**", "/.github/actions/**", ".gitlab-ci.yml", ".gitlab-ci.yaml",
            ".travis.yml", "azure-pipelines.yml", "bitbucket-pipelines.yml", "/.circleci/**",
            "/.buildkite/**", ".drone.yml", "appveyor.yml", ".woodpecker.yml", "/.woodpecker/**",
        ],
        &[
            "ci workflow", "ci job", "ci pipeline", "ci config", "ci step", "ci matrix",
            "ci build", "github action", "github workflow", "gitlab pipeline", "gitlab ci",
            "release workflow", "workflow", "circleci", "travis", "ci to", "to ci", "in ci",
        ],
    ),
    entry(
        Kind::Steps,
        &[
            "Taskfile.yml", "Taskfile.yaml", ".golangci.yml", ".golangci.yaml", ".eslintrc.yml",
            ".eslintrc.yaml", ".prettierrc.yml", ".prettierrc.yaml", ".mocharc.yml",
            ".mocharc.yaml", ".rubocop.yml", ".rspec", "phpunit.xml", "phpunit.xml.dist",
            "phpunit.dist.xml", "phpstan.neon", "phpstan.neon.dist", ".pre-commit-config.yaml",
            ".credo.exs", ".formatter.exs", "codecov.yml", ".codecov.yml", "testng.xml",
            "junit-platform.properties", "buf.yaml",
        ],
        &[
            "taskfile", "golangci", "rubocop", "eslint config", "eslint rule", "lint rule",
            "lint config", "linter config", "rspec config", "phpunit config", "phpstan",
            "pre-commit", "codecov", "coverage threshold",
        ],
    ),
    entry(
        Kind::Makefile,
        &["Makefile", "makefile", "GNUmakefile", "*.mk"],
        &["makefile", "make target"],
    ),
    entry(
        Kind::Justfile,
        &["justfile", ".justfile", "*.just"],
        &["justfile", "just recipe"],
    ),
    entry(
        Kind::Build,
        &[
            "pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle",
            "settings.gradle.kts", "gradle.properties", "mix.exs", "build.sbt", "CMakeLists.txt",
            "meson.build",
        ],
        &[
            "surefire", "failsafe", "maven plugin", "gradle task", "gradle test", "mix alias",
            "test configuration", "build configuration",
        ],
    ),
    entry(
        Kind::TestSetup,
        &[
            "jest.setup.*", "vitest.setup.*", "test_helper.*", "spec_helper.rb",
            "rails_helper.rb", "setupTests.*", "setup-tests.*", "test/bootstrap.php",
            "tests/bootstrap.php", "vite.config.*",
        ],
        &["test helper", "spec helper", "test setup"],
    ),
    entry(
        Kind::Npmrc,
        &[".npmrc", ".yarnrc.yml", "pnpm-workspace.yaml"],
        &["npm config", "registry"],
    ),
    entry(
        Kind::Ignores,
        &[
            ".gitattributes", ".eslintignore", ".prettierignore", ".stylelintignore",
            ".gitmodules",
        ],
        &["line ending", "git attribute", "git lfs", "eslint ignore", "submodule"],
    ),
    entry(
        Kind::Whole,
        &["/selvedge.toml", "/.selvedge/**"],
        &["selvedge"],
    ),
    entry(
        Kind::Lock,
        &[
            "Cargo.lock", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock",
            "pnpm-lock.yaml", "bun.lock", "bun.lockb", "poetry.lock", "uv.lock", "pdm.lock",
            "Pipfile.lock", "go.sum", "Gemfile.lock", "composer.lock", "mix.lock",
            "gradle.lockfile", "packages.lock.json",
        ],
        &[],
    ),
];

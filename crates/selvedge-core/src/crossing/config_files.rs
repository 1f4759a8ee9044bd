//! Configuration of checks and builds, recognized by file name.

use super::references::name_of;
use super::sides::ProjectSide;
use crate::guard::{Pattern, SourceLanguage};

/// Configuration of test runners, linters, formatters and type checkers, and set-up code that runners load first.
static RUNNERS: Pattern = Pattern::new(concat!(
    // Python
    r"(?i)^(?:conftest\.py|\.?pytest\.(?:ini|toml)|tox\.(?:ini|toml)|\.coveragerc|\.flake8|\.?mypy\.ini|\.?pylintrc(?:\.toml)?",
    r"|\.?ruff\.toml|noxfile\.py|pyrightconfig\.json|\.bandit|\.isort\.cfg|nose\.cfg|unittest\.cfg|\.pydocstyle",
    r"|(?:uv|hatch|pixi|ty|pyrefly)\.toml|\.pyre_configuration(?:\.local)?|\.?mise(?:\.local)?\.toml|\.shellcheckrc|\.shellspec",
    // Rust
    r"|nextest\.toml|\.?insta\.ya?ml|\.?clippy\.toml|\.?rustfmt\.toml|deny\.toml|tarpaulin\.toml",
    // JavaScript and TypeScript
    r"|(?:jest|vitest|playwright|cypress|ava|karma|wdio|tap|web-test-runner|jasmine|eslint|prettier|stylelint|commitlint|dangerfile|c8|nyc|stryker)",
    r"\.(?:config|conf|setup|workspace|projects)\.\w+|jasmine\.json|\.(?:eslint|prettier|mocha|stylelint|jshint|oxlint|nyc|c8|tap|ava|swc|lintstaged)rc(?:\.\w+)?",
    r"|biome\.jsonc?|bunfig\.toml|deno\.jsonc?|cypress\.json|setup-?tests\.\w+|\.npmrc|\.yarnrc(?:\.yml)?|pnpm-workspace\.yaml|\.?knip\.json",
    r"|tslint\.json|\.?xo[.-]config\.\w+|turbo\.json|nx\.json|lerna\.json|\.(?:eslint|prettier|stylelint|mocha)ignore",
    // Ruby, PHP, Elixir, Go, JVM and others
    r"|\.rspec(?:-local)?|\.rubocop(?:_todo)?\.yml|(?:spec|rails|test)_helper\.(?:rb|exs)|rakefile(?:\.rb)?|\.simplecov|\.minitest",
    r"|phpunit(?:\.dist)?\.xml(?:\.dist)?|pest\.php|phpstan(?:\.dist)?\.neon(?:\.dist)?|psalm\.xml|\.php-cs-fixer(?:\.dist)?\.php|phpcs\.xml(?:\.dist)?|infection\.json5?",
    r"|\.credo\.exs|\.formatter\.exs|\.?golangci\.(?:ya?ml|toml|json)|testng\.xml|junit-platform\.properties|checkstyle\.xml|detekt\.yml|\.scalafmt\.conf|ktlint\.yml",
    r"|\.clang-(?:tidy|format)|ctestconfig\.cmake|taskfile\.ya?ml|\.pre-commit-config\.yaml|\.?codecov\.yml|buf\.yaml|\.gitattributes|\.gitmodules|\.editorconfig)$",
));
/// Configuration of compilers, bundlers and builds: sources and tests both depend on it.
static BUILDS: Pattern = Pattern::new(concat!(
    r"(?i)^(?:tsconfig[^/]*\.json|jsconfig\.json|(?:gnu)?makefile(?:\.\w+)?|[^/]*\.mk|\.?justfile|[^/]*\.just|pom\.xml|(?:build|settings)\.gradle(?:\.kts)?",
    r"|gradle\.properties|mix\.exs|build\.sbt|cmakelists\.txt|[^/]*\.cmake|cmakepresets\.json|meson\.build|meson\.options|build(?:\.bazel)?|workspace(?:\.bazel)?|module\.bazel|\.bazelrc",
    r"|build\.rs|setup\.py|(?:c|cc|cpp|cxx|ld|compile|compiler|linker|build)[._-]?(?:flags|options|opts)(?:\.(?:txt|cfg|conf|list))?|[^/]*\.rsp|(?:vite|webpack|rollup|babel|esbuild|next|nuxt|svelte|astro|metro|tsup|swc|rspack|rsbuild|postcss|tailwind)\.config\.\w+",
    r"|\.babelrc(?:\.\w+)?|\.browserslistrc|configure(?:\.ac)?|makefile\.am|dockerfile|(?:docker-)?compose[^/]*\.ya?ml|rust-toolchain(?:\.toml)?",
    r"|\.python-version|\.nvmrc|\.node-version|\.ruby-version|\.tool-versions|go\.work|gemfile|gems\.rb|directory\.build\.props|package\.swift)$",
));

/// The side of a configuration file; `None` for other files.
pub(super) fn side_of_config(path: &str) -> Option<ProjectSide> {
    let name = name_of(path);
    let in_cargo_home = || {
        let above = path.strip_suffix(name).unwrap_or_default();
        matches!(name, "config.toml" | "config")
            && (above == ".cargo/" || above.ends_with("/.cargo/"))
    };
    if RUNNERS.is_match(name) || in_cargo_home() {
        return Some(ProjectSide::Test);
    }
    BUILDS.is_match(name).then_some(ProjectSide::Shared)
}

/// Whether the file configures tools or declares types, rather than being a test.
pub(super) fn is_configuration(path: &str) -> bool {
    static SETTINGS: Pattern =
        Pattern::new(r"\.(?:toml|cfg|ini|pyi)$|\.d\.[cm]?ts$|(?:^|/)(?:package|composer)\.json$");
    let has_code = SourceLanguage::from_path(path).is_some() && !path.contains("config");
    SETTINGS.is_match(path) || (side_of_config(path).is_some() && !has_code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn side_of_config_by_name() {
        for (path, side) in [
            ("a/conftest.py", Some(ProjectSide::Test)),
            ("jest.config.ts", Some(ProjectSide::Test)),
            (".eslintrc.cjs", Some(ProjectSide::Test)),
            ("a/.cargo/config.toml", Some(ProjectSide::Test)),
            ("spec/spec_helper.rb", Some(ProjectSide::Test)),
            ("tsconfig.build.json", Some(ProjectSide::Shared)),
            ("rules/common.mk", Some(ProjectSide::Shared)),
            ("Rakefile.rb", Some(ProjectSide::Test)),
            ("config/cflags.txt", Some(ProjectSide::Shared)),
            ("feature_flags.py", None),
            ("Makefile", Some(ProjectSide::Shared)),
            ("vite.config.ts", Some(ProjectSide::Shared)),
            ("config.toml", None),
            ("src/jest.ts", None),
            (".github/workflows/ci.yml", None),
            ("Cargo.lock", None),
        ] {
            assert_eq!(side_of_config(path), side, "{path}");
        }
    }
}

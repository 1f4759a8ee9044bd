//! Signs that a source is a test or a test helper, by language.

use crate::guard::{Pattern, SourceLanguage, language};

impl SourceLanguage {
    /// Determines the language from the file's name; `None` for data, which includes YAML configuration.
    pub(super) fn from_path(path: &str) -> Option<Self> {
        language(path).filter(|language| *language != Self::Yaml)
    }

    /// Whether the source uses a test framework: it contains tests or supports them.
    pub(super) fn uses_test_framework(self, text: &str) -> bool {
        let frameworks = match self {
            Self::Python => &PYTHON_FRAMEWORKS,
            Self::JavaScript => &JAVASCRIPT_FRAMEWORKS,
            Self::Rust => &RUST_FRAMEWORKS,
            Self::Go => &GO_FRAMEWORKS,
            Self::Ruby => &RUBY_FRAMEWORKS,
            Self::Php => &PHP_FRAMEWORKS,
            Self::Curly => &CURLY_FRAMEWORKS,
            Self::C => &C_FRAMEWORKS,
            Self::Elixir => &ELIXIR_FRAMEWORKS,
            Self::Shell | Self::Yaml => return false,
        };
        frameworks.is_match(text)
    }

    /// Whether the source contains assertions, as test helpers do.
    pub(super) fn has_assertions(self, text: &str) -> bool {
        let assertions = match self {
            Self::Python => &PYTHON_ASSERTIONS,
            _ => &ASSERTIONS,
        };
        assertions.is_match(text)
    }

    /// Whether the source contains only values: no function, class or other definition.
    pub(super) fn is_only_data(self, text: &str) -> bool {
        let definitions = match self {
            Self::Python => &PYTHON_DEFINITIONS,
            Self::JavaScript => &JAVASCRIPT_DEFINITIONS,
            Self::Ruby => &RUBY_DEFINITIONS,
            Self::C => &C_DEFINITIONS,
            _ => return false,
        };
        !text.trim().is_empty() && !definitions.is_match(text)
    }
}

static PYTHON_FRAMEWORKS: Pattern = Pattern::new(
    r"(?m)^[ \t]*(?:import|from)[ \t]+(?:pytest|_pytest|unittest|hypothesis|nose2?|doctest|behave|testtools|twisted\.trial|django\.test|rest_framework\.test|syrupy|freezegun|responses|factory)\b",
);
static JAVASCRIPT_FRAMEWORKS: Pattern = Pattern::new(concat!(
    r#"(?m)(?:from|require\(|import\(|import)[ \t]*['"](?:node:test|vitest|@?jest(?:/globals)?|@jest/\S+|mocha|chai|sinon"#,
    r#"|ava|tape?|uvu|expect|supertest|nock|@testing-library/\S+|@playwright/test|cypress|jasmine|@japa/\S+|bun:test)['"/]"#,
    r#"|^[ \t]*(?:describe|it|test|suite|context)(?:\.\w+)*\(\s*['"`]|^[ \t]*(?:before|after)(?:Each|All)\("#,
));
static RUST_FRAMEWORKS: Pattern = Pattern::new(
    r"(?m)^[ \t]*#!\[cfg\(test\)\]|^[ \t]*use[ \t]+(?:proptest|insta|rstest|mockall|assert_cmd|wiremock|test_case|quickcheck)\b",
);
static GO_FRAMEWORKS: Pattern = Pattern::new(
    r#"(?m)^[ \t]*(?:import[ \t]+)?(?:\w+[ \t]+)?"(?:testing(?:/\w+)?|net/http/httptest|github\.com/stretchr/testify/\w+|github\.com/onsi/\w+\S*|gotest\.tools/\S+)""#,
);
static RUBY_FRAMEWORKS: Pattern = Pattern::new(
    r#"(?m)require[ \t]+['"](?:minitest|rspec|test/unit|capybara|webmock)\b|RSpec\.|Minitest::"#,
);
static PHP_FRAMEWORKS: Pattern = Pattern::new(r"PHPUnit\\|Pest\\|Mockery|Codeception\\|Behat\\");
static CURLY_FRAMEWORKS: Pattern = Pattern::new(
    r"(?m)^[ \t]*(?:import|using)[ \t]+(?:static[ \t]+)?(?:org\.junit|junit\.|org\.testng|org\.mockito|org\.assertj|org\.hamcrest|io\.kotest|kotlin\.test|org\.scalatest|munit|spock|NUnit|Xunit|Microsoft\.VisualStudio\.TestTools|XCTest)",
);
static C_FRAMEWORKS: Pattern = Pattern::new(
    r#"(?m)#[ \t]*include[ \t]*[<"](?:check\.h|cmocka\.h|gtest/|gmock/|catch2?[/.]|catch_\w+|doctest|unity(?:_\w+)?\.h|CUnit/|criterion/|boost/test/|munit\.h)"#,
);
static ELIXIR_FRAMEWORKS: Pattern = Pattern::new(r"(?m)use[ \t]+ExUnit|ExUnit\.");

// The word `expected` counts as a name in code, but not in prose: messages of ordinary errors begin with it.
static PYTHON_ASSERTIONS: Pattern = Pattern::new(concat!(
    r"(?m)^[ \t]*assert[ \t(]|AssertionError|\.assert[A-Z]\w+\(",
    r#"|\bexpected["']?[ \t]*(?:[=!<>,):\]\[.]|$)|\bexpected[ \t]+(?:is|in|not|and|or|if|else|for)\b"#,
));
static ASSERTIONS: Pattern = Pattern::new(concat!(
    r"(?m)\b(?:assert\w*|expect\w*|should)[ \t]*[!.(]|\bassert_|AssertionError|\bFAIL(?:ED)?\b",
    r#"|\bexpected["'`]?[ \t]*(?:[=!<>,):;\]\[.&|$]|$)"#,
));

static PYTHON_DEFINITIONS: Pattern =
    Pattern::new(r"(?m)^[ \t]*(?:async[ \t]+)?(?:def|class)\b|\blambda\b");
static JAVASCRIPT_DEFINITIONS: Pattern =
    Pattern::new(r"\bfunction\b|=>|\bclass\b|(?m)^[ \t]*(?:async[ \t]+)?\w+\([^)\n]*\)[ \t]*\{");
static RUBY_DEFINITIONS: Pattern = Pattern::new(r"(?m)^[ \t]*def\b|\blambda\b|->");
static C_DEFINITIONS: Pattern = Pattern::new(r"(?m)\)[ \t\n]*\{|^[ \t]*#[ \t]*define[ \t]+\w+\(");

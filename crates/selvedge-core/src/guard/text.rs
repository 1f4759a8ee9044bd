//! Information from a file's path: its language, whether it is a test, and whether the flags read it.

use super::pattern::Pattern;

/// Languages, grouped by their comments, strings and flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SourceLanguage {
    Python,
    /// JavaScript and TypeScript.
    JavaScript,
    Rust,
    Go,
    Shell,
    Ruby,
    Php,
    Elixir,
    /// Java, Kotlin, Scala, C#, Swift: `//` comments and attributes.
    Curly,
    /// And C++.
    C,
    /// CI and other lists of commands.
    Yaml,
}

/// By the file's ending.
pub(crate) fn language(path: &str) -> Option<SourceLanguage> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    Some(match ending {
        "py" | "pyi" | "pyx" => SourceLanguage::Python,
        "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" | "vue" | "svelte" => {
            SourceLanguage::JavaScript
        }
        "rs" => SourceLanguage::Rust,
        "go" => SourceLanguage::Go,
        "sh" | "bash" | "zsh" | "bats" | "mk" | "just" | "cmake" => SourceLanguage::Shell,
        "rb" | "rake" | "gemspec" => SourceLanguage::Ruby,
        "php" | "phpt" => SourceLanguage::Php,
        "ex" | "exs" => SourceLanguage::Elixir,
        "java" | "kt" | "kts" | "scala" | "cs" | "swift" | "groovy" | "gradle" => {
            SourceLanguage::Curly
        }
        "c" | "h" | "cc" | "cpp" | "cxx" | "hh" | "hpp" => SourceLanguage::C,
        "yml" | "yaml" => SourceLanguage::Yaml,
        _ => match name {
            "Makefile" | "makefile" | "GNUmakefile" | "justfile" | ".justfile" => {
                SourceLanguage::Shell
            }
            "Rakefile" | "Gemfile" => SourceLanguage::Ruby,
            _ => return None,
        },
    })
}

/// The language of a file for the flags; includes fragments that C and C++ sources include.
pub(super) fn flagged_language(path: &str) -> Option<SourceLanguage> {
    // `config.h.in` is a template of a header.
    let path = path.strip_suffix(".in").unwrap_or(path);
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_fragment = matches!(ending, "inc" | "inl" | "ipp" | "tcc" | "def");
    language(path).or(is_fragment.then_some(SourceLanguage::C))
}

static TEST_PATH: Pattern = Pattern::new(concat!(
    r"(?:^|/)(?:test_[^/]*\.py|[^/]*_tests?\.(?:py|go|rb|exs|rs|c|cc|cpp)",
    r"|tests?\.(?:py|rs|[cm]?[jt]sx?)|[^/]*[._-](?:test|spec|cy|e2e)\.[cm]?[jt]sx?",
    r"|[^/]*_spec\.rb|test-[^/]*\.[cm]?js|[^/]*Tests?\.(?:java|kt|php|cs|swift|scala|groovy)",
    r"|[^/]*Spec\.(?:scala|groovy|kt)|[^/]*\.bats)$",
    r"|(?:^|/)(?:tests?|__tests__|spec|specs|e2e)/",
));
/// Folders that contain only tests and their data.
static TEST_FOLDER: Pattern = Pattern::new(
    r"(?:^|/)(?:tests?|__tests__|__fixtures__|testdata|test[-_]data|__snapshots__|__mocks__|cassettes|goldens?)/",
);
static FIXTURE_PATH: Pattern = Pattern::new(concat!(
    r"(?:^|/)(?:fixtures?|__fixtures__|testdata|test[-_]data|snapshots?|__snapshots__|cassettes",
    r"|golden|vendor|node_modules|third_party|\.venv|venv|dist|target|site-packages)/",
    r"|\.min\.js$|\.d\.ts$|_pb2\.py$|\.pb\.go$",
));

/// Names of test helpers; they count only if nothing but tests refers to the file.
pub(crate) static HELPER_NAME: Pattern = Pattern::new(
    r"(?i)(?:^|[/_.-])(?:tests?|testing|specs?|mocks?|fakes?|stubs?|fixtures?|helpers?|factor(?:y|ies)|harness|golden|expected|expectations?|oracles?|cases?|samples?|checks?|checker|verify|verifier|validate|asserts?|assertions?|matchers?|references?|baselines?)(?:[/_.-]|$)",
);

/// Whether the file holds tests, by its name or its folder.
pub(crate) fn is_test_path(path: &str) -> bool {
    TEST_PATH.is_match(path) && language(path) != Some(SourceLanguage::Yaml)
}

/// Whether a file is test data, third-party code or generated. A new one is read all the same, unless it is of tests or
/// installed: nothing else shows that it is what its name says.
pub(super) fn is_fixture(path: &str, is_new: bool) -> bool {
    static INSTALLED: Pattern = Pattern::new(
        r"(?:^|/)(?:vendor|node_modules|third_party|\.venv|venv|site-packages)/|\.d\.ts$",
    );
    let is_of_tests = || TEST_FOLDER.is_match(path);
    FIXTURE_PATH.is_match(path) && (!is_new || INSTALLED.is_match(path) || is_of_tests())
}

/// Whether a file is one of tests. A new source in a folder that only some projects use for tests is not, if its name
/// does not say so.
pub(super) fn is_test_file(path: &str, is_new: bool) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    is_test_path(name)
        || name == "conftest.py"
        || TEST_FOLDER.is_match(path)
        || (!is_new && is_test_path(path))
}

/// Whether the flags may read the file: as a source, or because a source may run its text.
pub fn is_scanned(path: &str) -> bool {
    static BINARY: Pattern = Pattern::new(concat!(
        r"(?i)\.(?:png|jpe?g|gif|webp|ico|bmp|tiff?|psd|pdf|docx?|xlsx?|pptx?|odt|zip|gz|bz2|xz|zst|7z|rar|tar|tgz|whl|jar|war|class|pyc|o|a|so|dylib|dll|exe|wasm",
        r"|woff2?|ttf|otf|eot|mp[34]|m4a|ogg|wav|flac|avi|mov|webm|mkv|sqlite3?|db|npy|npz|parquet|arrow|h5|pt|onnx|bin)$",
    ));
    flagged_language(path).is_some() || !BINARY.is_match(path)
}

//! Tricks that show in one line, in a table.

use super::super::finding::{FindingKind as Kind, Strength};
use super::super::parts::IGNORES_FAILURE;
use super::super::pattern::Pattern;
use super::super::text::Language::{self, Curly, Elixir, Go, JavaScript, Php, Python, Ruby, Rust};
use super::Flag;
use super::change::Changed;

/// Where a rule holds.
#[derive(Clone, Copy, PartialEq)]
enum Where {
    Anywhere,
    Tests,
    /// Not in tests.
    Sources,
    /// Not in tests, nor in a program's entry point, which may well end the process.
    Libraries,
}

/// Which view of the line a rule reads.
#[derive(Clone, Copy)]
enum View {
    Code,
    Text,
    Comments,
}

struct Rule {
    language: Language,
    place: Where,
    view: View,
    kind: Kind,
    strength: Strength,
    pattern: Pattern,
}

const fn rule(
    language: Language,
    place: Where,
    view: View,
    kind: Kind,
    strength: Strength,
    pattern: &'static str,
) -> Rule {
    Rule {
        language,
        place,
        view,
        kind,
        strength,
        pattern: Pattern::new(pattern),
    }
}

use Strength::{Strong, Weak};
use View::{Code, Comments, Text};
use Where::{Anywhere, Libraries, Sources, Tests};

#[rustfmt::skip]
static RULES: [Rule; 49] = [
    // Ends the process as a success before the runner has judged.
    rule(Python, Tests, Code, Kind::EarlyExit, Strong, r"\bos\._exit\b|\bos\.(?:kill|abort)\s*\(|\batexit\.|\bpytest\.exit\s*\("),
    rule(Python, Tests, Code, Kind::EarlyExit, Strong, r"\b(?:sys\.)?exit\s*\(\s*(?:0|None|False)?\s*\)|\braise\s+SystemExit\b(?:\s*\(\s*0?\s*\))?\s*$|\bquit\s*\(\s*\)"),
    rule(Python, Libraries, Code, Kind::EarlyExit, Strong, r"\bos\._exit\s*\(\s*(?:0|os\.EX_OK)\s*\)|\batexit\.register\s*\(.*_exit"),
    rule(Python, Libraries, Code, Kind::EarlyExit, Strong, r"^(?:sys\.)?exit\s*\(\s*0?\s*\)|^raise\s+SystemExit"),
    rule(Python, Libraries, Text, Kind::EarlyExit, Strong, r"\bgetattr\s*\(\s*(?:os|sys)\s*,\s*['\x22_+ ]*(?:_?exit|_?e['\x22])"),
    rule(JavaScript, Tests, Code, Kind::EarlyExit, Strong, r"\bprocess\.(?:exit|reallyExit|abort)\s*\(|\bprocess\.exitCode\s*=\s*0|\bDeno\.exit\s*\("),
    rule(JavaScript, Tests, Text, Kind::EarlyExit, Strong, r"\bprocess\.(?:on|once|prependListener)\s*\(\s*['\x22](?:exit|beforeExit)"),
    rule(JavaScript, Libraries, Code, Kind::EarlyExit, Strong, r"\bprocess\.(?:exit|reallyExit)\s*\(\s*0?\s*\)|\bprocess\.exitCode\s*=\s*0|\bDeno\.exit\s*\(\s*0?\s*\)"),
    rule(Rust, Tests, Code, Kind::EarlyExit, Strong, r"\bprocess::(?:exit\s*\(\s*0|abort)|\b(?:libc|rustix\S*)::_?exit"),
    rule(Rust, Libraries, Code, Kind::EarlyExit, Strong, r"\bprocess::exit\s*\(\s*0\s*\)|\blibc::_?exit\s*\(\s*0"),
    rule(Go, Tests, Code, Kind::EarlyExit, Strong, r"\bos\.Exit\s*\(\s*0\s*\)|\bsyscall\.(?:Exit|Kill)\s*\(|\bruntime\.Goexit\b"),
    rule(Go, Libraries, Code, Kind::EarlyExit, Strong, r"\bos\.Exit\s*\(\s*0\s*\)|\bsyscall\.Exit\s*\(\s*0"),
    rule(Ruby, Tests, Code, Kind::EarlyExit, Strong, r"\bexit!?\s*(?:\(?\s*(?:0|true)\b|$)|\bat_exit\b|\bProcess\.exit"),
    rule(Php, Tests, Code, Kind::EarlyExit, Strong, r"\b(?:exit|die)\s*(?:\(\s*0?\s*\))?\s*;|\bregister_shutdown_function\b"),
    rule(Elixir, Anywhere, Code, Kind::EarlyExit, Strong, r"\bSystem\.(?:halt|stop)\s*\(\s*0?\s*\)"),
    rule(Curly, Tests, Code, Kind::EarlyExit, Strong, r"\bSystem\.exit\s*\(\s*0|\.halt\s*\(\s*0|\bexitProcess\s*\(\s*0|\bEnvironment\.Exit\s*\(\s*0"),

    // Replaces the runner, or what it judges with.
    rule(Python, Anywhere, Code, Kind::RunnerPatched, Strong, r"\b_pytest\.\w+|\bimport\s+_pytest\b|\bpluggy\b|\b(?:unittest\.)?TestCase\.\w+\s*=[^=]|\bunittest\.\w+(?:\.\w+)*\s*=[^=]|\bbuiltins\.\w+\s*=[^=]"),
    rule(Python, Anywhere, Code, Kind::RunnerPatched, Strong, r"(?:^|[^.\w])setattr\s*\(\s*(?:unittest|pytest|_pytest|builtins)\b|\.(?:runtest|pytest_pyfunc_call|makereport)\s*=[^=]|\b(?:sys|os)\.(?:exit|_exit)\s*=[^=]"),
    rule(Python, Anywhere, Text, Kind::RunnerPatched, Strong, r"\bsys\.modules\s*\[\s*['\x22](?:_?pytest|unittest|pluggy)[\w.]*['\x22]\s*\]\s*="),
    rule(Python, Tests, Code, Kind::RunnerPatched, Strong, r"^\s*def\s+(?:assert(?:Equal|True|False|Is|IsNone|In|Raises)|run|defaultTestResult|_callTestMethod)\s*\(\s*self"),
    rule(JavaScript, Tests, Code, Kind::RunnerPatched, Strong, r"^\s*(?:global(?:This)?\.|window\.)?(?:expect|it|test|describe)\s*=[^=>]|\b(?:assert|expect)(?:\.\w+)+\s*=[^=>]|\bObject\.(?:assign|defineProperty)\s*\(\s*(?:expect|assert|globalThis|global|process)\b"),
    rule(JavaScript, Tests, Text, Kind::RunnerPatched, Strong, r"\b(?:jest|vi)\.(?:mock|doMock)\s*\(\s*['\x22](?:@jest|expect|node:assert|assert|chai|vitest)|\bexpect\.addEqualityTesters"),
    rule(JavaScript, Sources, Code, Kind::RunnerPatched, Strong, r"\bglobal(?:This)?\.(?:expect|it|test|describe|assert)\s*=|\bassert(?:\.\w+)+\s*=[^=>]"),
    rule(Rust, Anywhere, Code, Kind::RunnerPatched, Strong, r"\bmacro_rules!\s*(?:assert|assert_eq|assert_ne|panic|debug_assert)\b"),
    rule(Ruby, Anywhere, Code, Kind::RunnerPatched, Strong, r"\bclass\s+RSpec\b|\bmodule\s+(?:RSpec|Minitest)\b|\bRSpec::(?:Core|Expectations|Matchers)\b.*(?:class_eval|prepend|define_method)|^\s*def\s+assert(?:_equal)?\b"),
    rule(Elixir, Anywhere, Code, Kind::RunnerPatched, Strong, r"\bdefmacro\s+assert\b|\bExUnit\.(?:configure|after_suite)\b"),

    // Asks whether a test is running.
    rule(Python, Sources, Text, Kind::TestDetection, Strong, r"PYTEST_(?:CURRENT_TEST|VERSION|XDIST)|['\x22](?:_?pytest|unittest|nose)['\x22]\s+(?:not\s+)?in\s+sys\.modules|\bsys\.modules\.get\s*\(\s*['\x22](?:pytest|unittest)|['\x22](?:pytest|unittest)['\x22]\s+in\s+(?:sys\.argv|__import__)|sys\.argv\[0\].*(?:pytest|unittest)"),
    rule(Python, Sources, Code, Kind::TestDetection, Weak, r"\binspect\.(?:stack|currentframe)\s*\(|\bsys\._getframe\s*\(|\bgc\.get_(?:objects|referrers)\b"),
    rule(JavaScript, Sources, Text, Kind::TestDetection, Strong, r"\b(?:JEST_WORKER_ID|VITEST(?:_\w+)?|NODE_TEST_CONTEXT|MOCHA_\w+)\b|NODE_ENV['\x22\]]*\s*={2,3}\s*['\x22`]test|typeof\s+(?:jest|describe|it|expect|vi)\s*!==?"),
    rule(JavaScript, Sources, Text, Kind::TestDetection, Weak, r"NODE_ENV['\x22\]]*\s*!==?\s*['\x22`]test|import\.meta\.vitest"),
    rule(Rust, Sources, Code, Kind::TestDetection, Strong, r"\bcfg!\s*\(\s*(?:not\s*\(\s*)?test\b|#!?\[cfg\s*\(\s*not\s*\(\s*test\s*\)"),
    rule(Rust, Sources, Text, Kind::TestDetection, Strong, r"\x22(?:NEXTEST\w*|RUST_TEST_\w+|CARGO_TARGET_TMPDIR)\x22"),
    rule(Go, Sources, Text, Kind::TestDetection, Strong, r"\btesting\.Testing\s*\(|\bflag\.Lookup\s*\(\s*\x22test\.|os\.Args\[0\].*\.test"),
    rule(Ruby, Sources, Code, Kind::TestDetection, Strong, r"\bdefined\?\s*\(?\s*(?:RSpec|Minitest|Test::Unit)"),
    rule(Php, Sources, Text, Kind::TestDetection, Strong, r"PHPUNIT_|\bdefined\s*\(\s*['\x22]PHPUNIT"),
    rule(Elixir, Sources, Code, Kind::TestDetection, Weak, r"\bMix\.env\s*\(?\)?\s*==\s*:test|\bProcess\.whereis\s*\(\s*ExUnit"),
    rule(Curly, Sources, Text, Kind::TestDetection, Strong, r"getStackTrace\(\).*(?:junit|Test)|Class\.forName\s*\(\s*\x22org\.(?:junit|testng)"),

    // Holds whatever the objects are.
    rule(Python, Anywhere, Code, Kind::ForgedEquality, Strong, r"\b__eq__\s*=\s*lambda\b.*:\s*True\b|\bdef\s+__eq__\s*\(.*\).*:\s*return\s+True\b"),
    rule(JavaScript, Anywhere, Code, Kind::ForgedEquality, Strong, r"\basymmetricMatch\s*(?:\(|:|=).*(?:return\s+|=>\s*)true"),
    rule(Rust, Anywhere, Code, Kind::ForgedEquality, Strong, r"\bfn\s+eq\s*\(.*\{\s*(?:return\s+)?true\b"),
    rule(Ruby, Anywhere, Code, Kind::ForgedEquality, Strong, r"\bdef\s+(?:==|eql\?|===)\s*\(?\w*\)?\s*(?:=|;)?\s*true\b"),
    rule(Curly, Anywhere, Code, Kind::ForgedEquality, Strong, r"\b(?:equals|Equals)\s*\(.*\{?\s*(?:return\s+|=\s*)true\b"),

    // Tells a tool to look away.
    rule(Python, Anywhere, Comments, Kind::Suppression, Weak, r"#\s*(?:noqa|type:\s*ignore|pylint:\s*disable|pragma:\s*no cover|nosec|mypy:|pyright:|ruff:|fmt:\s*(?:off|skip))"),
    rule(JavaScript, Anywhere, Comments, Kind::Suppression, Weak, r"eslint-disable|@ts-(?:ignore|nocheck|expect-error)|biome-ignore|prettier-ignore|(?:istanbul|c8|v8) ignore|oxlint-disable"),
    rule(Rust, Anywhere, Code, Kind::Suppression, Weak, r"#!?\[(?:allow|expect)\s*\(|#!?\[(?:rustfmt::skip|coverage\s*\(\s*off)"),
    rule(Go, Anywhere, Comments, Kind::Suppression, Weak, r"//\s*(?:nolint|#nosec|lint:ignore)"),
    rule(Ruby, Anywhere, Comments, Kind::Suppression, Weak, r"rubocop:disable|:nocov:|standard:disable"),
    rule(Php, Anywhere, Comments, Kind::Suppression, Weak, r"phpcs:(?:ignore|disable)|@phpstan-ignore|@psalm-suppress|@codeCoverageIgnore"),
    rule(Curly, Anywhere, Text, Kind::Suppression, Weak, r"@SuppressWarnings|@Suppress\b|#pragma\s+warning\s+disable|NOSONAR"),
];

/// Programs that may end their process by themselves.
static ENTRY: Pattern = Pattern::new(
    r"(?i)(?:^|/)(?:[\w-]*main|[\w-]*cli|__main__|index|server|app|manage|setup|entry\w*)\.\w+$|(?:^|/)(?:bin|cmd|cli|commands?|scripts?|tools|xtask)/|(?:^|/)build\.rs$",
);
/// A command that checks something.
static CHECKS: Pattern = Pattern::new(
    r"(?i)\b(?:\w*tests?|pytest|jest|vitest|mocha|cargo|go|npm|npx|yarn|pnpm|bun|make|tox|nox|mvn|gradlew?|rspec|phpunit|mix|eslint|ruff|mypy|flake8|tsc|clippy|\w*check\w*|verify|lint\w*|diff|cmp|assert\w*)\b|\x22?\$[@*{]",
);
/// A script that checks, by its path.
static CHECK_SCRIPT: Pattern = Pattern::new(r"(?i)test|check|verif|lint|\bci\b|valid");

/// What the single lines of a file show.
pub(super) fn flags(file: &Changed<'_>, added: &[usize]) -> Vec<Flag> {
    if matches!(file.language, Language::Shell | Language::Yaml) {
        return commands(file, added);
    }
    let is_entry = ENTRY.is_match(file.path);
    let mut flags = Vec::new();
    for rule in RULES.iter().filter(|rule| rule.language == file.language) {
        for &line in added {
            let is_test = file.is_test_line(line);
            let holds = match rule.place {
                Anywhere => true,
                Tests => is_test,
                Sources => !is_test,
                Libraries => !is_test && !is_entry,
            };
            let view = match rule.view {
                Code => &file.new.code,
                Text => &file.new.text,
                Comments => &file.new.comments,
            };
            let matches = view
                .get(line)
                .is_some_and(|line| rule.pattern.is_match(line));
            if holds && matches && !is_typing_import(file, line) {
                flags.push(Flag::new(
                    Some(line),
                    rule.kind,
                    rule.strength,
                    what(rule.kind),
                ));
            }
        }
    }
    flags
}

/// `from _pytest.monkeypatch import MonkeyPatch` only names a type.
fn is_typing_import(file: &Changed<'_>, line: usize) -> bool {
    static IMPORT: Pattern = Pattern::new(
        r"^\s*from\s+_pytest\.(?:monkeypatch|logging|capture|fixtures|tmpdir|config|legacypath|pytester|recwarn|mark)\b.*\bimport\b|^\s*from\s+_pytest\.config\.argparsing\s+import",
    );
    file.new
        .code
        .get(line)
        .is_some_and(|line| IMPORT.is_match(line))
}

fn what(kind: Kind) -> &'static str {
    match kind {
        Kind::EarlyExit => "ends the process as a success before the checks have judged",
        Kind::RunnerPatched => "replaces a part of the test runner: what it says is no evidence",
        Kind::TestDetection => "behaves differently when a test is running: the tests show nothing",
        Kind::ForgedEquality => "an equality that is always true makes assertions empty",
        _ => "tells a linter or a type checker to look away",
    }
}

/// Shell and YAML: failures that no longer count.
fn commands(file: &Changed<'_>, added: &[usize]) -> Vec<Flag> {
    static ENDS_WELL: Pattern =
        Pattern::new(r#"^\s*exit\s+0\s*$|\btrap\s+(?:['"]\s*exit\s+0|.*\bexit\s+0)|\bset\s+\+e\b"#);
    let is_check = CHECK_SCRIPT.is_match(file.path);
    let flag = |&line: &usize| {
        let code = file.new.code.get(line)?;
        let ends = ENDS_WELL.is_match(code);
        if !ends && !IGNORES_FAILURE.is_match(code) {
            return None;
        }
        let grave = if ends {
            is_check
        } else {
            CHECKS.is_match(code)
        };
        let strength = if grave { Strong } else { Weak };
        let what = "a command's failure no longer counts";
        Some(Flag::new(Some(line), Kind::FailureIgnored, strength, what))
    };
    added.iter().filter_map(flag).collect()
}

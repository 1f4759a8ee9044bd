//! Markers by which a test is skipped, expected to fail, or runs alone. On a test that was there
//! before they are a strong flag; a new test may well be for one platform only.

use super::super::finding::{FindingKind as Kind, Strength};
use super::super::pattern::Pattern;
use super::super::text::Language;
use super::Flag;
use super::change::Changed;

static PYTHON: Pattern = Pattern::new(concat!(
    r"@(?:pytest\.mark\.(?:skip|skipif|xfail)|unittest\.(?:skip|skipIf|skipUnless|expectedFailure)|skip|expectedFailure)\b",
    r"|\bpytest\.(?:skip|xfail|importorskip)\s*\(|\.skipTest\s*\(|\braise\s+(?:unittest\.)?SkipTest\b",
    r"|\bpytestmark\s*=.*(?:skip|xfail)|\b__test__\s*=\s*False|\bmarks\s*=\s*\[?\s*pytest\.mark\.(?:skip|xfail)",
    r"|\bpytest\.mark\.(?:skip|xfail)\b",
));
static JAVASCRIPT: Pattern = Pattern::new(concat!(
    r"\b(?:it|test|describe|context|suite|specify)(?:\.\w+)*\.(?:skip|only|todo|failing|fails|skipIf|runIf|fixme)\b",
    r"|(?:^|[\s;])(?:xit|xdescribe|xtest|xcontext|fit|fdescribe|ftest)\s*\(",
    r"|\b(?:this|t|ctx|context)\.(?:skip|todo)\s*\(|\b(?:skip|todo|only)\s*:\s*(?:true|['\x22])",
    r"|\bpending\s*\(\s*\)",
));
static RUST: Pattern = Pattern::new(
    r"#\[(?:ignore\b|should_panic\b|cfg\s*\(\s*(?:any\s*\(\s*\)|not\s*\(\s*test\s*\)|false|FALSE|never|feature\b)|cfg_attr\s*\(.*\bignore\b)",
);
static GO: Pattern = Pattern::new(r"\b[a-z]\w*\.(?:Skip|Skipf|SkipNow)\s*\(|\btesting\.Short\s*\(");
static GO_BUILD: Pattern = Pattern::new(r"^//(?:go:build|\s*\+build)\s+\S");
static RUBY: Pattern = Pattern::new(
    r"^\s*(?:skip|pending)\b|^\s*(?:xit|xdescribe|xcontext|xspecify|fit|fdescribe|fcontext)\b|,\s*(?:skip|pending|focus)\s*:|,\s*:(?:skip|pending|focus)\b",
);
static PHP: Pattern = Pattern::new(
    r"\bmarkTest(?:Skipped|Incomplete)\s*\(|#\[(?:RequiresOperatingSystem|DoesNotPerformAssertions)",
);
static ELIXIR: Pattern =
    Pattern::new(r"^\s*@(?:module|describe)?tag\s+:?(?:skip|pending|exclude)\b");
static CURLY: Pattern = Pattern::new(
    r"@(?:Disabled|Ignore|DisabledIf\w*|EnabledIf\w*|DisabledOn\w*)\b|\[(?:Ignore|Explicit)\b|\bSkip\s*=|\bassumeTrue\s*\(\s*false|\bAssume\.\w+\(",
);
static SHELL: Pattern = Pattern::new(r"^\s*skip\b");

fn pattern(language: Language) -> Option<&'static Pattern> {
    Some(match language {
        Language::Python => &PYTHON,
        Language::JavaScript => &JAVASCRIPT,
        Language::Rust => &RUST,
        Language::Go => &GO,
        Language::Ruby => &RUBY,
        Language::Php => &PHP,
        Language::Elixir => &ELIXIR,
        Language::Curly => &CURLY,
        Language::Shell => &SHELL,
        Language::Yaml => return None,
    })
}

/// It takes the other tests of its file, or of the run, with it.
static ALONE: Pattern =
    Pattern::new(r"\.only\b|\bonly\s*:|\b(?:fit|fdescribe|ftest|fcontext)\s*\(|\bfocus\b");

/// A test that cannot hold on some platforms; whether it runs on this one, the evidence shows.
static PLATFORM: Pattern = Pattern::new(
    r"(?i)\b(?:skip_?if|skip_?unless|run_?if|cfg_attr|(?:Dis|En)abledOn\w*)\b.*\b(?:\w*platform\w*|win(?:dows|32)?|macos|darwin|linux|os\.name|version_info|target_os|pypy)\b",
);

pub(super) fn flags(file: &Changed<'_>, added: &[usize], asked_for: bool) -> Vec<Flag> {
    let Some(pattern) = pattern(file.language) else {
        return Vec::new();
    };
    let lost = file
        .old_tests
        .names()
        .any(|name| file.new_tests.named(name).is_none());
    let marked = |&&line: &&usize| {
        let has = |view: &[String], pattern: &Pattern| {
            view.get(line).is_some_and(|line| pattern.is_match(line))
        };
        let is_marker = has(&file.new.code, pattern)
            || (file.language == Language::Ruby && has(&file.new.text, pattern));
        let is_build_tag =
            file.is_test && file.language == Language::Go && has(&file.new.comments, &GO_BUILD);
        file.is_test_line(line) && (is_marker || is_build_tag)
    };
    let flag = |&line: &usize| {
        let code = file.new.code.get(line).map_or("", String::as_str);
        let alone = ALONE.is_match(code);
        let explained = asked_for
            || file
                .new
                .text
                .get(line)
                .is_some_and(|line| PLATFORM.is_match(line));
        let is_old = || lost || is_about_an_old_test(file, line, code);
        let strong = alone || (!explained && file.existed && is_old());
        let (strength, what) = match (strong, alone) {
            (_, true) => (
                Strength::Strong,
                "one test runs alone: the others are left out",
            ),
            (true, _) => (
                Strength::Strong,
                "a test that ran before is skipped or expected to fail: it shows nothing now",
            ),
            (false, _) => (Strength::Weak, "a test is skipped or expected to fail"),
        };
        Flag::new(Some(line), Kind::SkipMarker, strength, what)
    };
    added.iter().filter(marked).map(flag).collect()
}

/// Whether the test that a marker is about was there before; a marker on a whole file is about all
/// of its tests.
fn is_about_an_old_test(file: &Changed<'_>, line: usize, code: &str) -> bool {
    let stands_above = code.trim_start().starts_with(['@', '#', '[']);
    let unit = if stands_above {
        file.new_tests.after(line)
    } else {
        file.new_tests.around(line)
    };
    unit.is_none_or(|unit| file.old_tests.named(&unit.name).is_some())
}

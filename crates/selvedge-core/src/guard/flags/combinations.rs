//! Tricks that take more than one line: code that inspects its callers is legitimate, and so is a text about tests, but
//! together they detect whether a test is running.

use super::super::pattern::Pattern;
use super::super::text::SourceLanguage::{self, Curly, Go, JavaScript, Php, Python, Ruby, Rust};
use super::Flag;
use super::change::ChangedLines;
use super::rules::is_entry;
use crate::model::{FindingKind, FindingSeverity};

/// Maximum number of lines between the two patterns.
const MAX_DISTANCE: usize = 8;

/// Two patterns that are only significant near each other.
struct Combination {
    language: SourceLanguage,
    kind: FindingKind,
    /// In the code; this line is flagged.
    code: Pattern,
    /// In the code or its strings.
    text: Pattern,
    /// Whether the text may be anywhere in the file, including unchanged lines.
    is_anywhere: bool,
    /// Whether it is usual in a program, apart from libraries.
    is_usual_in_programs: bool,
    what: &'static str,
}

const fn detection(
    language: SourceLanguage,
    code: &'static str,
    text: &'static str,
) -> Combination {
    Combination {
        language,
        kind: FindingKind::TestDetection,
        code: Pattern::new(code),
        text: Pattern::new(text),
        is_anywhere: false,
        is_usual_in_programs: false,
        what: "compares its caller or the running program with names of tests",
    }
}

/// A string with the word `test` or `spec`; `latest` does not match.
const QUOTED_TEST: &str = concat!(
    r"['\x22`](?:(?:[^'\x22`]*[^A-Za-z'\x22`])?(?:[Tt]ests?|[Ss]pecs?)|[^'\x22`]*[a-z](?:Tests?|Specs?))",
    r"(?:[^a-z'\x22`][^'\x22`]*)?['\x22`]|\\\.(?:test|spec)\b",
);

const STARTS_ITSELF: &str = "starts its own program again or another one in its place, so the results of the tests may be those of another process";

static COMBINATIONS: [Combination; 32] = [
    Combination {
        language: JavaScript,
        kind: FindingKind::TestDetection,
        code: Pattern::new(
            r"\bWebAssembly\.(?:Module|compile|instantiate)\b|\bvm\.\w+\s*\(|\brunIn\w*Context\s*\(",
        ),
        text: Pattern::new(r"['\x22`]base64['\x22`]|\bfromBase64\b|\batob\s*\("),
        is_anywhere: true,
        is_usual_in_programs: false,
        what: "runs code that is packed, so no reader sees what it does",
    },
    Combination {
        language: Python,
        kind: FindingKind::RunnerPatched,
        code: Pattern::new(r"\bdef\s+__set_name__\s*\("),
        text: Pattern::new(r"\bsetattr\s*\(\s*\w+\s*,\s*\w+\s*,"),
        is_anywhere: false,
        is_usual_in_programs: false,
        what: "replaces members of the class that uses it, which may be one of tests",
    },
    detection(
        Python,
        r"\binspect\.(?:stack|currentframe|getouterframes)\s*\(|\bsys\._getframe\s*\(|\btraceback\.(?:extract|format|walk)_stack\s*\(",
        QUOTED_TEST,
    ),
    detection(
        JavaScript,
        r"\bError\s*\([^)]*\)\s*\)?\.stack\b|\bcaptureStackTrace\b|\bmodule\.parent\b|\brequire\.main\??\.|\bprocess\.argv\[1\]",
        QUOTED_TEST,
    ),
    detection(
        Ruby,
        r"\bcaller(?:_locations)?\b|\bThread\.current\.backtrace",
        QUOTED_TEST,
    ),
    detection(
        Php,
        r"\bdebug_backtrace\s*\(|\bgetTrace(?:AsString)?\s*\(|\bget_included_files\s*\(|\bget_declared_classes\s*\(",
        QUOTED_TEST,
    ),
    detection(
        Go,
        r"\bruntime\.(?:Caller|Callers|CallersFrames|Stack)\s*\(|\bdebug\.Stack\s*\(",
        r"\x22[^\x22]*[Tt]est[^\x22]*\x22",
    ),
    detection(
        Curly,
        r"\bgetStackTrace\s*\(|\bStackWalker\b|\bStackTrace\s*\(",
        r"\x22[^\x22]*(?:[Tt]est|junit)[^\x22]*\x22",
    ),
    detection(
        Rust,
        r"\bthread::current\s*\(|\bcurrent_exe\s*\(",
        r"\x22::\x22|\x22[^\x22]*(?:test|deps)[^\x22]*\x22",
    ),
    detection(
        Rust,
        r"\bBacktrace::(?:force_)?capture\b",
        r"\x22[^\x22]*test[^\x22]*\x22",
    ),
    detection(
        Rust,
        r"\benv::args(?:_os)?\s*\(",
        r"\x22[^\x22]*(?:deps/|deps\x22|--test-threads|--nocapture|libtest)",
    ),
    detection(
        Rust,
        r"\benv::var(?:_os)?\s*\(",
        r"\x22[^\x22]*/deps\b[^\x22]*\x22|\x22[^\x22]*target/(?:debug|release)\b[^\x22]*\x22",
    ),
    detection(
        Go,
        r"\bos\.Executable\s*\(|\bdebug\.ReadBuildInfo\s*\(",
        r"\x22[^\x22]*[Tt]est[^\x22]*\x22",
    ),
    detection(
        SourceLanguage::C,
        r"\bprogram_invocation(?:_short)?_name\b|\b__progname\b|\bgetprogname\s*\(|\breadlink\s*\(",
        r"\x22(?:[^\x22]*[^A-Za-z\x22])?[Tt]est[^\x22]*\x22",
    ),
    // Classes and functions of tests, by their names.
    detection(
        Python,
        r"\.__(?:module|qualname|name)__\b|\bco_(?:filename|name|qualname)\b",
        QUOTED_TEST,
    ),
    detection(Python, r"\.__qualname__\b", r"['\x22]<locals>['\x22]"),
    // Installed, or run from its sources.
    Combination {
        language: Python,
        kind: FindingKind::TestDetection,
        code: Pattern::new(r"\b__file__\b"),
        text: Pattern::new(r"['\x22][^'\x22]*(?:site|dist)-packages"),
        is_anywhere: false,
        is_usual_in_programs: false,
        what: "reaches installed packages from its own path, so it can differ between tests and users, or change them",
    },
    detection(JavaScript, r"\.constructor\.name\b", QUOTED_TEST),
    detection(
        Ruby,
        r"\.class\.(?:name|to_s|inspect)\b|\bmodule_parent\b",
        QUOTED_TEST,
    ),
    detection(Php, r"\bget_class\s*\(|\$\w+::class\b", QUOTED_TEST),
    detection(
        Go,
        r"\breflect\.TypeOf\s*\(|\.PkgPath\s*\(",
        r"\x22[^\x22]*[Tt]est[^\x22]*\x22",
    ),
    detection(
        Curly,
        r"\bgetClass\s*\(\s*\)\s*\.\s*get\w*Name\b|\bget(?:Package|EnclosingClass)\s*\(|::class\.\w+Name\b",
        r"\x22[^\x22]*(?:[Tt]est|junit)[^\x22]*\x22",
    ),
    detection(
        Rust,
        r"\btype_name(?:_of_val)?\b",
        r"\x22[^\x22]*test[^\x22]*\x22",
    ),
    Combination {
        language: JavaScript,
        kind: FindingKind::RunnerPatched,
        code: Pattern::new(
            r"\.(?:equal|strictEqual|deepEqual|deepStrictEqual|ok|notEqual|notStrictEqual|throws|rejects|match|fail)\s*=[^=>]",
        ),
        text: Pattern::new(r"['\x22`](?:node:)?assert(?:/strict)?['\x22`]|['\x22`]chai['\x22`]"),
        is_anywhere: true,
        is_usual_in_programs: false,
        what: "replaces a part of the assertion library, so passing tests are not evidence",
    },
    Combination {
        language: SourceLanguage::C,
        kind: FindingKind::EarlyExit,
        code: Pattern::new(r"__attribute__\s*\(\(.*\b(?:constructor|destructor)\b"),
        text: Pattern::new(r"\b(?:_?exit|_Exit|quick_exit)\s*\("),
        is_anywhere: false,
        is_usual_in_programs: false,
        what: "ends the process before the checks have finished",
    },
    Combination {
        language: SourceLanguage::C,
        kind: FindingKind::EarlyExit,
        code: Pattern::new(r"\b(?:on_exit|atexit|at_quick_exit)\s*\("),
        text: Pattern::new(r"\b(?:_exit|_Exit|quick_exit)\s*\("),
        is_anywhere: true,
        is_usual_in_programs: false,
        what: "ends the process before the checks have finished",
    },
    Combination {
        language: SourceLanguage::C,
        kind: FindingKind::EarlyExit,
        code: Pattern::new(r"\b(?:signal|sigaction)\s*\(\s*SIGABRT\b"),
        text: Pattern::new(
            r"\b(?:_exit|_Exit|quick_exit)\s*\(\s*(?:[^1-9E)\s]|EXIT_SUCCESS)|\b(?:sig)?longjmp\s*\(",
        ),
        is_anywhere: true,
        is_usual_in_programs: false,
        what: "ends the process with success when an assertion fails",
    },
    Combination {
        language: JavaScript,
        kind: FindingKind::EarlyExit,
        code: Pattern::new(
            r"\bprocess\.(?:exit|reallyExit)\s*\(\s*0?\s*\)|\bexitCode\s*=\s*(?:0|undefined|null)\b",
        ),
        text: Pattern::new(
            r"\bprocess\s*\.\s*(?:on|once|addListener|prependListener)\s*\(\s*['\x22`](?:exit|beforeExit)['\x22`]",
        ),
        is_anywhere: false,
        is_usual_in_programs: false,
        what: "replaces the exit status of the checks",
    },
    Combination {
        language: Go,
        kind: FindingKind::RunnerPatched,
        code: Pattern::new(r"\bexec\.Command(?:Context)?\s*\(|\b(?:StartProcess|ForkExec)\s*\("),
        text: Pattern::new(r"\bos\.(?:Args\b|Executable\s*\()|/proc/self/"),
        is_anywhere: true,
        is_usual_in_programs: true,
        what: STARTS_ITSELF,
    },
    Combination {
        language: Rust,
        kind: FindingKind::RunnerPatched,
        code: Pattern::new(r"\bCommand::new\s*\("),
        text: Pattern::new(r"\bcurrent_exe\s*\(|\benv::args(?:_os)?\s*\(|/proc/self/"),
        is_anywhere: false,
        is_usual_in_programs: true,
        what: STARTS_ITSELF,
    },
    Combination {
        language: Rust,
        kind: FindingKind::RunnerPatched,
        code: Pattern::new(r"\.exec\s*\(\s*\)"),
        text: Pattern::new(r"\bCommandExt\b"),
        is_anywhere: true,
        is_usual_in_programs: true,
        what: STARTS_ITSELF,
    },
    Combination {
        language: SourceLanguage::C,
        kind: FindingKind::EarlyExit,
        code: Pattern::new(r"\b(?:_exit|_Exit|quick_exit)\s*\(\s*[^1-9E)\s-]"),
        text: Pattern::new(r"\bwait(?:pid|id|3|4)?\s*\("),
        is_anywhere: true,
        is_usual_in_programs: true,
        what: STARTS_ITSELF,
    },
];

pub(super) fn flags(file: &ChangedLines<'_>, added: &[usize]) -> Vec<Flag> {
    static MAIN: Pattern =
        Pattern::new(r"^package\s+main\b|^\s*(?:async\s+)?fn\s+main\s*\(|\bint\s+main\s*\(");
    let is_program = is_entry(file) || file.new.code.iter().any(|line| MAIN.is_match(line));
    let mut flags = Vec::new();
    let own = COMBINATIONS
        .iter()
        .filter(|it| it.language == file.language);
    for combination in own {
        let holds_text = |line: &usize| {
            let text = file.new.text.get(*line);
            text.is_some_and(|text| combination.text.is_match(text))
        };
        let is_everywhere =
            combination.is_anywhere && (0..file.new.text.len()).any(|line| holds_text(&line));
        let texts: Vec<usize> = added.iter().copied().filter(holds_text).collect();
        let is_flagged = |line: &&usize| {
            let code = file.new.code.get(**line).map_or("", String::as_str);
            let is_near = || {
                texts
                    .iter()
                    .any(|text| text.abs_diff(**line) <= MAX_DISTANCE)
            };
            !file.is_test_line(**line)
                && combination.code.is_match(code)
                && (is_everywhere || is_near())
        };
        let is_usual = combination.is_usual_in_programs && is_program;
        let found = added.iter().filter(|_| !is_usual).filter(is_flagged);
        flags.extend(found.map(|line| {
            Flag::new(
                Some(*line),
                combination.kind,
                FindingSeverity::Strong,
                combination.what,
            )
        }));
    }
    flags
}

//! The tests of a file: where each begins, what it is called, how much it asserts.

use std::collections::HashMap;

use super::super::mask::Views;
use super::super::pattern::Pattern;
use super::super::text::Language;

/// One test (or group of tests), from its header to the next.
#[derive(Debug)]
pub(super) struct Unit {
    pub(super) name: String,
    /// Index of its header's line.
    pub(super) line: usize,
    /// Index of the line after its last.
    pub(super) end: usize,
    /// Indices of the lines that assert.
    pub(super) assertions: Vec<usize>,
}

/// The tests of a file, in their order.
#[derive(Debug, Default)]
pub(super) struct Units {
    all: Vec<Unit>,
    by_name: HashMap<String, usize>,
}

impl Units {
    pub(super) fn all(&self) -> &[Unit] {
        &self.all
    }

    /// The first of that name.
    pub(super) fn named(&self, name: &str) -> Option<&Unit> {
        self.all.get(*self.by_name.get(name)?)
    }

    /// The test that a line stands in.
    pub(super) fn around(&self, line: usize) -> Option<&Unit> {
        let begun = self.all.partition_point(|unit| unit.line <= line);
        self.all.get(begun.checked_sub(1)?)
    }

    /// The test whose header follows a line closely: what a marker above it is about.
    pub(super) fn after(&self, line: usize) -> Option<&Unit> {
        const MARKERS: usize = 12;
        let next = self.all.partition_point(|unit| unit.line < line);
        self.all
            .get(next)
            .filter(|unit| unit.line - line <= MARKERS)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|unit| unit.name.as_str())
    }

    fn begin(&mut self, name: &str, line: usize, end: usize) {
        if let Some(last) = self.all.last_mut() {
            last.end = line;
        }
        self.by_name
            .entry(name.to_owned())
            .or_insert(self.all.len());
        self.all.push(Unit {
            name: name.to_owned(),
            line,
            end,
            assertions: Vec::new(),
        });
    }
}

static PYTHON: Pattern =
    Pattern::new(r"^\s*(?:async\s+)?def\s+(test\w*)|^\s*class\s+(Test\w*|\w+Tests?(?:Case)?)\b");
static JAVASCRIPT: Pattern = Pattern::new(
    r#"(?:^|[\s;.(])(?:x|f)?(?:it|test|describe|context|suite|specify)(?:\.\w+(?:\([^)]*\))?)*\s*\(\s*['"`]([^'"`]*)"#,
);
static RUST: Pattern = Pattern::new(r"\bfn\s+(\w+)");
static RUST_TEST: Pattern = Pattern::new(r"#\[(?:[\w:]*\b)?(?:test|rstest|test_case|quickcheck)\b");
static GO: Pattern =
    Pattern::new(r"^func\s+((?:Test|Fuzz|Example)\w*)|\bt\.Run\(\s*[\x22`]([^\x22`]*)");
static RUBY: Pattern = Pattern::new(
    r#"^\s*(?:RSpec\.)?(?:x|f)?(?:it|describe|context|specify|test|scenario|feature)\s*\(?\s*['"]([^'"]*)|^\s*def\s+(test_\w+)"#,
);
static PHP: Pattern = Pattern::new(r"function\s+(test\w*)");
static ELIXIR: Pattern = Pattern::new(r#"^\s*(?:test|describe|property)\s+"([^"]*)"#);
static CURLY: Pattern =
    Pattern::new(r"(?:\bvoid|\bfun|\bfunc|\bTask|\bdef)\s+`?(\w[\w ]*?)`?\s*\(");
static BATS: Pattern =
    Pattern::new(r#"^\s*@test\s+['"]([^'"]*)|^\s*(?:function\s+)?(test_?\w+)\s*\(\)"#);

fn header(language: Language) -> Option<&'static Pattern> {
    Some(match language {
        Language::Python => &PYTHON,
        Language::JavaScript => &JAVASCRIPT,
        Language::Rust => &RUST,
        Language::Go => &GO,
        Language::Ruby => &RUBY,
        Language::Php => &PHP,
        Language::Elixir => &ELIXIR,
        Language::Curly => &CURLY,
        Language::Shell => &BATS,
        Language::Yaml => return None,
    })
}

static ASSERTS_PYTHON: Pattern = Pattern::new(
    r"^\s*assert\b|\bself\.(?:assert|fail)\w*\s*\(|\bpytest\.(?:raises|warns|fail)\b|\.assert_\w+\(|\bnp\.testing\.",
);
static ASSERTS_JAVASCRIPT: Pattern = Pattern::new(
    r"\bexpect(?:TypeOf)?\s*[(.]|\bassert\w*(?:\.\w+)*\s*\(|\.should\b|\bt\.(?:is|not|deepEqual|true|false|equal|same|ok|throws|assert)\b",
);
static ASSERTS_RUST: Pattern = Pattern::new(
    r"\b(?:debug_)?(?:prop_)?assert\w*!|\bpanic!|\bunwrap_err\(|\bexpect_err\(|#\[should_panic",
);
static ASSERTS_GO: Pattern =
    Pattern::new(r"\bt\.(?:Error|Fatal|Fail)\w*\(|\b(?:assert|require|is|qt)\.\w+\(");
static ASSERTS_OTHERS: Pattern = Pattern::new(
    r"\bexpect[\s({]|\b[aA]ssert\w*[\s(.!]|\brefute\b|(?:->|::)assert\w+\(|\.should\b|\bshould\w*\s|\bfail\s*\(|^\s*\[\[?\s",
);

/// What asserts, in code.
pub(super) fn asserts(language: Language) -> &'static Pattern {
    match language {
        Language::Python => &ASSERTS_PYTHON,
        Language::JavaScript => &ASSERTS_JAVASCRIPT,
        Language::Rust => &ASSERTS_RUST,
        Language::Go => &ASSERTS_GO,
        _ => &ASSERTS_OTHERS,
    }
}

/// The tests from line `from` on; none where there is no such line.
pub(super) fn of(language: Language, views: &Views, from: Option<usize>) -> Units {
    let mut units = Units::default();
    let (Some(from), Some(header)) = (from, header(language)) else {
        return units;
    };
    let mut is_marked = false;
    for (index, (text, code)) in views.text.iter().zip(&views.code).enumerate().skip(from) {
        is_marked |= RUST_TEST.is_match(code);
        if let Some(name) = header.capture(text).filter(|_| is_header(code, text)) {
            // Only `#[test]` makes a function of Rust a test.
            if language != Language::Rust || is_marked {
                units.begin(name, index, views.text.len());
            }
            is_marked = false;
        }
        if asserts(language).is_match(code)
            && let Some(unit) = units.all.last_mut()
        {
            unit.assertions.push(index);
        }
    }
    units
}

/// Code, not a string that only looks like it: what begins the header is not masked.
fn is_header(code: &str, text: &str) -> bool {
    let begins = |line: &str| line.trim_start().chars().take(2).collect::<String>();
    begins(code) == begins(text)
}

//! Places in stack frames, and which of them are the user's own code.

use std::sync::LazyLock;

use super::block::BlockStep;
use crate::findings::FailureBuilder;
use crate::pattern::{Groups, LinePattern};
use aho_corasick::{AhoCorasick, AhoCorasickKind};

/// A file and a line, and a column if it is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CodeLocation<'a> {
    pub(super) file: &'a str,
    pub(super) line: Option<u32>,
    pub(super) column: Option<u32>,
}

impl<'a> CodeLocation<'a> {
    /// The groups `file`, `line` and `column`.
    pub(super) fn captured(found: &Groups<'a>) -> Option<Self> {
        Some(Self {
            file: found.get("file")?,
            line: found.number("line"),
            column: found.number("column"),
        })
    }
}

static PYTHON_FRAME: LinePattern =
    LinePattern::new(r#"^\s*(?:E\s+)?File "(?P<file>[^"]+)", line (?P<line>\d+)"#);
static COLON_FRAME: LinePattern = LinePattern::new(
    r"(?:^|[\s(@])(?:file://)?(?P<file>(?:[A-Za-z]:)?[^\s():]+\.[A-Za-z]+):(?P<line>\d+)(?::(?P<column>\d+))?(?:\)|:in [`'].*)?$",
);

/// `File "a.py", line 3, in f`
pub(super) fn parse_python_frame(text: &str) -> Option<CodeLocation<'_>> {
    let white = [' ', '\t'];
    let body = text.trim_start_matches(white);
    let raised = body
        .strip_prefix('E')
        .map(|rest| rest.trim_start_matches(white));
    let candidate = raised.unwrap_or(body).starts_with("File \"");
    let found = candidate.then(|| PYTHON_FRAME.captures(text)).flatten()?;
    CodeLocation::captured(&found)
}

/// `at f (a/b.js:3:7)`, `❯ f a/b.ts:3:7`, `# ./a_spec.rb:3`, `at a.B.c(B.java:3)`
pub(super) fn parse_colon_frame(text: &str) -> Option<CodeLocation<'_>> {
    let found = COLON_FRAME.captures(text)?;
    CodeLocation::captured(&found)
}

/// `--> src/a.rs:3:7`, and `:::` for a related place.
pub(super) fn parse_arrow(body: &str) -> Option<CodeLocation<'_>> {
    let place = body
        .strip_prefix("--> ")
        .or_else(|| body.strip_prefix("::: "))?;
    parse_rust_location(place)
}

/// `src/a.rs:3:7`, and nothing else.
pub(super) fn parse_rust_location(place: &str) -> Option<CodeLocation<'_>> {
    let (place, column) = place.rsplit_once(':')?;
    let (file, line) = place.rsplit_once(':')?;
    let number = |digits: &str| {
        let whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        whole.then(|| digits.parse().ok())
    };
    (!file.is_empty()).then_some(CodeLocation {
        file,
        line: number(line)?,
        column: number(column)?,
    })
}

/// Takes a stack frame of a test: one of the user's code is shown, and its place taken.
pub(super) fn take_frame(draft: &mut FailureBuilder, place: CodeLocation<'_>) -> BlockStep {
    if is_foreign(place.file) {
        return BlockStep::Taken;
    }
    draft.set_location(place.file, place.line, place.column);
    BlockStep::Shown
}

/// The extension of a file's name, without its dot; empty if it has none.
pub(super) fn extension(file: &str) -> &str {
    file.rsplit_once('.').map_or("", |(_, extension)| extension)
}

/// Whether a file is source of the C family.
pub(super) fn is_c(file: &str) -> bool {
    matches!(
        extension(file),
        "c" | "h" | "cc" | "cpp" | "cxx" | "hpp" | "hh" | "m" | "mm" | "inl"
    )
}

/// Whether a file belongs to a runtime, a library or a test framework, not to the user.
pub(super) fn is_foreign(file: &str) -> bool {
    file.starts_with(['<'])
        || ["vendor/", "bundle/", "/usr/bin/", "/usr/share/"]
            .iter()
            .any(|start| file.starts_with(start))
        || FOREIGN.is_match(file)
}

/// Whether a line is a stack frame in a runtime, a library or a test framework.
pub(crate) fn is_foreign_frame(line: &str) -> bool {
    let body = line.trim_start();
    if let Some(place) = parse_python_frame(line) {
        return is_foreign(place.file);
    }
    if !["at ", "from ", "❯ ", "# "]
        .iter()
        .any(|start| body.starts_with(start))
    {
        return false;
    }
    let frame = body.split_once(' ').map_or("", |(_, frame)| frame);
    if frame.ends_with("<anonymous>)")
        || FOREIGN_CLASSES.iter().any(|class| frame.starts_with(class))
    {
        return true;
    }
    parse_colon_frame(frame.trim_end_matches([' ', '{']))
        .is_some_and(|place| is_foreign(place.file))
}

/// Packages of Java's runtime and of its test runners.
const FOREIGN_CLASSES: [&str; 8] = [
    "java.",
    "jdk.internal.",
    "sun.reflect.",
    "junit.framework.",
    "org.junit.",
    "org.testng.",
    "org.opentest4j.",
    "org.gradle.",
];

static FOREIGN: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let parts = [
        "/site-packages/",
        "/dist-packages/",
        "/lib/python",
        "node_modules/",
        "node:",
        "internal/",
        "/go/src/testing/",
        "/go/src/runtime/",
        "/rustc/",
        "/.cargo/registry/",
        "/gems/",
        "/rubies/",
    ];
    AhoCorasick::builder()
        // Names are short: searching for likely bytes first would only cost time.
        .prefilter(false)
        .kind(Some(AhoCorasickKind::DFA))
        .build(parts)
        .unwrap_or_else(|error| unreachable!("a short constant list builds: {error}"))
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn location_in_stack_frame() {
        let at = |text| parse_colon_frame(text).map(|p| (p.file, p.line, p.column));
        assert_eq!(
            at("    at f (src/a.js:3:7)"),
            Some(("src/a.js", Some(3), Some(7)))
        );
        assert_eq!(at(" ❯ src/a.ts:3:7"), Some(("src/a.ts", Some(3), Some(7))));
        assert_eq!(
            at("  at x (file:///w/a.mjs:3:7)"),
            Some(("/w/a.mjs", Some(3), Some(7)))
        );
        assert_eq!(
            at("\tat a.B.c(B.java:12)"),
            Some(("B.java", Some(12), None))
        );
        assert_eq!(
            at("     # ./spec/a_spec.rb:9"),
            Some(("./spec/a_spec.rb", Some(9), None))
        );
        assert_eq!(
            at("    lib/cart.rb:3:in `total'"),
            Some(("lib/cart.rb", Some(3), None))
        );
        assert_eq!(at("time 12:30"), None);
    }
}

//! What stands between the compiler and the program. Linkers: GNU ld (and gold where it speaks like ld), LLVM's lld, Apple's ld, MSVC's link. What is
//! undefined or defined twice is told once for each use. The drivers of compilers, too,
//! that cannot find what they are to compile.

use std::sync::LazyLock;

use regex::Regex;

use super::{Claim, Format};
use crate::findings::{Draft, Findings};
use crate::line::{Line, Signals};
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "ld";

/// How many lines may follow an error of lld or Apple's ld.
const DETAIL_LINES: u32 = 8;

/// Reads errors of linkers.
#[derive(Debug, Default)]
pub(super) struct Linker {
    /// An error that tells below itself where the symbol is used.
    draft: Option<Draft>,
    lines: u32,
    /// Below the name of a function; what is wrong with it may begin with any word.
    in_function: bool,
}

static GNU: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:\S*ld(?:\.\w+)?(?:\.exe)?: )?(?:\S+\.(?:o|a|so|obj)[^\s:]*:)?(?:(?P<file>[^\s:()]+):(?:(?P<line>\d+)|\([^()]*\)): )?(?P<message>(?:more )?undefined reference to [`'‘].+|multiple definition of [`'‘].+|cannot find -?[^\s:]+.*)$",
    )
});
static LLD: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\S*(?:ld(?:64)?\.lld|lld-link|wasm-ld|mold|ld|cc1(?:plus|obj)?|gcc|g\+\+|clang(?:\+\+)?): (?:fatal )?error: (?P<message>\S.*)$",
    )
});
static LLD_PLACE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^>>> (?:referenced by|defined at|defined in) (?P<file>[^\s:()]+)(?::(?P<line>\d+))?")
});
static APPLE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"^  "(?P<symbol>.+)", referenced from:$"#));
static MSVC: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?P<file>\S+\.(?:obj|lib|exe)) : (?:fatal )?error (?P<code>LNK\d+): (?P<message>\S.*)$",
    )
});

impl Format for Linker {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let text = line.text;
        if self.draft.is_some() {
            let detail = text.starts_with(">>> ") || line.indent() > 4;
            if detail && self.lines < DETAIL_LINES {
                return self.detail(line);
            }
            self.close(findings);
        }
        if let Some(draft) = read(line) {
            findings.tool(TOOL);
            self.lines = 0;
            self.draft = Some(draft);
            return Claim::Evidence;
        }
        self.in_function = text.contains("ld: ") && text.contains(": in function ");
        if self.in_function {
            Claim::Evidence
        } else {
            Claim::Foreign
        }
    }

    fn is_open(&self) -> bool {
        self.draft.is_some() || self.in_function
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl Linker {
    /// A line that tells where a symbol is used or defined.
    fn detail(&mut self, line: &Line<'_>) -> Claim {
        self.lines += 1;
        let Some(draft) = &mut self.draft else {
            return Claim::Foreign;
        };
        if let Some(place) = LLD_PLACE.captures(line.text) {
            let number = place.name("line").and_then(|n| n.as_str().parse().ok());
            draft.place(&place["file"], number, None);
        }
        draft.excerpt(line);
        Claim::Evidence
    }

    fn close(&mut self, findings: &mut Findings) {
        findings.close(&mut self.draft);
    }
}

/// The error that a line tells, if it does.
fn read(line: &Line<'_>) -> Option<Draft> {
    let text = line.text;
    let gnu = [
        "undefined reference to",
        "multiple definition of",
        "ld: cannot find ",
    ];
    let found = if gnu.iter().any(|words| text.contains(words)) {
        GNU.captures(text)
    } else if !line
        .signals
        .intersects(Signals::ERROR.with(Signals::TROUBLE))
    {
        None
    } else if text.contains("error: ") && !text.contains("linker command failed") {
        LLD.captures(text)
    } else if text.contains(" error LNK") {
        MSVC.captures(text)
    } else if line.heading.starts_with("Undefined symbols") {
        APPLE.captures(text)
    } else {
        None
    }?;
    let get = |name: &str| found.name(name).map(|group| group.as_str());
    let mut draft = Draft::new(FailureKind::Compile, TOOL, line);
    if text.contains("error: ") && !text.split(':').next().unwrap_or_default().contains("ld") {
        draft.failure.tool = Some("cc".to_owned());
    }
    draft.failure.code = get("code").map(str::to_owned);
    match get("symbol") {
        Some(symbol) => draft.message(&format!("undefined symbol: {symbol}")),
        None => draft.message(get("message")?),
    }
    if let Some(file) = get("file") {
        draft.place(
            file,
            get("line").and_then(|digits| digits.parse().ok()),
            None,
        );
    }
    draft.excerpt(line);
    Some(draft)
}

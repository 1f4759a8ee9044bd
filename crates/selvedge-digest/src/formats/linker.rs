//! The steps between compiler and program. Linkers: GNU ld (and gold where its messages match), LLVM's lld,
//! Apple's ld, MSVC's link; an undefined or duplicate symbol is recorded once for each use. Also compiler
//! drivers that cannot find their input.

use std::sync::LazyLock;

use regex::Regex;

use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, Findings};
use crate::line::{CleanLine, LineSignals};
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "ld";

/// How many lines may follow an error of lld or Apple's ld.
const DETAIL_LINES: u32 = 8;

/// Reads errors of linkers.
#[derive(Debug, Default)]
pub(super) struct LinkerParser {
    /// An error whose uses of the symbol are listed below it.
    draft: Option<FailureBuilder>,
    lines: u32,
    /// Below the name of a function; the error may begin with any word.
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

impl FormatParser for LinkerParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        if self.draft.is_some() {
            let detail = text.starts_with(">>> ") || line.indent() > 4;
            if detail && self.lines < DETAIL_LINES {
                return self.parse_detail(line);
            }
            self.close(findings);
        }
        if let Some(draft) = parse_error(line) {
            findings.add_tool(TOOL);
            self.lines = 0;
            self.draft = Some(draft);
            return LineClaim::Evidence;
        }
        self.in_function = text.contains("ld: ") && text.contains(": in function ");
        if self.in_function {
            LineClaim::Evidence
        } else {
            LineClaim::NotMine
        }
    }

    fn is_open(&self) -> bool {
        self.draft.is_some() || self.in_function
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl LinkerParser {
    /// Reads a line with a use or a definition of a symbol.
    fn parse_detail(&mut self, line: &CleanLine<'_>) -> LineClaim {
        self.lines += 1;
        let Some(draft) = &mut self.draft else {
            return LineClaim::NotMine;
        };
        if let Some(place) = LLD_PLACE.captures(line.text) {
            let number = place.name("line").and_then(|n| n.as_str().parse().ok());
            draft.set_location(&place["file"], number, None);
        }
        draft.push_excerpt(line);
        LineClaim::Evidence
    }

    fn close(&mut self, findings: &mut Findings) {
        findings.add_draft(&mut self.draft);
    }
}

/// The error in a line, if any.
fn parse_error(line: &CleanLine<'_>) -> Option<FailureBuilder> {
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
        .intersects(LineSignals::ERROR.with(LineSignals::PROBLEM))
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
    let mut draft = FailureBuilder::new(FailureKind::Compile, TOOL, line);
    if text.contains("error: ") && !text.split(':').next().unwrap_or_default().contains("ld") {
        draft.failure.tool = Some("cc".to_owned());
    }
    draft.failure.code = get("code").map(str::to_owned);
    match get("symbol") {
        Some(symbol) => draft.push_message(&format!("undefined symbol: {symbol}")),
        None => draft.push_message(get("message")?),
    }
    if let Some(file) = get("file") {
        draft.set_location(
            file,
            get("line").and_then(|digits| digits.parse().ok()),
            None,
        );
    }
    draft.push_excerpt(line);
    Some(draft)
}

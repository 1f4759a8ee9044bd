//! The steps between compiler and program. Linkers: GNU ld (and gold where its messages match), LLVM's lld,
//! Apple's ld, MSVC's link; an undefined or duplicate symbol is recorded once for each use. Also compiler
//! drivers that cannot find their input.

use super::prelude::*;

const TOOL: &str = "ld";

/// How many lines may follow an error of lld or Apple's ld.
const DETAIL_LINES: u32 = 8;

/// Reads errors of linkers. A block is an error and the uses of the symbol that are listed below it.
#[derive(Debug, Default)]
pub(super) struct LinkerFormat {
    lines: u32,
    /// Below the name of a function; the error may begin with any word.
    in_function: bool,
}

static GNU: LinePattern = LinePattern::new(
    r"^(?:\S*ld(?:\.\w+)?(?:\.exe)?: )?(?:\S+\.(?:o|a|so|obj)[^\s:]*:)?(?:(?P<file>[^\s:()]+):(?:(?P<line>\d+)|\([^()]*\)): )?(?P<message>(?:more )?undefined reference to [`'‘].+|multiple definition of [`'‘].+|cannot find -?[^\s:]+.*)$",
);
static LLD: LinePattern = LinePattern::new(
    r"^\S*(?:ld(?:64)?\.lld|lld-link|wasm-ld|mold|ld|cc1(?:plus|obj)?|gcc|g\+\+|clang(?:\+\+)?): (?:fatal )?error: (?P<message>\S.*)$",
);
static LLD_PLACE: LinePattern = LinePattern::new(
    r"^>>> (?:referenced by|defined at|defined in) (?P<file>[^\s:()]+)(?::(?P<line>\d+))?",
);
static APPLE: LinePattern = LinePattern::new(r#"^  "(?P<symbol>.+)", referenced from:$"#);
static MSVC: LinePattern = LinePattern::new(
    r"^(?P<file>\S+\.(?:obj|lib|exe)) : (?:fatal )?error (?P<code>LNK\d+): (?P<message>\S.*)$",
);

impl BlockFormat for LinkerFormat {
    fn is_detail(&self, line: &CleanLine<'_>) -> bool {
        let detail = line.text.starts_with(">>> ") || line.indent() > 4;
        detail && self.lines < DETAIL_LINES
    }

    fn parse_head(&mut self, line: &CleanLine<'_>, _: &mut Findings) -> Option<BlockStep> {
        if let Some(draft) = parse_error(line) {
            self.lines = 0;
            return Some(BlockStep::Begin(draft));
        }
        self.in_function = line.text.contains("ld: ") && line.text.contains(": in function ");
        self.in_function
            .then_some(BlockStep::End(LineClaim::Evidence))
    }

    /// Reads a line with a use or a definition of a symbol.
    fn parse_body(&mut self, draft: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
        if !self.is_detail(line) {
            return BlockStep::OVER;
        }
        self.lines += 1;
        if let Some(place) = LLD_PLACE.captures(line.text) {
            draft.locate(&place);
        }
        BlockStep::Shown
    }

    fn is_waiting(&self) -> bool {
        self.in_function
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
    let mut draft = FailureBuilder::captured(FailureKind::Compile, TOOL, &found, line);
    if text.contains("error: ") && !text.split(':').next().unwrap_or_default().contains("ld") {
        draft.failure.tool = Some("cc".to_owned());
    }
    if let Some(symbol) = found.get("symbol") {
        draft.push_message(&format!("undefined symbol: {symbol}"));
    }
    Some(draft)
}

//! Reads a file in which a program describes its session, for programs whose output is text for
//! people. The file is read once, after the session, as untrusted data of limited size.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use crate::activity::Activity;
use crate::agents::program::MAX_SHOWN_LINE_BYTES;

/// Maximum bytes of such a file; a larger one is ignored.
const FILE_LIMIT: u64 = 64 << 20;

/// The text of a file that a program wrote; `None` if it is missing or too large.
pub(in crate::agents) fn read_session_file(path: &Path) -> Option<String> {
    let file = File::open(path).ok()?;
    // An agent may have replaced it by a pipe, which would block.
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(FILE_LIMIT + 1).read_to_end(&mut bytes).ok()?;
    let fits = u64::try_from(bytes.len()).is_ok_and(|length| length <= FILE_LIMIT);
    fits.then(|| String::from_utf8_lossy(&bytes).into_owned())
}

/// Reports a printed line as the agent's text, without terminal escape sequences.
pub(in crate::agents) fn emit_line(line: &[u8], emit: &mut dyn FnMut(Activity)) {
    let shown = line.get(..MAX_SHOWN_LINE_BYTES).unwrap_or(line);
    let text = anstream::adapter::strip_str(&String::from_utf8_lossy(shown)).to_string();
    let text = text.trim_end();
    if !text.is_empty() {
        emit(Activity::Text(text.to_owned()));
    }
}

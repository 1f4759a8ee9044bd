//! What a program writes about its session into a file, beside the text that it prints for people:
//! read once, when the session is over. Foreign bytes, and never more of them than fit.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use crate::activity::Activity;
use crate::agents::program::MAX_SHOWN_LINE_BYTES;

/// Bytes of such a file that are read. One that is longer was not written for us.
const FILE_LIMIT: u64 = 64 << 20;

/// The text of a file that a program wrote; nothing where it wrote none, or too much.
pub(in crate::agents) fn read_session_file(path: &Path) -> Option<String> {
    let file = File::open(path).ok()?;
    // What an agent put in its place may be a pipe, which would wait for ever.
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(FILE_LIMIT + 1).read_to_end(&mut bytes).ok()?;
    let fits = u64::try_from(bytes.len()).is_ok_and(|length| length <= FILE_LIMIT);
    fits.then(|| String::from_utf8_lossy(&bytes).into_owned())
}

/// Shows a printed line as the agent's words, without what only a terminal understands.
pub(in crate::agents) fn emit_line(line: &[u8], told: &mut dyn FnMut(Activity)) {
    let shown = line.get(..MAX_SHOWN_LINE_BYTES).unwrap_or(line);
    let text = anstream::adapter::strip_str(&String::from_utf8_lossy(shown)).to_string();
    let text = text.trim_end();
    if !text.is_empty() {
        told(Activity::Text(text.to_owned()));
    }
}

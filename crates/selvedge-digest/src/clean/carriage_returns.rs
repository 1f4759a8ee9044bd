//! Resolves carriage returns as a screen shows them.
//!
//! A carriage return overwrites its line, so a progress bar is one line with thousands of frames. Of similar
//! frames only the last is shown; a frame that the next one does not resemble becomes a line of its own, so
//! that no message is lost.

use super::split;

/// Emits the visible frames of a line that may contain carriage returns: at least one.
pub(super) fn emit_visible_frames<'a>(line: &'a [u8], emit: &mut impl FnMut(&'a [u8])) {
    let mut last: Option<&[u8]> = None;
    for range in split(line, b'\r') {
        let frame = &line[range];
        if frame.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        if let Some(last) = last.filter(|last| !overwrites(last, frame)) {
            emit(last);
        }
        last = Some(frame);
    }
    emit(last.unwrap_or_default());
}

/// Whether `next` is an update of `frame`.
fn overwrites(frame: &[u8], next: &[u8]) -> bool {
    const LETTERS: usize = 8;
    let letters = |bytes: &'_ [u8]| -> [u8; LETTERS] {
        let mut shape = [0; LETTERS];
        let letters = bytes.iter().filter(|byte| byte.is_ascii_alphabetic());
        for (slot, &letter) in shape.iter_mut().zip(letters) {
            *slot = letter;
        }
        shape
    };
    let shape = letters(frame);
    // A progress bar or a table of numbers contains nothing that the next frame does not show.
    shape[3] == 0 || shape == letters(next)
}

#[cfg(test)]
mod tests {
    fn shown(line: &str) -> Vec<&str> {
        let mut out = Vec::new();
        super::emit_visible_frames(line.as_bytes(), &mut |frame| {
            out.push(std::str::from_utf8(frame).unwrap());
        });
        out
    }

    #[test]
    fn carriage_returns_keep_last_frame() {
        assert_eq!(shown("fetch 1%\rfetch 2%\rfetch 100%"), ["fetch 100%"]);
        assert_eq!(
            shown("[==>  ] 1/3\r[====>] 2/3\rall is built"),
            ["all is built"]
        );
        assert_eq!(shown("done\r"), ["done"]);
        assert_eq!(shown("\r"), [""]);
    }

    #[test]
    fn carriage_returns_keep_different_frames() {
        assert_eq!(
            shown("error: no space\rfetch 1%\rfetch 2%\r"),
            ["error: no space", "fetch 2%"]
        );
    }
}

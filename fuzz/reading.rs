//! The last bytes of a fuzzer's input select how the log before them is read: so a recorded log is a seed as it is.

use selvedge_digest::Exit;

/// A way to read a log.
pub struct Reading {
    pub exit: Exit,
    /// The size of the chunks that it comes in.
    pub chunk: usize,
    /// The budget of the digest.
    pub tokens: usize,
    /// Any number, for what else there is to choose.
    #[allow(dead_code, reason = "not every target has something else to choose")]
    pub choice: usize,
}

impl Reading {
    /// The log in `bytes` and the way to read it.
    pub fn of(bytes: &[u8]) -> (&[u8], Self) {
        let (log, [exit, chunk, tokens, choice]) = bytes
            .split_last_chunk()
            .map_or((bytes, [1, 7, 200, 0]), |(log, end)| (log, *end));
        let reading = Self {
            exit: match exit {
                0 => Exit::Code(0),
                1 => Exit::TimedOut,
                2 => Exit::Unknown,
                code if code > 128 => Exit::Signal(i32::from(code) - 128),
                code => Exit::Code(i32::from(code)),
            },
            chunk: usize::from(chunk) + 1,
            tokens: usize::from(tokens) * 2,
            choice: usize::from(choice),
        };
        (log, reading)
    }
}

//! Who is woken by a line: the formats whose own lines may begin so, or that look for its signals.
//!
//! Nearly every line is nobody's or one format's, so this is asked of each and must cost a few
//! instructions, however many formats there are. The first bytes of the line each say whose they may
//! be, as a bit set; who is named by all of them is woken. That may be one too many, never one too few.

use super::dispatch::bits;
use crate::line::{CleanLine, LineSignals};

/// So many bytes of a line's beginning are looked at.
const BYTES: usize = 4;

/// Who is woken by what.
#[derive(Debug)]
pub(super) struct LinePrefilter {
    /// For each of the first bytes and what it may be, the formats, as a bit set.
    by_byte: Box<[[u64; 256]; BYTES]>,
    /// For each signal, the formats, as a bit set.
    by_signal: [u64; LineSignals::COUNT],
}

impl Default for LinePrefilter {
    fn default() -> Self {
        Self {
            by_byte: Box::new([[0; 256]; BYTES]),
            by_signal: [0; LineSignals::COUNT],
        }
    }
}

impl LinePrefilter {
    /// The format of this number is woken by lines that begin so (a nought stands for any digit), and
    /// by these signals.
    pub(super) fn add(&mut self, format: usize, begins: &[&str], signals: LineSignals) {
        let format = 1 << format;
        for begin in begins {
            for (place, by_byte) in self.by_byte.iter_mut().enumerate() {
                let woken = match begin.as_bytes().get(place) {
                    Some(b'0') => &mut by_byte[usize::from(b'0')..=usize::from(b'9')],
                    Some(&byte) => std::slice::from_mut(&mut by_byte[usize::from(byte)]),
                    // The beginning is shorter, and says nothing of what follows.
                    None => by_byte,
                };
                for formats in woken {
                    *formats |= format;
                }
            }
        }
        for signal in bits(signals.bits()) {
            self.by_signal[signal] |= format;
        }
    }

    /// Who is woken by this line, as a bit set.
    #[inline]
    pub(super) fn candidates(&self, line: &CleanLine<'_>) -> u64 {
        let begin = leading_bytes(line.body().as_bytes());
        let mut woken = u64::MAX;
        for (by_byte, byte) in self.by_byte.iter().zip(begin) {
            woken &= by_byte[usize::from(byte)];
        }
        for signal in bits(line.signals.bits()) {
            woken |= self.by_signal[signal];
        }
        woken
    }
}

/// The first bytes of a line; noughts follow where it is shorter.
#[inline]
fn leading_bytes(body: &[u8]) -> [u8; BYTES] {
    body.first_chunk().copied().unwrap_or_else(|| {
        let mut begin = [0; BYTES];
        begin[..body.len()].copy_from_slice(body);
        begin
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::CaptureOptions;

    #[test]
    fn a_line_wakes_those_whose_own_may_begin_so() {
        let mut wakes = LinePrefilter::default();
        wakes.add(0, &["test ", "0)"], LineSignals::NONE);
        wakes.add(1, &["│", "ok"], LineSignals::FAIL);
        let asked = CaptureOptions {
            texts: true,
            heading: false,
        };
        let by =
            |text| wakes.candidates(&CleanLine::new(1, text, "", LineSignals::scan(text), asked));
        assert_eq!(by("  testing"), 0b01);
        assert_eq!(by("toast"), 0);
        assert_eq!(by("7) a"), 0b01);
        assert_eq!(by("7: a"), 0);
        assert_eq!(by("    │ a"), 0b10);
        assert_eq!(by("ok"), 0b10);
        assert_eq!(by("0) it failed"), 0b11);
        assert_eq!(by(""), 0);
    }
}

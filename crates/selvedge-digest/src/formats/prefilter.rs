//! Selects the formats that see a line: those with a matching line start or signal.
//!
//! Most lines belong to one format or to none, so this runs for every line and must cost a few instructions,
//! however many formats there are. Each of the first bytes of the line maps to the formats it may belong to,
//! as a bit set; the candidates are the intersection. It may contain a format too many, never one too few.

use super::dispatch::bits;
use crate::line::{CleanLine, LineSignals};

/// Number of leading bytes that are checked.
const BYTES: usize = 4;

/// Line starts and signals of the formats.
#[derive(Debug)]
pub(super) struct LinePrefilter {
    /// The formats by position and value of a leading byte, as bit sets.
    by_byte: Box<[[u64; 256]; BYTES]>,
    /// The formats by signal, as bit sets.
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
    /// Adds a format: it sees lines with these beginnings (`0` matches any digit) and lines with these
    /// signals.
    pub(super) fn add<'a>(
        &mut self,
        format: usize,
        begins: impl IntoIterator<Item = &'a str>,
        signals: LineSignals,
    ) {
        let format = 1 << format;
        for begin in begins {
            for (place, by_byte) in self.by_byte.iter_mut().enumerate() {
                let woken = match begin.as_bytes().get(place) {
                    Some(b'0') => &mut by_byte[usize::from(b'0')..=usize::from(b'9')],
                    Some(&byte) => std::slice::from_mut(&mut by_byte[usize::from(byte)]),
                    // The line start is shorter and matches any further byte.
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

    /// The formats that see this line, as a bit set.
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

/// The first bytes of a line, padded with zero bytes.
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
    fn prefilter_wakes_formats_by_line_start() {
        let mut wakes = LinePrefilter::default();
        wakes.add(0, ["test ", "0)"], LineSignals::NONE);
        wakes.add(1, ["│", "ok"], LineSignals::FAIL);
        let options = CaptureOptions {
            texts: true,
            heading: false,
        };
        let by = |text| {
            wakes.candidates(&CleanLine::new(
                1,
                text,
                "",
                LineSignals::scan(text),
                options,
            ))
        };
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

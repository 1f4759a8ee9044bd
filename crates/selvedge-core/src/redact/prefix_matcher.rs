//! Finds the first bytes of many values in one pass. A few hundred values are too many for the vectorized search of
//! Aho-Corasick, and its automaton has only a third of the speed of this search.
//!
//! A key has eight bytes, so it completely contains one of the four-byte windows that begin at every fifth byte of a
//! text. Only those windows are looked up, in a bit set that fits into the nearest cache.

use std::collections::HashMap;

/// Length of a key, in bytes.
pub(super) const KEY_BYTES: usize = 8;
/// Length of a window, in bytes.
const WINDOW_BYTES: usize = 4;
/// Distance of the windows that are looked up, in bytes.
const STRIDE: usize = KEY_BYTES - WINDOW_BYTES + 1;
/// Length of a hash, in bits.
const HASH_BITS: u32 = 16;

/// The position of a window in a key.
#[derive(Debug, Clone, Copy)]
struct WindowPosition {
    key: usize,
    offset: usize,
}

/// Keys to look for.
#[derive(Debug)]
pub(super) struct PrefixMatcher {
    keys: Vec<[u8; KEY_BYTES]>,
    bits: Vec<u64>,
    windows: HashMap<[u8; WINDOW_BYTES], Vec<WindowPosition>>,
}

impl PrefixMatcher {
    pub(super) fn new(keys: Vec<[u8; KEY_BYTES]>) -> Self {
        let mut bits = vec![0; 1 << (HASH_BITS - 6)];
        let mut windows: HashMap<_, Vec<WindowPosition>> = HashMap::new();
        for (index, key) in keys.iter().enumerate() {
            for (offset, window) in key.windows(WINDOW_BYTES).enumerate() {
                let Ok(window) = <[u8; WINDOW_BYTES]>::try_from(window) else {
                    continue;
                };
                let hash = hash(window);
                bits[hash >> 6] |= 1 << (hash & 63);
                let position = WindowPosition { key: index, offset };
                windows.entry(window).or_default().push(position);
            }
        }
        Self {
            keys,
            bits,
            windows,
        }
    }

    /// The first position of a key from `at` on, and the key.
    pub(super) fn find(&self, text: &[u8], at: usize) -> Option<(usize, usize)> {
        if self.keys.is_empty() {
            return None;
        }
        let first = at.div_ceil(STRIDE) * STRIDE;
        let rest = text.get(first..)?;
        let (mut chunks, mut place) = (rest.chunks_exact(STRIDE), first);
        for chunk in chunks.by_ref() {
            let window = [chunk[0], chunk[1], chunk[2], chunk[3]];
            if self.may_hold(window)
                && let Some(found) = self.find_around(text, place, window, at)
            {
                return Some(found);
            }
            place += STRIDE;
        }
        let window = <[u8; WINDOW_BYTES]>::try_from(chunks.remainder()).ok()?;
        self.find_around(text, place, window, at)
    }

    fn may_hold(&self, window: [u8; WINDOW_BYTES]) -> bool {
        let hash = hash(window);
        self.bits[hash >> 6] & (1 << (hash & 63)) != 0
    }

    /// The first key from `at` on that contains the window at a position.
    fn find_around(
        &self,
        text: &[u8],
        place: usize,
        window: [u8; WINDOW_BYTES],
        at: usize,
    ) -> Option<(usize, usize)> {
        let locate = |position: &WindowPosition| {
            let start = place
                .checked_sub(position.offset)
                .filter(|start| *start >= at)?;
            let key = self.keys.get(position.key)?;
            text[start..]
                .starts_with(key)
                .then_some((start, position.key))
        };
        self.windows.get(&window)?.iter().filter_map(locate).min()
    }
}

fn hash(window: [u8; WINDOW_BYTES]) -> usize {
    let mixed = u32::from_le_bytes(window).wrapping_mul(0x9e37_79b1);
    usize::try_from(mixed >> (u32::BITS - HASH_BITS)).unwrap_or(0)
}

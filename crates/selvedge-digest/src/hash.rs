//! A fast hash for short keys. It does not resist deliberate collisions, because they would gain an attacker
//! nothing.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// A map whose keys are hashed quickly.
pub(crate) type QuickMap<K, V> = HashMap<K, V, BuildHasherDefault<QuickHasher>>;

/// A set whose members are hashed quickly.
pub(crate) type QuickSet<K> = HashSet<K, BuildHasherDefault<QuickHasher>>;

/// Takes eight bytes at a time, by a rotation and a multiplication.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct QuickHasher(u64);

/// Odd, with evenly spread bits: 2^64 divided by the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for QuickHasher {
    fn finish(&self) -> u64 {
        // The high bits of a product are the best mixed, but hash tables also use the low ones.
        self.0.rotate_left(26)
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        for &word in words {
            self.write_u64(u64::from_le_bytes(word));
        }
        let rest = rest
            .iter()
            .fold(1, |word: u64, &byte| word << 8 | u64::from(byte));
        self.write_u64(rest);
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(SPREAD);
    }
}

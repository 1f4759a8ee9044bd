//! The ids that git gives to files in the shadow directory: SHA-256, as the ids of trees, regardless of the format of
//! the user's repository, so that a crafted collision cannot pass as a tree.

use std::fmt;

use sha2::{Digest, Sha256};

const HEX_DIGITS: usize = 64;

/// The id of a file's bytes, as git computes it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct BlobId([u8; HEX_DIGITS / 2]);

impl BlobId {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut hasher = BlobHasher::new(bytes.len() as u64);
        hasher.update(bytes);
        hasher.finish()
    }

    pub(super) fn from_hex(hex: &[u8]) -> Option<Self> {
        let mut id = [0; HEX_DIGITS / 2];
        let (pairs, rest) = hex.as_chunks::<2>();
        if pairs.len() != id.len() || !rest.is_empty() {
            return None;
        }
        for (byte, [high, low]) in id.iter_mut().zip(pairs) {
            *byte = nibble(*high)? << 4 | nibble(*low)?;
        }
        Some(Self(id))
    }

    pub(super) fn from_bytes(bytes: [u8; HEX_DIGITS / 2]) -> Self {
        Self(bytes)
    }

    pub(super) fn to_bytes(self) -> [u8; HEX_DIGITS / 2] {
        self.0
    }
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0; HEX_DIGITS];
        let (pairs, _) = text.as_chunks_mut::<2>();
        for (pair, byte) in pairs.iter_mut().zip(self.0) {
            *pair = [byte >> 4, byte & 0xf].map(|nibble| DIGITS[usize::from(nibble)]);
        }
        f.write_str(str::from_utf8(&text).unwrap_or_default())
    }
}

impl fmt::Debug for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Computes a [`BlobId`] incrementally. Git hashes the length first, so it must be known in advance.
pub(super) struct BlobHasher(Sha256);

impl BlobHasher {
    pub(super) fn new(length: u64) -> Self {
        Self(Sha256::new_with_prefix(format!("blob {length}\0")))
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(super) fn finish(self) -> BlobId {
        BlobId(self.0.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blob_ids_equal_those_of_git() {
        // `printf abc | git hash-object --stdin` in a SHA-256 repository.
        let id = BlobId::of(b"abc");
        assert_eq!(
            id.to_string(),
            "c1cf6e465077930e88dc5136641d402f72a229ddd996f627d60e9639eaba35a6"
        );
        assert_eq!(BlobId::from_hex(id.to_string().as_bytes()), Some(id));
    }
}

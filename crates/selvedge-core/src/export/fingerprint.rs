//! Identifiers of annotations that stay the same when lines move, so that a code host recognizes them.

use std::collections::HashMap;

use sha2::{Digest, Sha256};

use super::annotation::Annotation;
use crate::format::hex;

/// One fingerprint for each annotation; all are different.
pub(super) fn fingerprints(remarks: &[Annotation]) -> Vec<String> {
    let mut seen: HashMap<[u8; 32], u32> = HashMap::new();
    let one = |remark: &Annotation| {
        let path = remark.location.as_ref().map_or("", |place| &place.path);
        let mut hash = Sha256::new();
        for part in [&remark.rule, &remark.title, path, &remark.text] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let same = seen.entry(hash.clone().finalize().into()).or_default();
        hash.update(same.to_be_bytes());
        *same += 1;
        hex(&hash.finalize()[..16])
    };
    remarks.iter().map(one).collect()
}

//! The guarantees of the digest hold for any bytes, with all formats enabled.

#![no_main]

use libfuzzer_sys::fuzz_target;
use selvedge_digest::{Digester, Hints};

#[path = "../../crates/selvedge-digest/tests/it/promises.rs"]
mod promises;
#[path = "../reading.rs"]
mod reading;

use reading::Reading;

fuzz_target!(|bytes: &[u8]| {
    let (log, reading) = Reading::of(bytes);
    let Reading {
        exit,
        chunk,
        tokens,
        ..
    } = reading;
    promises::hold(|| Digester::new(Hints::default()), log, exit, chunk, tokens);
});

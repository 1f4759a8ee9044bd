//! The guarantees of the digest hold for any bytes with a single format enabled, which thus reads
//! more of them: the one that `SELVEDGE_FORMAT` names, or else one that the bytes select.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use selvedge_digest::{Digester, formats};

#[path = "../../crates/selvedge-digest/tests/it/promises.rs"]
mod promises;
#[path = "../reading.rs"]
mod reading;

use reading::Reading;

static FORMATS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let wanted = std::env::var("SELVEDGE_FORMAT").unwrap_or_default();
    let all: Vec<_> = formats()
        .filter(|name| wanted.is_empty() || *name == wanted)
        .collect();
    assert!(!all.is_empty(), "no format is called {wanted}");
    all
});

fuzz_target!(|bytes: &[u8]| {
    let (log, reading) = Reading::of(bytes);
    let Reading {
        exit,
        chunk,
        tokens,
        choice,
    } = reading;
    let format = FORMATS[choice % FORMATS.len()];
    promises::hold(|| Digester::with_format(format), log, exit, chunk, tokens);
});

//! Throughput of reading logs, in bytes per second: repeated recorded logs, and hostile input in two lengths,
//! because twice the input must take at most twice the time.
//!
//! `just bench-digest`; the table of docs/explanation/performance.md comes from `cargo xtask bench`, which
//! measures the whole program.
#![allow(
    clippy::disallowed_methods,
    clippy::format_collect,
    clippy::unwrap_used,
    reason = "a bench reads its fixtures, and criterion's macros write undocumented functions"
)]

use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use selvedge_digest::{CommandStatus, Hints, analyse};

const BYTES: usize = 4 << 20;

fn fixture(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures");
    std::fs::read(folder.join(name)).unwrap()
}

fn repeated(part: &[u8], bytes: usize) -> Vec<u8> {
    part.iter().copied().cycle().take(bytes).collect()
}

fn recorded(criterion: &mut Criterion) {
    let passing: String = (0..1000)
        .map(|n| {
            format!(
                "test module_{}::tests::it_keeps_promise_{n} ... ok\n",
                n % 97
            )
        })
        .collect();
    let mixed = [
        "gcc.log",
        "eslint.log",
        "go_test_verbose.log",
        "jest.log",
        "cargo_test.log",
    ];
    let logs = [
        ("passing", passing.into_bytes()),
        ("pytest", fixture("pytest.log")),
        ("rustc", fixture("rustc.log")),
        ("coloured", fixture("vitest_color.log")),
        ("mixed", mixed.map(fixture).concat()),
    ];
    measure(
        criterion,
        "recorded",
        logs.map(|(name, part)| (name, repeated(&part, BYTES))),
    );
}

fn hostile(criterion: &mut Criterion) {
    let parts: [(&str, &[u8]); 4] = [
        ("line", b"one long line, "),
        ("telling line", b"error "),
        ("escapes", b"\x1b[3\x1b]0;"),
        ("short errors", b"error: x\n"),
    ];
    for bytes in [BYTES, 2 * BYTES] {
        let group = format!("hostile, {} MiB", bytes >> 20);
        let logs = parts.map(|(name, part)| (name, repeated(part, bytes)));
        measure(criterion, &group, logs);
    }
}

fn measure<const N: usize>(criterion: &mut Criterion, group: &str, logs: [(&str, Vec<u8>); N]) {
    let mut group = criterion.benchmark_group(group);
    group.sample_size(10);
    for (name, log) in logs {
        group.throughput(Throughput::Bytes(u64::try_from(log.len()).unwrap()));
        group.bench_function(name, |bencher| {
            bencher.iter(|| analyse(&log, Hints::default(), CommandStatus::Code(1)));
        });
    }
    group.finish();
}

criterion_group!(benches, recorded, hostile);
criterion_main!(benches);

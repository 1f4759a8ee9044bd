//! Redaction throughput in bytes per second: build output with no known secret and with twenty, in pieces as a pipe
//! delivers them; and a flood of nothing but secrets.
//!
//! `cargo bench -p selvedge-core --bench redact`
#![allow(
    clippy::format_collect,
    reason = "criterion's macros write undocumented functions"
)]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use selvedge_core::redact::{Redactor, Secret};

const BYTES: usize = 16 << 20;
const PIECE: usize = 256 << 10;

fn repeated(text: &str) -> Vec<u8> {
    text.bytes().cycle().take(BYTES).collect()
}

/// Twenty values of 40 bytes.
fn secrets() -> Vec<Secret> {
    let value = |n: usize| -> String {
        let letter = |at: usize| b'!' + u8::try_from((n * 31 + at * at * 7 + at) % 94).unwrap_or(0);
        (0..40).map(|at| char::from(letter(at))).collect()
    };
    (0..20)
        .map(|n| Secret::new(format!("SECRET_{n}"), value(n)))
        .collect()
}

fn redact(redactor: &Redactor, text: &[u8]) -> usize {
    let (mut stream, mut room, mut kept) = (redactor.stream(), Vec::new(), 0);
    for piece in text.chunks(PIECE) {
        kept += black_box(stream.push(piece, &mut room)).len();
    }
    room.clear();
    stream.finish(&mut room);
    kept + room.len()
}

fn flows(criterion: &mut Criterion) {
    let tests: String = (0..1000)
        .map(|n| {
            format!(
                "test module_{}::tests::it_keeps_promise_{n} ... ok\n",
                n % 97
            )
        })
        .collect();
    let links: String = (0..1000)
        .map(|n| format!("   Downloaded https://example.org/crates/part-{n}?of=task-{n}\n"))
        .collect();
    let known = secrets();
    let mut hostile = String::new();
    for secret in &known {
        hostile.push_str(&String::from_utf8_lossy(&secret.value));
    }
    let (twenty, none) = (Redactor::new(&known), Redactor::default());
    let mut group = criterion.benchmark_group("redact");
    group
        .throughput(Throughput::Bytes(BYTES as u64))
        .sample_size(10);
    for (name, redactor, text) in [
        ("tests, twenty secrets", &twenty, repeated(&tests)),
        ("tests, formats alone", &none, repeated(&tests)),
        ("links, twenty secrets", &twenty, repeated(&links)),
        ("nothing but secrets", &twenty, repeated(&hostile)),
    ] {
        group.bench_function(name, |bench| bench.iter(|| redact(redactor, &text)));
    }
    group.finish();
    criterion.bench_function("compile twenty secrets", |bench| {
        bench.iter(|| Redactor::new(black_box(&known)));
    });
    criterion.bench_function("compile formats alone", |bench| {
        bench.iter(|| Redactor::new(black_box(&[])));
    });
}

criterion_group!(benches, flows);
criterion_main!(benches);

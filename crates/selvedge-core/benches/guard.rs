//! Throughput of the guard in bytes per second, for a change of a quarter and of half a mebibyte. It is the same for both
//! where the running time is linear: for usual code, and for code that repeats what the rules look for.
//!
//! `cargo bench -p selvedge-core --bench guard`

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use selvedge_core::guard::{ChangedFile, Protection, inspect};

const SIZES: [usize; 2] = [256 << 10, 512 << 10];

const USUAL: &str = "
def total(prices, rate):
    # The sum, with tax.
    subtotal = sum(price for price in prices if price > 0)
    if rate is None:
        return subtotal
    return round(subtotal * (1 + rate), 2)
";
/// Two results for the same arguments.
const CHOICES: &str = "
    if clock() % 2:
        return prices + rate
    return prices - rate
";
const HANDLERS: &str = "
    try:
        rate(prices)
    except BaseException:
        pass
";
const EQUALITIES: &str = "
    fn eq(&self, other: &Self) -> bool { { {
        let _ = other;
        true
";
const BLOCKS: &str = "
function f(g) { try { g(); } catch (e) {
#[cfg(test)]
";

fn inspection(criterion: &mut Criterion) {
    let Ok(protection) = Protection::new(&[], &[]) else {
        return;
    };
    let mut group = criterion.benchmark_group("guard");
    group.sample_size(10);
    for (name, path, before, repeated) in [
        ("usual code", "total.py", "", USUAL),
        (
            "choices",
            "total.py",
            "def total(prices, rate):\n    return prices - rate\n",
            CHOICES,
        ),
        (
            "handlers",
            "total.py",
            "def total(prices, rate):\n    return rate(prices)\n",
            HANDLERS,
        ),
        ("equalities", "lib.rs", "struct A;\n", EQUALITIES),
        ("blocks", "lib.js", "function f(g) {\n    g();\n}\n", BLOCKS),
    ] {
        for size in SIZES {
            let added = repeated.repeat(size / repeated.len());
            let after = before.to_owned() + &added;
            let change = ChangedFile {
                path,
                before: (!before.is_empty()).then_some(before.as_bytes()),
                after: Some(after.as_bytes()),
            };
            group.throughput(Throughput::Bytes(size as u64));
            group.bench_function(BenchmarkId::new(name, size >> 10), |bench| {
                bench.iter(|| inspect(&protection, black_box(&[change]), &[]));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, inspection);
criterion_main!(benches);

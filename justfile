# Shortcuts for common commands; `cargo xtask help` describes them. `just` is optional.

# List the shortcuts.
default:
    @just --list

# Everything that must pass before a change is submitted.
verify:
    cargo xtask verify

# Project rules that no other tool checks.
tidy:
    cargo xtask tidy

# Write the generated files.
generate:
    cargo xtask generate

# The end-to-end suite, with real agents from npm; arguments select tests.
e2e *ARGS:
    cargo xtask e2e {{ARGS}}

# The dashboard in a real browser; needs chromium and chromedriver.
ui-test *ARGS:
    cargo xtask ui-test {{ARGS}}

# Faults injected into real hubs and workers; the long form: `just chaos --rounds 200 --seconds 20`.
chaos *ARGS:
    cargo xtask chaos {{ARGS}}

# The Helm chart and the alert rules, by helm, kubeconform and promtool.
chart:
    cargo xtask chart

# One tiny task through the loop with a real model: `--server URL --model NAME`, or `--gguf FILE`.
local-model *ARGS:
    cargo xtask local-model {{ARGS}}

# Measures and writes the tables of docs/explanation/trust-measured.md, or those whose titles contain a word.
trust *WORD:
    cargo xtask trust {{WORD}}

# Tries real projects from the package registries, and writes the table of docs/explanation/real-projects.md.
wild:
    cargo xtask wild

# The table of docs/explanation/performance.md; `just bench --long` floods with 10 GB.
bench *ARGS:
    cargo xtask bench {{ARGS}}

# How fast the digest reads, by kind of log.
bench-digest *ARGS:
    cargo bench --package selvedge-digest --bench digest -- {{ARGS}}

# Durable no-op tasks a second: through the hub's stores, then through a whole hub's HTTP and WebSocket.
bench-hub *DATABASE:
    cargo build --profile optimized --package selvedge
    cargo bench --package selvedge-store --bench hub
    cargo bench --package selvedge-hub --bench hub -- \
        "${CARGO_TARGET_DIR:-$PWD/target}/optimized/selvedge" {{DATABASE}}

# A hub's memory under a steady load of 200 workers, 20 event streams and 1,000 tasks a minute.
bench-load MINUTES="10" *DATABASE:
    cargo build --profile optimized --package selvedge
    cargo bench --package selvedge-hub --bench hub -- \
        "${CARGO_TARGET_DIR:-$PWD/target}/optimized/selvedge" --load {{MINUTES}} {{DATABASE}}

# What two well-known queues do on the same PostgreSQL: `just bench-rivals postgres://… [JOBS]`.
bench-rivals DATABASE JOBS="20000":
    npm install --silent --no-package-lock --prefix "${CARGO_TARGET_DIR:-$PWD/target}/rivals" \
        graphile-worker@0.17 pg@8 pg-boss@10
    cp crates/selvedge-hub/benches/rivals/rivals.mjs "${CARGO_TARGET_DIR:-$PWD/target}/rivals/"
    node "${CARGO_TARGET_DIR:-$PWD/target}/rivals/rivals.mjs" "{{DATABASE}}" {{JOBS}}

# Kill a run at so many random moments, resume it, and look for losses. CI does a dozen.
kill-loop POINTS="50":
    SELVEDGE_KILL_POINTS={{POINTS}} cargo test --package selvedge --test it crashes

# Look for false alarms of the parsers over real sources: folders with `:` between them.
syntax-corpus FOLDERS:
    SELVEDGE_SYNTAX_CORPUS="{{FOLDERS}}" nice -n 19 cargo test --package selvedge-engine --test it \
        real_sources -- --nocapture

# Fuzz the digest, or one of its formats, for so many seconds; needs a nightly compiler and cargo-fuzz.
fuzz FORMAT="" SECONDS="60":
    mkdir -p fuzz/corpus/{{if FORMAT == "" { "digest" } else { FORMAT } }}
    SELVEDGE_FORMAT="{{FORMAT}}" cargo +nightly fuzz run {{if FORMAT == "" { "digest" } else { "format" } }} \
        fuzz/corpus/{{if FORMAT == "" { "digest" } else { FORMAT } }} crates/selvedge-digest/tests/it/fixtures \
        -- -max_total_time={{SECONDS}} -max_len=20000 -timeout=10 -report_slow_units=2

# Fuzz each format for so many seconds.
fuzz-formats SECONDS="60":
    cargo run --quiet --package selvedge-digest --example digest -- --formats | \
        xargs -I NAME just fuzz NAME {{SECONDS}}

# Score the digest on a corpus of real logs, by the corpus's own scorer: `just digest-score path/to/score.py`.
digest-score SCORER *ARGS:
    cargo build --release --package selvedge-digest --example digest
    python3 "{{SCORER}}" --cmd "${CARGO_TARGET_DIR:-$PWD/target}/release/examples/digest" {{ARGS}}

# The packages of a release in target/packages; `just dist --target TRIPLE` for another platform.
dist *ARGS="--target x86_64-unknown-linux-musl":
    cargo xtask dist {{ARGS}}

# What a release would change: `just release 0.2.0 --dry-run`.
release *ARGS:
    cargo xtask release cut {{ARGS}}

# The documentation as a book in target/book, with its links checked.
book:
    cargo xtask book

# Licences, advisories, sources (needs cargo-deny).
deny:
    cargo deny check

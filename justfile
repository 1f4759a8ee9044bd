# One word for each thing; `cargo xtask help` says what the words do. `just` itself is optional.

# List the words.
default:
    @just --list

# All that must hold before a change is handed in.
verify:
    cargo xtask verify

# The rules of the house that no other tool knows.
tidy:
    cargo xtask tidy

# Write the generated files.
generate:
    cargo xtask generate

# The end-to-end suite, with real agents from npm; words narrow it down.
e2e *ARGS:
    cargo xtask e2e {{ARGS}}

# The table of docs/performance.md; `just bench --long` floods with 10 GB.
bench *ARGS:
    cargo xtask bench {{ARGS}}

# Kill a run at so many random moments, resume it, and look for losses. CI does a dozen.
kill-loop POINTS="50":
    SELVEDGE_KILL_POINTS={{POINTS}} cargo test --package selvedge --test it crashes

# Score the digest on a corpus of real logs, by the corpus's own scorer: `just digest-score path/to/score.py`.
digest-score SCORER *ARGS:
    cargo build --release --package selvedge-digest --example digest
    python3 "{{SCORER}}" --cmd "${CARGO_TARGET_DIR:-$PWD/target}/release/examples/digest" {{ARGS}}

# Licences, advisories, sources (needs cargo-deny).
deny:
    cargo deny check

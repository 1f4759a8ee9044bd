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
kill-loop POINTS="200":
    SELVEDGE_KILL_POINTS={{POINTS}} cargo xtask e2e kill --nocapture

# Feed a parser of foreign bytes with nonsense (needs nightly and cargo-fuzz).
fuzz TARGET SECONDS="300":
    cargo +nightly fuzz run {{TARGET}} -- -max_total_time={{SECONDS}}

# Score the digest on a corpus of real logs, by the corpus's own scorer.
digest-score CORPUS SPLIT="dev":
    cargo build --release --package selvedge
    python3 "{{CORPUS}}/score.py" --split {{SPLIT}} --by-tool --cmd '"$PWD/target/release/selvedge" digest --cmd "$DIGEST_CMD" --exit "$DIGEST_EXIT"'

# Licences, advisories, sources (needs cargo-deny).
deny:
    cargo deny check

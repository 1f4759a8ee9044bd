//! Guarantees of the digest for arbitrary bytes, checked by the property tests and the fuzz targets.

use std::io::Write;

use selvedge_digest::{Analysis, CommandStatus, DigestBudget, Digester, estimate_tokens};

/// Below this budget there may be no room for the word `FAILED`.
const ROOM_TO_SAY_SO: usize = 40;

/// Reads the log in chunks of this size, and checks every guarantee.
pub(crate) fn hold(
    digester: impl Fn() -> Digester,
    log: &[u8],
    exit: CommandStatus,
    chunk: usize,
    tokens: usize,
) {
    let analysis = read(digester(), log.chunks(log.len().max(1)), exit);
    let in_chunks = read(digester(), log.chunks(chunk), exit);
    assert_eq!(analysis, in_chunks, "chunks of {chunk} make a difference");

    for failure in &analysis.failures {
        assert!(failure.summary.chars().count() <= 100, "{failure:?}");
        assert!(failure.count >= 1, "{failure:?}");
    }

    let digest = analysis.render(DigestBudget::tokens(tokens));
    let text = &digest.text;
    assert!(digest.tokens_estimated <= tokens, "{text}");
    assert!(estimate_tokens(text) <= tokens, "{text}");
    assert!(digest.shown <= digest.total, "{text}");
    if tokens >= ROOM_TO_SAY_SO {
        let is_failed = text.starts_with("FAILED");
        // Without an exit, the failures in the log decide, and nothing is called a success.
        if exit == CommandStatus::Unknown {
            let is_neutral = text.starts_with("no ") || text.starts_with("exit code unknown");
            let errors = analysis.failures_total > 0 && !analysis.warnings_only;
            assert!(is_failed || is_neutral && !errors, "{text}");
        } else {
            assert_eq!(is_failed, !exit.is_success(), "{exit:?}: {text}");
        }
    }
}

fn read<'a>(
    mut digester: Digester,
    chunks: impl Iterator<Item = &'a [u8]>,
    exit: CommandStatus,
) -> Analysis {
    for chunk in chunks {
        digester
            .write_all(chunk)
            .unwrap_or_else(|error| unreachable!("it takes all bytes: {error}"));
    }
    digester.finish(exit)
}

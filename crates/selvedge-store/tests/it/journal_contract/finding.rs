//! Tests of finding a run by a name or a fragment of its id.

use selvedge_core::model::RunId;

use super::JournalBackend;
use super::sample::{append, created, part_created};
use selvedge_store::Journal;
use selvedge_store::RunMatch;

const FIRST: &str = "0190163d-8694-739b-aea5-966c26f8ad91";
const SECOND: &str = "0190163d-9000-7000-8000-00000000beef";
const THIRD: &str = "019016ff-0000-7000-8000-00000190163d";
const FOURTH: &str = "01901700-0000-7000-8000-0000000000aa";

fn id(text: &str) -> RunId {
    text.parse().unwrap()
}

fn with_runs(journal: &impl Journal) {
    for run in [SECOND, THIRD, FIRST] {
        append(journal, id(run), 0, [created("mend it", "/w")]);
    }
}

/// By the whole id, by its first digits or by its last, in any case, with or without hyphens; never by digits
/// from the middle, by too few digits, or by characters that are not hexadecimal digits.
pub(crate) fn a_run_is_found_by_either_end_of_its_id<B: JournalBackend>(fresh: impl Fn() -> B) {
    let backend = fresh();
    let journal = backend.open();
    with_runs(&journal);
    for name in [
        FIRST,
        "0190163d-8",
        "0190163D8694",
        "ad91",
        "26F8AD91",
        &id(FIRST).short(),
    ] {
        assert_eq!(
            journal.find(name).unwrap(),
            RunMatch::Run(id(FIRST)),
            "{name}"
        );
    }
    assert_eq!(journal.find("16ff").unwrap(), RunMatch::Nothing);
    assert_eq!(journal.find("019016ff").unwrap(), RunMatch::Run(id(THIRD)));
    for name in [
        "",
        "d91",
        "739b",
        "____",
        "%%%%",
        "zzzz",
        "0190163d-8694-739b-aea5-966c26f8ad92",
    ] {
        assert_eq!(journal.find(name).unwrap(), RunMatch::Nothing, "{name}");
    }
}

/// Candidates are listed newest first.
pub(crate) fn a_fragment_that_fits_several_runs_names_them<B: JournalBackend>(
    fresh: impl Fn() -> B,
) {
    let backend = fresh();
    let journal = backend.open();
    with_runs(&journal);
    let several = |runs: &[&str]| RunMatch::Ambiguous(runs.iter().copied().map(id).collect());
    assert_eq!(
        journal.find("0190").unwrap(),
        several(&[THIRD, SECOND, FIRST])
    );
    // The start of two ids and the end of a third.
    assert_eq!(
        journal.find("0190163d").unwrap(),
        several(&[THIRD, SECOND, FIRST])
    );
}

/// `last` and `@`.
pub(crate) fn the_newest_run_has_a_name<B: JournalBackend>(fresh: impl Fn() -> B) {
    let backend = fresh();
    let journal = backend.open();
    assert_eq!(journal.find("last").unwrap(), RunMatch::Nothing);
    with_runs(&journal);
    assert_eq!(journal.find("last").unwrap(), RunMatch::Run(id(THIRD)));
    assert_eq!(journal.find("@").unwrap(), RunMatch::Run(id(THIRD)));
    // The last run is never a subtask of a plan, but the plan itself.
    append(&journal, id(FOURTH), 0, [part_created(id(THIRD), "api")]);
    assert_eq!(journal.find("last").unwrap(), RunMatch::Run(id(THIRD)));
    let part = journal.summary(id(FOURTH)).unwrap().unwrap();
    let part_of = part.task.unwrap().part_of.unwrap();
    assert_eq!((part_of.plan, part_of.subtask.as_str()), (id(THIRD), "api"));
}

//! The contract of every [`Journal`] implementation, as tests that are independent of the implementation. To run them,
//! an implementation's tests provide a [`JournalBackend`]:
//!
//! ```text
//! journal_contract!(|| InMyDatabase::fresh());
//! ```
mod appending;
mod finding;
mod listing;
mod racing;
mod random;
mod sample;

pub(crate) use appending::{
    a_batch_that_does_not_follow_leaves_nothing_behind, a_journal_opened_again_has_everything,
    events_of_a_later_release_keep_their_raw_value, long_runs_are_read_in_pages,
    runs_do_not_see_each_other,
};
pub(crate) use finding::{
    a_fragment_that_fits_several_runs_names_them, a_run_is_found_by_either_end_of_its_id,
    the_newest_run_has_a_name,
};
pub(crate) use listing::{
    a_list_is_paged_from_the_newest_run, a_list_shows_what_became_of_each_run,
    a_session_cut_off_leaves_its_cost_unknown, lists_can_be_narrowed, summaries_can_be_made_anew,
    what_judges_cost_is_in_the_sum,
};
pub(crate) use racing::{
    many_can_open_a_new_journal_at_once, of_two_writers_one_is_fenced,
    readers_never_see_half_a_batch,
};
pub(crate) use random::any_batches_read_back_as_they_were;

use selvedge_store::Journal;

/// Opens journals of one implementation. Every value represents one journal, which is empty at first.
pub(crate) trait JournalBackend: Sync {
    /// The implementation under test.
    type Journal: Journal;

    /// Opens this backend's journal, as another program would: each call returns a separate connection to the
    /// same events.
    fn open(&self) -> Self::Journal;
}

/// Generates a `#[test]` for every property. The argument is a function that returns a [`JournalBackend`]
/// with an empty journal.
macro_rules! journal_contract {
    ($fresh:expr) => {
        journal_contract! { $fresh =>
            a_batch_that_does_not_follow_leaves_nothing_behind
            a_fragment_that_fits_several_runs_names_them
            a_journal_opened_again_has_everything
            a_list_is_paged_from_the_newest_run
            a_list_shows_what_became_of_each_run
            a_run_is_found_by_either_end_of_its_id
            a_session_cut_off_leaves_its_cost_unknown
            any_batches_read_back_as_they_were
            events_of_a_later_release_keep_their_raw_value
            lists_can_be_narrowed
            long_runs_are_read_in_pages
            many_can_open_a_new_journal_at_once
            of_two_writers_one_is_fenced
            readers_never_see_half_a_batch
            runs_do_not_see_each_other
            summaries_can_be_made_anew
            the_newest_run_has_a_name
            what_judges_cost_is_in_the_sum
        }
    };
    ($fresh:expr => $($property:ident)*) => {
        $(
            #[test]
            fn $property() {
                $crate::journal_contract::$property($fresh);
            }
        )*
    };
}
pub(crate) use journal_contract;

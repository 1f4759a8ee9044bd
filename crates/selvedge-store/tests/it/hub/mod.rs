//! The contract of every hub store: one test suite for both. Answered writes are there after a restart, a
//! task belongs to one worker at a time, and the log explains the current state. The tests use only the
//! traits.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "what cannot be done fails the test that needed it"
)]

mod board;
mod fixture;
mod kept;
mod ledger;
mod migrations;
mod plans;
mod postgres;
mod queue;
mod reviews;
mod tls;

use selvedge_store::hub::{HubStoreError, SqliteHub, StoreSettings};

macro_rules! over_both {
    ($($room:ident :: $name:ident),* $(,)?) => {
        mod on_sqlite {
            use super::fixture::StoreFixture;
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::$room::$name(StoreFixture::sqlite()).await;
            })*
        }
        mod on_postgres {
            use super::fixture::StoreFixture;
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                if selvedge_testkit::Postgres::is_available() {
                    super::$room::$name(StoreFixture::postgres()).await;
                }
            })*
        }
    };
}

over_both!(
    queue::what_was_answered_is_there_after_a_start,
    queue::the_highest_comes_first_and_labels_must_fit,
    queue::many_at_once_never_share_a_task,
    queue::a_grant_that_is_over_leaves_evidence_and_costs_only,
    queue::one_key_is_one_task,
    queue::entries_of_one_task_keep_their_order,
    queue::a_report_is_told_once,
    queue::lists_are_narrowed_paged_and_counted,
    ledger::a_run_that_the_hub_closes_alone_costs_what_nobody_knows,
    reviews::review_counts_for_the_work_it_decided_on,
    plans::a_plan_is_the_hubs_alone_until_it_is_over,
    board::pages_and_counts_are_those_of_a_list_of_everything,
    board::waits_are_those_of_the_latest_that_began,
    board::facts_are_kept_and_never_replaced_by_earlier_ones,
    kept::blobs_are_resumed_and_proved,
    kept::tokens_are_found_by_their_hash_alone,
    kept::what_is_past_its_time_goes_and_tombstones_stay,
    kept::what_a_database_may_choke_on_is_kept_all_the_same,
);

#[tokio::test]
async fn one_hub_at_a_time_has_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hub.db");
    let _first = SqliteHub::open(&path, StoreSettings::default()).unwrap();
    let second = SqliteHub::open(&path, StoreSettings::default());
    assert!(matches!(second, Err(HubStoreError::InUse(_))));
}

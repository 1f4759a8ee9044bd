//! Tests of the hub through its network interface: over real sockets, on a real database file or a real
//! server.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "what cannot be done fails the test that needed it"
)]

mod harness;
mod limits;
mod replicas;
mod reviews;
mod scopes;
mod session;
mod submitting;

/// Runs tests that use the store on both databases.
macro_rules! over_both {
    ($($room:ident :: $name:ident),* $(,)?) => {
        mod on_sqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::$room::$name(crate::harness::TestDatabase::sqlite()).await;
            })*
        }
        mod on_postgres {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                if selvedge_testkit::Postgres::is_available() {
                    super::$room::$name(crate::harness::TestDatabase::postgres()).await;
                }
            })*
        }
    };
}

over_both!(
    session::a_task_is_offered_begun_reported_and_completed_once,
    session::a_lost_lease_goes_to_another_and_the_first_worker_is_fenced_off,
    session::a_hub_that_comes_back_keeps_what_workers_hold_and_tells_of_a_cancellation,
    session::a_lease_that_is_not_kept_takes_no_slot_of_its_worker,
    session::a_token_that_another_hub_revoked_ends_the_session_at_its_next_renewal,
    session::a_worker_that_is_heard_of_no_more_keeps_no_task_from_others,
    reviews::review_names_its_work_and_the_result_agrees,
    reviews::review_rejects_or_a_cancellation_ends_and_the_result_agrees,
    submitting::one_key_is_one_task,
    submitting::lists_are_narrowed_and_paged_and_a_waiting_task_is_cancelled_at_once,
    submitting::blobs_are_resumed_and_proved,
);

//! The contract of every hub store: one test suite for both. Answered writes are there after a restart, a
//! task belongs to one worker at a time, and the log explains the current state. The tests use only the
//! traits.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "what cannot be done fails the test that needed it"
)]

mod access;
mod board;
mod fixture;
mod kept;
mod ledger;
mod migrations;
mod plans;
mod postgres;
mod projects;
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
    migrations::migration_of_earlier_format_keeps_rows,
    queue::acknowledged_writes_survive_restart,
    queue::assign_prefers_priority_and_matches_labels,
    queue::assign_never_gives_a_task_twice,
    queue::ended_lease_accepts_only_evidence_and_costs,
    queue::submit_with_the_same_key_is_one_task,
    queue::entries_of_one_task_keep_their_order,
    queue::offers_to_a_worker_are_those_it_has_not_accepted,
    queue::events_of_another_run_are_refused,
    queue::report_is_stored_once,
    queue::list_is_filtered_paged_and_counted,
    ledger::cost_of_attempt_closed_by_the_hub_is_unknown,
    reviews::review_applies_to_the_reviewed_work_only,
    plans::plan_is_held_by_the_hub_until_it_ends,
    board::list_pages_and_counts_match_the_full_list,
    board::queue_latencies_are_those_of_the_latest_started_tasks,
    board::run_stats_are_never_replaced_by_older_ones,
    board::tasks_are_found_by_words_of_their_saved_statistics,
    board::tasks_are_found_by_conditions_on_their_saved_statistics,
    access::last_administrator_is_not_revoked,
    access::session_ends_with_its_token_its_limits_and_on_request,
    access::session_of_a_person_has_no_token,
    access::audit_log_records_the_person_of_every_change,
    access::audit_log_records_who_did_what_and_is_never_changed,
    kept::blob_upload_is_resumed_and_verified,
    kept::objects_are_deleted_only_when_nothing_refers_to_them,
    kept::tokens_are_found_by_hash_until_expired_or_revoked,
    kept::purge_removes_expired_data_and_keeps_tombstones,
    projects::assignment_is_fair_to_projects_and_submitters,
    projects::limits_of_running_tasks_and_costs_delay_queued_tasks,
    projects::submission_is_refused_beyond_queue_limit_or_repositories,
    projects::refused_submissions_of_one_key_are_no_duplicates,
    projects::people_are_submitters_by_their_identities,
    projects::settings_are_replaced_if_nobody_has_changed_them,
    projects::project_is_deleted_without_unfinished_tasks_only,
    projects::task_is_not_added_to_a_project_that_is_deleted_meanwhile,
    projects::database_without_projects_is_migrated,
    kept::unusual_text_and_large_costs_are_stored,
);

#[tokio::test]
async fn sqlite_file_is_locked_by_one_hub() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hub.db");
    let _first = SqliteHub::open(&path, StoreSettings::default()).unwrap();
    let second = SqliteHub::open(&path, StoreSettings::default());
    assert!(matches!(second, Err(HubStoreError::InUse(_))));
}

//! Tests of the hub through its network interface: over real sockets, on a real database file or a real
//! server.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "what cannot be done fails the test that needed it"
)]

mod access;
mod capabilities;
mod harness;
mod infrastructure;
mod insights;
mod limits;
mod objects;
mod people;
mod probes;
mod projects;
mod replicas;
mod reviews;
mod schedules;
mod scopes;
mod session;
mod submitting;
mod verdicts;
mod webhooks;

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
    session::task_is_assigned_reported_and_completed_once,
    session::entries_sent_at_once_are_written_in_order,
    session::lost_lease_goes_to_another_worker_and_rejects_the_first,
    session::hub_restart_keeps_leases_and_delivers_cancellation,
    session::lease_that_is_not_kept_uses_no_slot,
    session::silent_worker_does_not_block_tasks,
    reviews::review_applies_to_named_work_and_updates_the_result,
    reviews::review_rejection_or_cancellation_updates_the_result,
    reviews::held_decision_needs_a_valid_token_and_another_user,
    access::revoked_token_ends_streams_and_worker_sessions,
    access::dashboard_session_is_not_the_token_and_ends,
    access::tasks_show_their_branch_and_are_filtered_by_it,
    access::worker_of_a_name_in_use_is_refused,
    insights::numbers_lead_to_so_many_tasks,
    people::person_signs_in_and_is_recorded,
    people::sign_in_is_bound_to_its_browser_and_completed_once,
    people::session_of_a_person_ends_with_its_streams,
    people::people_of_one_name_may_review_each_other,
    objects::file_is_in_the_object_store_until_its_retention_ends,
    probes::counters_never_decrease_and_separate_accepted_work,
    reviews::review_by_the_submitter_can_be_forbidden,
    schedules::schedule_submits_one_task_for_all_missed_times,
    schedules::schedule_is_validated_paused_resumed_and_removed,
    submitting::submit_with_the_same_key_is_one_task,
    submitting::list_is_filtered_and_paged_and_cancel_is_immediate,
    submitting::blob_upload_is_resumed_and_verified,
    projects::token_of_a_project_sees_and_changes_nothing_of_another,
    projects::worker_of_a_project_is_not_that_of_another,
    projects::limits_of_a_project_refuse_or_delay_tasks,
    projects::changes_of_different_settings_are_all_kept,
    webhooks::webhook_is_signed_and_repeated_until_accepted,
    webhooks::webhook_filters_events_and_gives_up_on_410,
    webhooks::slow_receiver_does_not_delay_other_webhooks,
    verdicts::verified_without_a_passing_report_needs_review,
    verdicts::attempts_beyond_the_limit_are_refused,
    verdicts::reports_in_result_are_stored,
    capabilities::worker_is_offered_only_what_it_can_run,
    capabilities::declined_task_goes_to_another_worker_uncharged,
    infrastructure::failing_worker_is_quarantined,
    infrastructure::failed_runs_in_one_repository_blame_no_worker,
    infrastructure::retry_follows_the_current_rules,
    infrastructure::infrastructure_failure_delays_the_task,
    infrastructure::dead_tasks_are_retried_in_bulk_once,
);

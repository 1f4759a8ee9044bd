//! A review counts for exactly the attempt that the reviewer saw, and only once.

use selvedge_core::model::{Outcome, ReviewRecord, ReviewTarget, TaskId};
use selvedge_protocol::{
    EntryKind, RefusalCode, ReviewDecision, TaskCompletion, TaskResult, TaskState,
};
use selvedge_store::hub::{AuditActor, ChangeAnswer, HubStore, TaskChange, TaskRecord};
use serde_json::json;

use super::fixture::{
    StoreFixture, apply_change, assert_log_replays, begin, entry, poll_in_order, report, task, want,
};

/// Makes a worker hand in an attempt that needs a review; returns the task after that.
async fn hand_in(store: &dyn HubStore, id: TaskId, attempt: u32) -> TaskRecord {
    let granted = store.assign_tasks(vec![want("w", 1, &[])]).await.unwrap();
    let needs_review = EntryKind::Complete(TaskCompletion {
        completion_id: format!("completion {attempt}"),
        result: Box::new(TaskResult::without_run(
            Outcome::NeedsReview,
            "a person has to look",
        )),
    });
    for (seq, step) in [
        (1, begin(attempt)),
        (2, report(attempt, "{}")),
        (3, needs_review),
    ] {
        let answer = apply_change(store, id, entry(&granted[0], seq, step)).await;
        assert_eq!(answer, ChangeAnswer::Applied);
    }
    let (view, _) = store.task(id).await.unwrap().unwrap();
    assert_eq!(view.row.lease.state, TaskState::NeedsReview);
    view.row
}

fn review(row: &TaskRecord, decision: ReviewDecision, reason: &str) -> TaskChange {
    TaskChange::Review {
        decision,
        actor: AuditActor::on_database("ada"),
        record: ReviewRecord {
            accepted: decision == ReviewDecision::Accept,
            by: "ada".to_owned(),
            stated_by: None,
            reason: reason.to_owned(),
            target: ReviewTarget {
                attempt: Some(row.lease.last_attempt),
                tree: Some("ab12".repeat(16).parse().unwrap()),
            },
        },
        epoch: row.lease.epoch,
        after: row.event_seq,
        events: Vec::new(),
    }
}

fn code(answer: &ChangeAnswer) -> Option<RefusalCode> {
    match answer {
        ChangeAnswer::Applied => None,
        ChangeAnswer::Refused { code, .. } => Some(*code),
    }
}

pub(super) async fn review_applies_to_the_reviewed_work_only(fixture: StoreFixture) {
    let store = fixture.open().await;
    let store = store.as_ref();
    let mut new = task(1, 0, &[]);
    new.max_attempts = 2;
    let id = new.task_id;
    store.submit(new).await.unwrap();
    let first = hand_in(store, id, 1).await;

    let mut other_attempt = first.clone();
    other_attempt.lease.last_attempt = 2;
    let mut other_grant = first.clone();
    other_grant.lease.epoch += 1;
    let mut other_journal = first.clone();
    other_journal.event_seq += 1;
    for (row, expected) in [
        (other_attempt, RefusalCode::Conflict),
        (other_grant, RefusalCode::Conflict),
        (other_journal, RefusalCode::Gap),
    ] {
        let answer = apply_change(store, id, review(&row, ReviewDecision::Accept, "")).await;
        assert_eq!(code(&answer), Some(expected));
        let (view, _) = store.task(id).await.unwrap().unwrap();
        assert_eq!(view.row, first, "what is refused changes nothing");
    }

    let back = apply_change(store, id, review(&first, ReviewDecision::Retry, "more")).await;
    assert_eq!(back, ChangeAnswer::Applied);
    let (view, _) = store.task(id).await.unwrap().unwrap();
    assert_eq!(
        (view.row.lease.state, view.row.reason),
        (TaskState::Queued, None)
    );
    let second = hand_in(store, id, 2).await;
    assert_eq!(second.lease.review, None, "another attempt began");
    let stale = apply_change(store, id, review(&first, ReviewDecision::Accept, "")).await;
    assert_eq!(code(&stale), Some(RefusalCode::Conflict));

    // Of many concurrent reviews, one decides.
    let all = (0..10).map(|number| {
        let decision = [ReviewDecision::Accept, ReviewDecision::Reject][number % 2];
        store.change(id, review(&second, decision, &number.to_string()))
    });
    let answers = poll_in_order(all).await;
    let decided = answers
        .into_iter()
        .flatten()
        .map(|verdict| code(&verdict.answer));
    let (done, refused): (Vec<_>, Vec<_>) = decided.partition(Option::is_none);
    assert_eq!(done.len(), 1);
    assert!(
        refused
            .iter()
            .all(|code| *code == Some(RefusalCode::Terminal))
    );
    let (view, _) = store.task(id).await.unwrap().unwrap();
    let review = view.row.lease.review.clone().unwrap();
    assert_eq!(
        (review.accepted, view.row.lease.state),
        match view.row.lease.outcome {
            Some(Outcome::Verified) => (true, TaskState::Succeeded),
            _ => (false, TaskState::Failed),
        }
    );
    assert_eq!(view.row.reason, Some(review.summary()));
    assert_eq!(review.target.attempt, Some(2));
    assert_log_replays(store, id).await;
}

/// Earlier releases stored only rejections with another attempt in place of a review.
#[test]
fn review_of_earlier_release_is_a_rejection() {
    let earlier = json!({"by": "ada", "reason": "more"});
    let review: ReviewRecord = serde_json::from_value(earlier).unwrap();
    assert!(!review.accepted);
    assert_eq!(review.summary(), "rejected by ada: more");
}

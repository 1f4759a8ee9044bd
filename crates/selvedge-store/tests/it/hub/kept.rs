//! Tests of blobs, tokens and retention.

use std::fmt::Write;

use selvedge_core::model::{AttemptEnd, Cost, CostSource, MicroUsd, TaskId, Usage};
use selvedge_protocol::lease::LeaseInput;
use selvedge_protocol::{AttemptClosing, CostEntry, EntryKind, FileRef};
use selvedge_store::hub::{
    AuditActor, BlobObject, BlobPart, BlobState, ChangeAnswer, HubStore, HubStoreError, ListFilter,
    NewApiToken, NewBlobChunk, RevokeOutcome, SubmitOutcome, TaskChange,
};
use serde_json::json;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::fixture::{
    PASSES, StoreFixture, apply_change, begin, complete, entry, poll_in_order, report, task, want,
};

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .fold(String::new(), |mut name, byte| {
            let _ = write!(name, "{byte:02x}");
            name
        })
}

async fn append_blob(store: &dyn HubStore, bytes: &[u8]) -> String {
    let (name, size) = (hash(bytes), bytes.len() as u64);
    let state = store
        .append(name.clone(), 0, size, bytes.to_vec().into())
        .await
        .unwrap();
    assert_eq!(state, BlobState::Complete { size });
    name
}

pub(super) async fn blob_upload_is_resumed_and_verified(fixture: StoreFixture) {
    let store = fixture.open().await;
    let name = hash(b"abcdef");
    let append = async |offset: u64, total: u64, chunk: &[u8]| {
        store
            .append(name.clone(), offset, total, chunk.to_vec().into())
            .await
            .unwrap()
    };
    assert_eq!(
        store.blob_state(name.clone()).await.unwrap(),
        BlobState::Missing
    );
    assert_eq!(append(0, 6, b"abc").await, BlobState::Partial { offset: 3 });
    assert_eq!(
        append(5, 6, b"f").await,
        BlobState::OffsetMismatch { offset: 3 }
    );
    assert_eq!(
        append(0, 6, b"ab").await,
        BlobState::Partial { offset: 2 },
        "begun anew"
    );
    assert_eq!(
        store.blob_part(name.clone(), 0).await.unwrap(),
        None,
        "not whole"
    );
    assert_eq!(
        store.missing(vec![name.clone()]).await.unwrap(),
        std::slice::from_ref(&name)
    );
    assert_eq!(append(2, 6, b"cdeX").await, BlobState::WrongHash);
    assert_eq!(
        store.blob_state(name.clone()).await.unwrap(),
        BlobState::Missing
    );
    assert_eq!(append(0, 6, b"ab").await, BlobState::Partial { offset: 2 });
    assert_eq!(append(2, 6, b"cdef").await, BlobState::Complete { size: 6 });
    assert_eq!(
        append(0, 6, b"ab").await,
        BlobState::Complete { size: 6 },
        "it is there"
    );
    let mut read = Vec::new();
    loop {
        let part = store.blob_part(name.clone(), read.len() as u64).await;
        let Some(BlobPart::Bytes(more)) = part.unwrap() else {
            panic!("bytes in the database");
        };
        if more.is_empty() {
            break;
        }
        read.extend(more);
    }
    assert_eq!(read, b"abcdef");
    assert_eq!(
        store.blob_part(name.clone(), 4).await.unwrap(),
        Some(BlobPart::Bytes(b"ef".to_vec()))
    );
    // Concurrent uploads have the same result.
    let other = vec![7u8; 100_000];
    let all = (0..8).map(|_| store.append(hash(&other), 0, 100_000, other.clone().into()));
    let states = poll_in_order(all).await;
    assert_eq!(states, vec![BlobState::Complete { size: 100_000 }; 8]);
    let absent = hash(b"absent");
    assert_eq!(
        store.missing(vec![name, absent.clone()]).await.unwrap(),
        [absent]
    );
}

pub(super) async fn objects_are_deleted_only_when_nothing_refers_to_them(fixture: StoreFixture) {
    const HOUR_MS: i64 = 3_600_000;
    let store = fixture.open().await;
    let name = hash(b"abcdef");
    let chunk = |key: &str, bytes: &[u8]| NewBlobChunk {
        bytes: bytes.to_vec(),
        object: Some(BlobObject {
            key: key.to_owned(),
            size: bytes.len() as u64,
            digest: hash(bytes),
        }),
    };
    let append =
        async |offset: u64, chunk: NewBlobChunk| store.append(name.clone(), offset, 6, chunk).await;
    let reserve = async |key: &str| store.reserve_object(key.to_owned(), HOUR_MS).await.unwrap();
    let unused = async || {
        let mut keys = store.claim_unused_objects(-1, 100).await.unwrap();
        keys.sort();
        store.forget_objects(keys.clone()).await.unwrap();
        keys
    };
    assert!(!store.has_objects().await.unwrap());
    for key in ["a", "b", "c", "d", "e"] {
        reserve(key).await;
    }
    assert!(unused().await.is_empty(), "reserved");
    assert_eq!(
        append(0, chunk("a", b"abc")).await.unwrap(),
        BlobState::Partial { offset: 3 }
    );
    // Another upload of the same bytes: its object is not used.
    assert_eq!(
        append(2, chunk("b", b"cd")).await.unwrap(),
        BlobState::OffsetMismatch { offset: 3 }
    );
    assert_eq!(unused().await, ["b"]);
    // Begun again with wrong bytes.
    assert_eq!(
        append(0, chunk("c", b"ab")).await.unwrap(),
        BlobState::Partial { offset: 2 }
    );
    assert_eq!(
        append(2, chunk("d", b"cdeX")).await.unwrap(),
        BlobState::WrongHash
    );
    assert_eq!(unused().await, ["a", "c", "d"]);
    assert_eq!(store.count_unused_objects().await.unwrap(), 0);
    // The beginning is in the database: the hub got an object store meanwhile.
    let in_database = b"ab".to_vec().into();
    assert_eq!(
        append(0, in_database).await.unwrap(),
        BlobState::Partial { offset: 2 }
    );
    reserve("f").await;
    assert_eq!(
        append(2, chunk("f", b"cdef")).await.unwrap(),
        BlobState::OffsetMismatch { offset: 0 }
    );
    assert_eq!(unused().await, ["f"]);
    reserve("g").await;
    append(0, chunk("e", b"abc")).await.unwrap();
    assert_eq!(
        append(3, chunk("g", b"def")).await.unwrap(),
        BlobState::Complete { size: 6 }
    );
    assert!(store.has_objects().await.unwrap());
    let part = store.blob_part(name.clone(), 4).await.unwrap();
    let object = chunk("g", b"def").object.unwrap();
    assert_eq!(part, Some(BlobPart::Object { object, skip: 1 }));
    assert_eq!(
        store.blob_part(name.clone(), 6).await.unwrap(),
        Some(BlobPart::Bytes(Vec::new()))
    );
    // Stored already.
    reserve("h").await;
    assert_eq!(
        append(0, chunk("h", b"abc")).await.unwrap(),
        BlobState::Complete { size: 6 }
    );
    assert_eq!(unused().await, ["h"]);
    while store.purge_expired(-60_000, 10).await.unwrap() > 0 {}
    assert_eq!(
        store.blob_state(name.clone()).await.unwrap(),
        BlobState::Missing
    );
    assert_eq!(unused().await, ["e", "g"]);
    // Written too late: the object may be deleted already.
    store.reserve_object("late".to_owned(), -1).await.unwrap();
    assert_eq!(store.count_unused_objects().await.unwrap(), 1);
    assert_eq!(
        store.claim_unused_objects(HOUR_MS, 100).await.unwrap(),
        ["late"]
    );
    let late = append(0, chunk("late", b"abc")).await;
    assert!(
        matches!(late, Err(HubStoreError::ReservationExpired)),
        "{late:?}"
    );
    assert_eq!(
        store.blob_state(name.clone()).await.unwrap(),
        BlobState::Missing
    );
    assert!(
        store
            .claim_unused_objects(HOUR_MS, 100)
            .await
            .unwrap()
            .is_empty(),
        "claimed"
    );
}

pub(super) fn token(number: u128, lasts_ms: Option<i64>) -> NewApiToken {
    NewApiToken {
        token_id: Uuid::from_u128(number),
        name: format!("token {number}"),
        project: "default".to_owned(),
        scopes: vec!["read".to_owned()],
        prefix: "slv_12".to_owned(),
        hash: [u8::try_from(number).unwrap(); 32],
        lasts_ms,
        created_by: AuditActor::on_database("test"),
    }
}

pub(super) async fn tokens_are_found_by_hash_until_expired_or_revoked(fixture: StoreFixture) {
    let store = fixture.open().await;
    let firsts =
        poll_in_order((1..=8).map(|number| store.insert_first_token(token(number, None)))).await;
    let firsts: Vec<_> = firsts.into_iter().flatten().collect();
    assert_eq!(firsts.len(), 1, "one of several is the first");
    assert_eq!(firsts[0].expires_at, None);
    assert_eq!(store.list_tokens().await.unwrap(), firsts);
    let lasting = store
        .insert_token(token(20, Some(3_600_000)))
        .await
        .unwrap();
    assert_eq!(lasting.expires_at, Some(lasting.created_at + 3_600_000));
    store.insert_token(token(21, Some(0))).await.unwrap();
    assert_eq!(
        store.find_token_by_hash([20; 32]).await.unwrap(),
        Some(lasting.clone())
    );
    assert_eq!(
        store.find_token_by_hash([21; 32]).await.unwrap(),
        None,
        "it has expired"
    );
    store.touch_tokens(vec![lasting.token_id]).await.unwrap();
    store.touch_tokens(Vec::new()).await.unwrap();
    assert!(
        store
            .find_token_by_hash([20; 32])
            .await
            .unwrap()
            .unwrap()
            .last_used_at
            .is_some()
    );
    let revoke = async |id| {
        let by = AuditActor::on_database("test");
        store.revoke(id, by).await.unwrap()
    };
    assert_eq!(revoke(lasting.token_id).await, RevokeOutcome::Revoked);
    assert_eq!(revoke(Uuid::from_u128(99)).await, RevokeOutcome::NotFound);
    assert_eq!(
        store.find_token_by_hash([20; 32]).await.unwrap(),
        None,
        "it was revoked"
    );
    assert_eq!(store.list_tokens().await.unwrap().len(), 3);
}

/// Carries out a task from beginning to end, with an event and a file.
async fn complete_task(store: &dyn HubStore, number: u128) -> (TaskId, TaskChange) {
    let mut new = task(number, 0, &[]);
    new.idempotency = Some((format!("key {number}"), [1; 32]));
    let id = new.task_id;
    assert_eq!(store.submit(new).await.unwrap(), SubmitOutcome::New(id));
    let granted = store
        .assign_tasks(vec![want("w", 1, &[])])
        .await
        .unwrap()
        .remove(0);
    let name = append_blob(store, format!("file {number}").as_bytes()).await;
    let mut first = entry(&granted, 1, begin(1));
    if let TaskChange::Entry(first) = &mut first {
        first.header.events = vec![json!({"seq": 1, "type": "first"}), json!({"seq": 2})];
        first.header.files = vec![FileRef {
            name: "out".to_owned(),
            hash: name,
            size: 6,
        }];
    }
    for change in [
        first,
        entry(&granted, 2, report(1, PASSES)),
        entry(&granted, 3, complete("once")),
    ] {
        assert_eq!(apply_change(store, id, change).await, ChangeAnswer::Applied);
    }
    (id, entry(&granted, 4, EntryKind::Progress))
}

pub(super) async fn purge_removes_expired_data_and_keeps_tombstones(fixture: StoreFixture) {
    let store = fixture.open().await;
    let (id, late) = complete_task(store.as_ref(), 1).await;
    let lines = store.journal(id, 0, 10).await.unwrap();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0].event, r#"{"seq":1,"type":"first"}"#);
    assert_eq!(store.journal(id, 1, 10).await.unwrap().len(), 1);
    assert_eq!(
        store.purge_expired(3_600_000, 100).await.unwrap(),
        0,
        "nothing is that old"
    );
    assert_eq!(store.files(id).await.unwrap().len(), 1);
    let open = task(2, 0, &[]);
    store.submit(open.clone()).await.unwrap();
    // A negative age: everything that was written before this moment is old enough.
    while store.purge_expired(-60_000, 1).await.unwrap() > 0 {}
    assert!(store.journal(id, 0, 10).await.unwrap().is_empty());
    assert!(store.files(id).await.unwrap().is_empty());
    assert_eq!(
        store.blob_state(hash(b"file 1")).await.unwrap(),
        BlobState::Missing
    );
    let (view, _) = store.task(id).await.unwrap().unwrap();
    assert_eq!((view.row.lease.epoch, view.cost.calls), (1, 1));
    assert_eq!(store.report(id, 1).await.unwrap().unwrap().body, PASSES);
    assert!(store.result(id).await.unwrap().is_some());
    assert!(!store.log(id, 0, 10).await.unwrap().is_empty());
    let answer = apply_change(store.as_ref(), id, late).await;
    assert!(matches!(answer, ChangeAnswer::Refused { .. }), "{answer:?}");
    let mut again = task(3, 0, &[]);
    again.idempotency = Some(("key 1".to_owned(), [2; 32]));
    let fresh = store.submit(again.clone()).await.unwrap();
    assert_eq!(
        fresh,
        SubmitOutcome::New(again.task_id),
        "the key is free again"
    );
    assert!(store.task(open.task_id).await.unwrap().is_some());
}

pub(super) async fn unusual_text_and_large_costs_are_stored(fixture: StoreFixture) {
    let store = fixture.open().await;
    let mut new = task(1, 9, &["ünï \"quoted\" \\"]);
    "nul \0 and \u{1f9f5} and ' and \\".clone_into(&mut new.title);
    r#"{"description":"\u0000"}"#.clone_into(&mut new.body);
    let (id, body) = (new.task_id, new.body.clone());
    store.submit(new).await.unwrap();
    let granted = store
        .assign_tasks(vec![want("w\0", 1, &["ünï \"quoted\" \\", "x\0"])])
        .await
        .unwrap();
    let granted = granted.first().expect("its labels fit");
    assert_eq!(granted.body, body);
    let mut costly = entry(granted, 1, begin(1));
    if let TaskChange::Entry(costly) = &mut costly {
        let cost = |call: &str| CostEntry {
            attempt_number: 1,
            call_id: call.to_owned(),
            cost: Cost {
                micro_usd: Some(MicroUsd(i64::MAX as u64 / 3)),
                source: CostSource::Estimated,
            },
            usage: Usage::default(),
            model: None,
        };
        costly.header.costs = vec![cost("a"), cost("a"), cost("b\0")];
    }
    assert_eq!(
        apply_change(store.as_ref(), id, costly).await,
        ChangeAnswer::Applied
    );
    let cancel = TaskChange::Lease(LeaseInput::Cancel {
        by: "me".to_owned(),
        reason: "because\0".to_owned(),
    });
    assert_eq!(
        apply_change(store.as_ref(), id, cancel).await,
        ChangeAnswer::Applied
    );
    let closed = EntryKind::CloseAttempt(AttemptClosing {
        attempt_number: 1,
        closing: AttemptEnd::Cancelled,
    });
    assert_eq!(
        apply_change(store.as_ref(), id, entry(granted, 2, closed)).await,
        ChangeAnswer::Applied
    );
    let (view, read) = store.task(id).await.unwrap().unwrap();
    assert_eq!(read, body);
    assert!(view.title.contains("\u{1f9f5} and ' and \\"));
    assert_eq!((view.cost.calls, view.cost.estimated), (3, 2));
    let page = store.tasks(ListFilter::default(), 5).await.unwrap();
    assert_eq!(page.tasks[0].labels, ["ünï \"quoted\" \\"]);
    assert_eq!(store.overview(None).await.unwrap().cost.calls, 3);
}

//! Properties of every attestation: it reads back as written, and any change to it is detected.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use proptest::prelude::*;
use selvedge_core::model::{Report, ReportStatus, ReportSummary, TaskId, Timestamp};
use uuid::Uuid;

use super::tree::{GitFileKind, GitFolder, GitObjectHasher, TreeDigest};
use super::*;

fn statement() -> Statement {
    let report = Report {
        task_id: TaskId::new(Uuid::from_u128(7)),
        attempt_number: 1,
        status: ReportStatus::Pass,
        summary: ReportSummary::default(),
        checks: Vec::new(),
        gates: Vec::new(),
        guard: None,
        crossed: None,
        changed_tools: None,
        written_files: Vec::new(),
        sandbox: None,
        tree: None,
        started_at: Timestamp::UNIX_EPOCH,
        duration_ms: 1,
        setup_ms: None,
    };
    let subject = Subject {
        name: ".".to_owned(),
        digest: GitFolder::default().ids().into(),
    };
    verification_statement(&report, subject, vec!["out \u{1f9f5}.xml".to_owned()])
}

static KEY: LazyLock<PrivateKey> = LazyLock::new(|| PrivateKey::generate().unwrap());
static SIGNED: LazyLock<Vec<u8>> =
    LazyLock::new(|| encode_attestation(&statement(), Some(&KEY)).unwrap());

#[test]
fn attestation_round_trip_signed_or_not() {
    let key = KEY.public();
    let document = open_attestation(&SIGNED, Some(&key)).unwrap();
    assert_eq!(
        (document.statement, document.is_signed),
        (statement(), true)
    );
    let bare = encode_attestation(&statement(), None).unwrap();
    let document = open_attestation(&bare, None).unwrap();
    assert_eq!(
        (document.statement, document.is_signed),
        (statement(), false)
    );
}

#[test]
fn attestation_signer_is_verified() {
    let key = KEY.public();
    let other = PrivateKey::generate().unwrap();
    let refused = |file: &[u8], key: Option<&PublicKey>| open_attestation(file, key).unwrap_err();
    assert!(matches!(refused(&SIGNED, None), OpenError::NoKey(id) if id == key.id()));
    let by_other = encode_attestation(&statement(), Some(&other)).unwrap();
    assert!(
        matches!(refused(&by_other, Some(&key)), OpenError::OtherKey(id) if id == other.public().id())
    );
    let bare = encode_attestation(&statement(), None).unwrap();
    assert_eq!(refused(&bare, Some(&key)), OpenError::NotSigned);
    // Another key's signature under the right key id.
    let text = String::from_utf8(by_other).unwrap();
    let renamed = text.replace(&other.public().id(), &key.id());
    assert_eq!(
        refused(renamed.as_bytes(), Some(&key)),
        OpenError::Signature
    );
}

#[test]
fn key_files_are_readable_by_other_tools() {
    let (private, public) = (KEY.to_pem().unwrap(), KEY.public().to_pem().unwrap());
    assert!(private.starts_with("-----BEGIN PRIVATE KEY-----\n"));
    assert!(public.starts_with("-----BEGIN PUBLIC KEY-----\n"));
    let again = PrivateKey::from_pem(&private).unwrap();
    assert_eq!(
        again.public().id(),
        PublicKey::from_pem(&public).unwrap().id()
    );
    assert!(PrivateKey::from_pem(&public).is_err());
    assert!(PublicKey::from_pem(&private).is_err());
    assert!(PublicKey::from_pem("").is_err());
}

/// Ways to tamper with bytes.
#[derive(Debug, Clone)]
enum Change {
    Flip(prop::sample::Index, u8),
    Insert(prop::sample::Index, u8),
    Remove(prop::sample::Index),
    Swap(prop::sample::Index, prop::sample::Index),
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        (at(), 1..=255_u8).prop_map(|(at, by)| Change::Flip(at, by)),
        (at(), prop_oneof![Just(b' '), Just(b'\n'), any::<u8>()])
            .prop_map(|(at, byte)| Change::Insert(at, byte)),
        at().prop_map(Change::Remove),
        (at(), at()).prop_map(|(one, other)| Change::Swap(one, other)),
    ]
}

impl Change {
    fn of(&self, bytes: &[u8]) -> Vec<u8> {
        let mut changed = bytes.to_vec();
        match self {
            Self::Flip(at, by) => changed[at.index(bytes.len())] ^= by,
            Self::Insert(at, byte) => changed.insert(at.index(bytes.len() + 1), *byte),
            Self::Remove(at) => drop(changed.remove(at.index(bytes.len()))),
            Self::Swap(one, other) => {
                changed.swap(one.index(bytes.len()), other.index(bytes.len()));
            }
        }
        changed
    }
}

/// The contents of each file of a tree, by path.
type Files = BTreeMap<String, Vec<u8>>;

/// A tree: file contents by paths of few short components, so that names of files and folders collide.
fn tree() -> impl Strategy<Value = Files> {
    prop::collection::btree_map(
        "[ab]{1,2}(/[ab.-]{1,2}){0,2}",
        prop::collection::vec(any::<u8>(), 0..4),
        1..8,
    )
}

fn named(files: &Files, kind: GitFileKind) -> TreeDigest {
    let mut folder = GitFolder::default();
    for (path, bytes) in files {
        let mut blob = GitObjectHasher::blob(bytes.len() as u64);
        blob.update(bytes);
        folder.insert(path.as_bytes(), kind, blob.ids());
    }
    folder.ids().into()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn attestation_changed_byte_is_detected(change in change()) {
        let changed = change.of(&SIGNED);
        prop_assume!(changed != *SIGNED);
        prop_assert!(open_attestation(&changed, Some(&KEY.public())).is_err());
    }

    #[test]
    fn tree_change_changes_its_digest(
        files in tree(), which in any::<prop::sample::Index>(), change in change(), new in "[ab]{3}",
    ) {
        let name = named(&files, GitFileKind::File);
        prop_assert_eq!(&name, &named(&files, GitFileKind::File));
        let path = files.keys().nth(which.index(files.len())).unwrap().clone();
        let bytes = files[&path].clone();
        let with = |edit: &dyn Fn(&mut Files)| {
            let mut edited = files.clone();
            edit(&mut edited);
            named(&edited, GitFileKind::File)
        };
        let differs = |other: TreeDigest| other.git_tree != name.git_tree && other.git_tree_sha256 != name.git_tree_sha256;
        if !bytes.is_empty() {
            let changed = change.of(&bytes);
            prop_assume!(changed != bytes);
            prop_assert!(differs(with(&|files| drop(files.insert(path.clone(), changed.clone())))));
        }
        prop_assert!(differs(with(&|files| drop(files.remove(&path)))));
        prop_assert!(differs(with(&|files| drop(files.insert(new.clone(), bytes.clone())))));
        prop_assert!(differs(named(&files, GitFileKind::Executable)));
        prop_assert!(differs(named(&files, GitFileKind::Link)));
    }
}

//! Tests of transferring snapshots to another machine.

use selvedge_engine::workspace::Workspace;

use super::fixture::WorkspaceFixture;

#[test]
fn a_tree_is_put_together_from_the_same_start_and_a_pack_of_what_is_new() {
    let fixture = WorkspaceFixture::folder();
    fixture.write("large", "same ".repeat(40_000));
    let start = fixture.snapshot().tree;
    fixture.write("new", "made here");
    let made = fixture.snapshot().tree;
    let pack = fixture.workspace().pack(&made, Some(&start)).unwrap();
    let complete_pack = fixture.workspace().pack(&made, None).unwrap();

    // The same folder with a shadow directory of another machine.
    let other = Workspace::open(&fixture.dir(), &fixture.outside("there")).unwrap();
    assert!(!other.contains(&made).unwrap());
    assert!(
        !other.unpack(pack.clone(), &made).unwrap(),
        "its start is missing"
    );
    assert!(other.unpack(complete_pack, &made).unwrap());

    std::fs::remove_file(fixture.path("new")).unwrap();
    let fresh = Workspace::open(&fixture.dir(), &fixture.outside("fresh")).unwrap();
    let fresh_start = fresh.snapshot("start").unwrap().tree;
    assert_eq!(fresh_start, start, "equal bytes have equal names");
    assert!(fresh.unpack(pack, &made).unwrap());
    fresh.restore(&made).unwrap();
    assert_eq!(fixture.read("new"), b"made here");
}

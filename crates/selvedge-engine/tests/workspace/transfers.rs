//! Snapshots on their way to another machine.

use selvedge_engine::workspace::Workspace;

use super::fixture::WorkspaceFixture;

#[test]
fn a_tree_is_put_together_from_the_same_start_and_a_pack_of_what_is_new() {
    let here = WorkspaceFixture::folder();
    here.write("large", "same ".repeat(40_000));
    let start = here.snapshot().tree;
    here.write("new", "made here");
    let made = here.snapshot().tree;
    let pack = here.workspace().pack(&made, Some(&start)).unwrap();
    let whole = here.workspace().pack(&made, None).unwrap();

    // The same folder with a shadow directory of another machine.
    let there = Workspace::open(&here.dir(), &here.outside("there")).unwrap();
    assert!(!there.contains(&made).unwrap());
    assert!(
        !there.unpack(pack.clone(), &made).unwrap(),
        "its start is missing"
    );
    assert!(there.unpack(whole, &made).unwrap());

    std::fs::remove_file(here.path("new")).unwrap();
    let fresh = Workspace::open(&here.dir(), &here.outside("fresh")).unwrap();
    let begun = fresh.snapshot("start").unwrap().tree;
    assert_eq!(begun, start, "equal bytes have equal names");
    assert!(fresh.unpack(pack, &made).unwrap());
    fresh.restore(&made).unwrap();
    assert_eq!(here.read("new"), b"made here");
}

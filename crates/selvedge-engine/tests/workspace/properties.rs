//! What holds for every tree: a snapshot brings back all it covers, a restore loses no byte that was
//! there before it, and a snapshot twice is the same. `PROPTEST_CASES` sets how many trees.

use std::path::Path;

use proptest::prelude::*;
use selvedge_engine::workspace::{LeftOuts, Limits, WorkspaceError};

use super::fixture::{Fixture, Picture, Thing};
use super::random_trees::{Act, acts, open_all};

/// Small enough for random files to lie on both sides.
const LIMITS: Limits = Limits {
    file: 200,
    ignored_file: 40,
    ignored_total: 120,
    ignored_count: 8,
};

/// Each case makes about 20 processes.
const CASES: u32 = 48;

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(CASES)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases()) })]

    #[test]
    fn a_scrambled_tree_comes_back_and_no_byte_of_the_scramble_is_lost(
        is_repository: bool,
        tree in acts(24),
        scramble in acts(16),
    ) {
        let fixture = if is_repository { Fixture::repository() } else { Fixture::folder() };
        check(&fixture, &tree, &scramble)?;
        // A folder of the test that may not be written could not be removed.
        open_all(&fixture.dir());
    }
}

fn check(fixture: &Fixture, tree: &[Act], scramble: &[Act]) -> Result<(), TestCaseError> {
    let workspace = fixture.workspace().with_limits(LIMITS);
    for act in tree {
        act.perform(fixture);
    }
    let first = fixture.picture();
    let snapshot = workspace.snapshot("first").unwrap();
    prop_assert_eq!(
        fixture.picture(),
        first.clone(),
        "a snapshot changed the workspace"
    );
    prop_assert_eq!(&workspace.snapshot("again").unwrap().tree, &snapshot.tree);

    for act in scramble {
        act.perform(fixture);
    }
    let second = fixture.picture();
    let scrambled = workspace.snapshot("scrambled").unwrap();
    let restored = match workspace.restore(&snapshot.tree) {
        Err(WorkspaceError::InTheWay { .. }) => {
            prop_assert_eq!(
                fixture.picture(),
                second,
                "a refused restore changed something"
            );
            return Ok(());
        }
        other => other.unwrap(),
    };
    let third = fixture.picture();
    all_covered_is_back(&first, &third, &snapshot.left_out)?;
    let now = workspace.snapshot("now").unwrap();
    // What could not be covered just before the restore was left alone by it, so only without any
    // such thing is the whole tree the same.
    if scrambled.left_out.total == 0 && now.left_out == snapshot.left_out {
        prop_assert_eq!(&now.tree, &snapshot.tree, "more than the snapshot is there");
    }

    match workspace.restore(&restored.kept_back) {
        // What the first restore left alone may now stand in the way, and is told.
        Err(WorkspaceError::InTheWay { .. }) => {}
        other => {
            other.unwrap();
            let fourth = fixture.picture();
            all_covered_is_back(&second, &fourth, &scrambled.left_out)?;
            no_file_is_lost(&second, &fourth)?;
        }
    }
    Ok(())
}

/// Everything but what is listed as left out is as it was.
fn all_covered_is_back(
    before: &Picture,
    after: &Picture,
    left_out: &LeftOuts,
) -> Result<(), TestCaseError> {
    prop_assert!(left_out.total <= LeftOuts::LISTED as u64);
    for (path, thing) in before {
        let is_left_out = |it: &Path| path.starts_with(it);
        let holds_only_left_out = matches!(thing, Thing::Folder { .. })
            && !before.iter().any(|(inner, it)| {
                inner.starts_with(path)
                    && !is_repository_data(inner)
                    && !left_out
                        .listed
                        .iter()
                        .any(|out| inner.starts_with(&out.path))
                    && (!matches!(it, Thing::Folder { .. }) || is_empty(before, inner))
            });
        if holds_only_left_out || left_out.listed.iter().any(|it| is_left_out(&it.path)) {
            continue;
        }
        prop_assert_eq!(after.get(path), Some(thing), "{:?} is not back", path);
    }
    Ok(())
}

/// Not even what is left out: nothing may touch it.
fn no_file_is_lost(before: &Picture, after: &Picture) -> Result<(), TestCaseError> {
    let is_file = |thing: &&Thing| !matches!(thing, Thing::Folder { .. });
    for (path, thing) in before.iter().filter(|(_, thing)| is_file(thing)) {
        prop_assert_eq!(after.get(path), Some(thing), "{:?} is lost", path);
    }
    Ok(())
}

/// A repository's own records, which no snapshot covers.
fn is_repository_data(path: &Path) -> bool {
    path.iter().any(|part| part.eq_ignore_ascii_case(".git"))
}

fn is_empty(picture: &Picture, folder: &Path) -> bool {
    !picture.keys().any(|path| path.parent() == Some(folder))
}

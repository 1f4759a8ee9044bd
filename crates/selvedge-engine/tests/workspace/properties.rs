//! What holds for every tree: a snapshot brings back all it covers, a restore loses no byte that was
//! there before it, and a snapshot twice is the same. `PROPTEST_CASES` sets how many trees.

use std::cell::RefCell;
use std::fmt;
use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use selvedge_engine::workspace::{ExcludedPaths, SnapshotLimits, WorkspaceError};

use super::fixture::{FileState, TreeListing, WorkspaceFixture};
use super::random_trees::{TreeOperation, acts, open_all};

/// Small enough for random files to lie on both sides.
const LIMITS: SnapshotLimits = SnapshotLimits {
    file: 200,
    ignored_file: 40,
    ignored_total: 120,
    ignored_count: 8,
};

/// Each case makes about 20 processes.
const CASES: u32 = 64;

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(CASES)
}

#[test]
fn a_scrambled_tree_comes_back_and_no_byte_of_the_scramble_is_lost() {
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases())
    };
    let seen = RefCell::new(Seen::default());
    let trees = (any::<bool>(), acts(24), acts(16));
    let held = TestRunner::new(config).run(&trees, |(is_repository, tree, scramble)| {
        let fixture = if is_repository {
            WorkspaceFixture::repository()
        } else {
            WorkspaceFixture::folder()
        };
        check(&fixture, &tree, &scramble, &mut seen.borrow_mut())?;
        // A folder of the test that may not be written could not be removed.
        open_all(&fixture.dir());
        Ok(())
    });
    if let Err(failure) = held {
        panic!("{failure}\n{seen:?}");
    }
    println!("{}", seen.borrow());
}

/// What the trees were made of, and what became of them: a row of `just trust`.
#[derive(Debug, Default)]
struct Seen {
    trees: usize,
    files: usize,
    links: usize,
    empty_folders: usize,
    names_that_are_no_text: usize,
    nested_repositories: usize,
    left_out: u64,
    refused: usize,
}

impl Seen {
    fn count(&mut self, picture: &TreeListing, left_out: &ExcludedPaths) {
        self.trees += 1;
        self.left_out += left_out.total;
        for (path, thing) in picture {
            self.names_that_are_no_text += usize::from(path.to_str().is_none());
            match thing {
                FileState::File { .. } => self.files += 1,
                FileState::Link(_) => self.links += 1,
                FileState::Folder { .. } => {
                    self.empty_folders += usize::from(is_empty(picture, path));
                }
                FileState::Records => self.nested_repositories += 1,
                FileState::Special => {}
            }
        }
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            trees,
            files,
            links,
            empty_folders,
            names_that_are_no_text,
            nested_repositories,
            left_out,
            refused,
        } = self;
        write!(
            f,
            "| {trees} | {files} | {links} | {empty_folders} | {names_that_are_no_text} | \
             {nested_repositories} | {left_out} | {refused} | 0 |"
        )
    }
}

fn check(
    fixture: &WorkspaceFixture,
    tree: &[TreeOperation],
    scramble: &[TreeOperation],
    seen: &mut Seen,
) -> Result<(), TestCaseError> {
    let workspace = fixture.workspace().with_limits(LIMITS);
    for act in tree {
        act.perform(fixture);
    }
    let first = fixture.listing();
    let snapshot = workspace.snapshot("first").unwrap();
    prop_assert_eq!(
        fixture.listing(),
        first.clone(),
        "a snapshot changed the workspace"
    );
    prop_assert_eq!(&workspace.snapshot("again").unwrap().tree, &snapshot.tree);
    seen.count(&first, &snapshot.excluded);

    for act in scramble {
        act.perform(fixture);
    }
    let second = fixture.listing();
    let scrambled = workspace.snapshot("scrambled").unwrap();
    let restored = match workspace.restore(&snapshot.tree) {
        Err(WorkspaceError::UncoveredObstacle { .. }) => {
            seen.refused += 1;
            prop_assert_eq!(
                fixture.listing(),
                second,
                "a refused restore changed something"
            );
            return Ok(());
        }
        other => other.unwrap(),
    };
    let third = fixture.listing();
    all_covered_is_back(&first, &third, &snapshot.excluded)?;
    let now = workspace.snapshot("now").unwrap();
    // What could not be covered just before the restore was left alone by it, so only without any
    // such thing is the whole tree the same.
    if scrambled.excluded.total == 0 && now.excluded == snapshot.excluded {
        prop_assert_eq!(&now.tree, &snapshot.tree, "more than the snapshot is there");
    }

    match workspace.restore(&restored.backup_tree) {
        // What the first restore left alone may now stand in the way, and is told.
        Err(WorkspaceError::UncoveredObstacle { .. }) => {}
        other => {
            other.unwrap();
            let fourth = fixture.listing();
            all_covered_is_back(&second, &fourth, &scrambled.excluded)?;
            no_file_is_lost(&second, &fourth)?;
        }
    }
    Ok(())
}

/// Everything but what is listed as left out is as it was.
fn all_covered_is_back(
    before: &TreeListing,
    after: &TreeListing,
    left_out: &ExcludedPaths,
) -> Result<(), TestCaseError> {
    prop_assert!(left_out.total <= ExcludedPaths::MAX_LISTED as u64);
    for (path, thing) in before {
        let is_left_out = |it: &Path| path.starts_with(it);
        let holds_only_left_out = matches!(thing, FileState::Folder { .. })
            && !before.iter().any(|(inner, it)| {
                inner.starts_with(path)
                    && !is_repository_data(inner)
                    && !left_out
                        .listed
                        .iter()
                        .any(|out| inner.starts_with(&out.path))
                    && (!matches!(it, FileState::Folder { .. }) || is_empty(before, inner))
            });
        if holds_only_left_out || left_out.listed.iter().any(|it| is_left_out(&it.path)) {
            continue;
        }
        prop_assert_eq!(after.get(path), Some(thing), "{:?} is not back", path);
    }
    Ok(())
}

/// Not even what is left out: nothing may touch it.
fn no_file_is_lost(before: &TreeListing, after: &TreeListing) -> Result<(), TestCaseError> {
    let is_file = |thing: &&FileState| !matches!(thing, FileState::Folder { .. });
    for (path, thing) in before.iter().filter(|(_, thing)| is_file(thing)) {
        prop_assert_eq!(after.get(path), Some(thing), "{:?} is lost", path);
    }
    Ok(())
}

/// A repository's own records, which no snapshot covers.
fn is_repository_data(path: &Path) -> bool {
    path.iter().any(|part| part.eq_ignore_ascii_case(".git"))
}

fn is_empty(picture: &TreeListing, folder: &Path) -> bool {
    !picture.keys().any(|path| path.parent() == Some(folder))
}

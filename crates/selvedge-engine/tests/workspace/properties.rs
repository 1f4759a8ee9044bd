//! Properties of all trees: a snapshot restores everything that it covers, a restore loses no bytes that existed before
//! it, and taking a snapshot twice gives the same tree. `PROPTEST_CASES` sets the number of trees.

use std::cell::RefCell;
use std::fmt;
use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use selvedge_core::model::TreeId;
use selvedge_engine::workspace::{ExcludedPaths, SnapshotLimits, Workspace, WorkspaceError};

use super::fixture::{FileState, TreeListing, WorkspaceFixture};
use super::random_trees::{TreeOperation, acts, open_all};

/// Small enough for random files to be on both sides.
const LIMITS: SnapshotLimits = SnapshotLimits {
    file: 200,
    ignored_file: 40,
    ignored_total: 120,
    ignored_count: 8,
};

/// Each case starts about 20 processes.
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
    let result = TestRunner::new(config).run(&trees, |(is_repository, tree, scramble)| {
        let fixture = if is_repository {
            WorkspaceFixture::repository()
        } else {
            WorkspaceFixture::folder()
        };
        check(&fixture, &tree, &scramble, &mut seen.borrow_mut())?;
        // A read-only folder of the test could not be removed.
        open_all(&fixture.dir());
        Ok(())
    });
    if let Err(failure) = result {
        panic!("{failure}\n{seen:?}");
    }
    println!("{}", seen.borrow());
}

/// Counts of what the trees contained and of rejected restores: a row of `just trust`.
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
    fn count(&mut self, listing: &TreeListing, excluded: &ExcludedPaths) {
        self.trees += 1;
        self.left_out += excluded.total;
        for (path, state) in listing {
            self.names_that_are_no_text += usize::from(path.to_str().is_none());
            match state {
                FileState::File { .. } => self.files += 1,
                FileState::Link(_) => self.links += 1,
                FileState::Folder { .. } => {
                    self.empty_folders += usize::from(is_empty(listing, path));
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

/// The cached content of stored trees equals what git reads.
fn all_remembered_is_stored(
    fixture: &WorkspaceFixture,
    workspace: &Workspace,
    [one, other]: [&TreeId; 2],
) -> Result<(), TestCaseError> {
    let opened = fixture.workspace();
    prop_assert_eq!(
        workspace.changed_files(one, other).unwrap(),
        opened.changed_files(one, other).unwrap()
    );
    for tree in [one, other] {
        prop_assert_eq!(
            workspace.read_files(tree, |_| true).unwrap(),
            opened.read_files(tree, |_| true).unwrap()
        );
    }
    Ok(())
}

fn check(
    fixture: &WorkspaceFixture,
    tree: &[TreeOperation],
    scramble: &[TreeOperation],
    seen: &mut Seen,
) -> Result<(), TestCaseError> {
    let workspace = fixture.workspace().with_limits(LIMITS);
    for operation in tree {
        operation.perform(fixture);
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

    for operation in scramble {
        operation.perform(fixture);
    }
    let second = fixture.listing();
    let scrambled = workspace.snapshot("scrambled").unwrap();
    all_remembered_is_stored(fixture, &workspace, [&snapshot.tree, &scrambled.tree])?;
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
    // A restore does not change paths that were excluded just before it, so the whole tree is the same only if there
    // were none.
    if scrambled.excluded.total == 0 && now.excluded == snapshot.excluded {
        prop_assert_eq!(&now.tree, &snapshot.tree, "more than the snapshot is there");
    }

    match workspace.restore(&restored.backup_tree) {
        // Paths that the first restore did not change may now be in the way, which is reported.
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

/// Asserts that everything except for excluded paths is the same.
fn all_covered_is_back(
    before: &TreeListing,
    after: &TreeListing,
    excluded: &ExcludedPaths,
) -> Result<(), TestCaseError> {
    prop_assert!(excluded.total <= ExcludedPaths::MAX_LISTED as u64);
    for (path, state) in before {
        let is_excluded = |it: &Path| path.starts_with(it);
        let has_only_excluded = matches!(state, FileState::Folder { .. })
            && !before.iter().any(|(inner, it)| {
                inner.starts_with(path)
                    && !is_repository_data(inner)
                    && !excluded
                        .listed
                        .iter()
                        .any(|out| inner.starts_with(&out.path))
                    && (!matches!(it, FileState::Folder { .. }) || is_empty(before, inner))
            });
        if has_only_excluded || excluded.listed.iter().any(|it| is_excluded(&it.path)) {
            continue;
        }
        prop_assert_eq!(after.get(path), Some(state), "{:?} is not back", path);
    }
    Ok(())
}

/// Asserts that no file is lost, not even an excluded one.
fn no_file_is_lost(before: &TreeListing, after: &TreeListing) -> Result<(), TestCaseError> {
    let is_file = |state: &&FileState| !matches!(state, FileState::Folder { .. });
    for (path, state) in before.iter().filter(|(_, state)| is_file(state)) {
        prop_assert_eq!(after.get(path), Some(state), "{:?} is lost", path);
    }
    Ok(())
}

/// Returns whether a path is in a `.git`, which no snapshot covers.
fn is_repository_data(path: &Path) -> bool {
    path.iter().any(|part| part.eq_ignore_ascii_case(".git"))
}

fn is_empty(listing: &TreeListing, folder: &Path) -> bool {
    !listing.keys().any(|path| path.parent() == Some(folder))
}

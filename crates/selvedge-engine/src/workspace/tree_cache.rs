//! Remembers the content of stored trees, so that git need not list what this process has stored or read before. The id
//! of a tree is the hash of its content, so an entry never becomes wrong.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use selvedge_core::model::TreeId;

use super::target::RestoreTarget;

/// A run uses the tree that it began from, the attempt's, and sometimes a composed one.
const MAX_TREES: usize = 4;
/// Maximum number of files of all remembered trees together: about 15 MB. Larger trees are read from git.
const MAX_FILES: usize = 100_000;

/// Trees with their content, the one that was used last at the end.
type RecentTrees = VecDeque<(TreeId, Arc<RestoreTarget>)>;

/// The content of the last trees, shared by all folders that use the same objects.
#[derive(Debug, Clone, Default)]
pub(super) struct TreeCache {
    trees: Arc<Mutex<RecentTrees>>,
}

impl TreeCache {
    pub(super) fn get(&self, tree: &TreeId) -> Option<Arc<RestoreTarget>> {
        let mut trees = self.lock();
        let at = trees.iter().position(|(id, _)| id == tree)?;
        let found = trees.remove(at)?;
        let content = Arc::clone(&found.1);
        trees.push_back(found);
        Some(content)
    }

    /// Whether a tree with so many files can be remembered.
    pub(super) const fn has_room_for(files: usize) -> bool {
        files <= MAX_FILES
    }

    /// Remembers a tree, and removes the least recently used one. `content` is called unless the tree is known. A tree
    /// that is too large is not remembered.
    pub(super) fn put(
        &self,
        tree: &TreeId,
        content: impl FnOnce() -> RestoreTarget,
    ) -> Arc<RestoreTarget> {
        if let Some(known) = self.get(tree) {
            return known;
        }
        let content = Arc::new(content());
        if !Self::has_room_for(content.files.len()) {
            return content;
        }
        let mut trees = self.lock();
        trees.push_back((tree.clone(), Arc::clone(&content)));
        let is_too_much = |trees: &RecentTrees| {
            let files: usize = trees.iter().map(|(_, content)| content.files.len()).sum();
            trees.len() > MAX_TREES || files > MAX_FILES
        };
        while is_too_much(&trees) {
            trees.pop_front();
        }
        content
    }

    fn lock(&self) -> MutexGuard<'_, RecentTrees> {
        self.trees.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! Selects the originals that replace changed files: in Rust with tests that moved with their code, and without tests
//! whose changes are declared.

use std::collections::BTreeMap;

use selvedge_core::crossing::{
    BaseFiles, CrossedFile, CrossingContext, ExpectedChanges, MergeResult, ProjectSide,
    RenamedOriginals, Replacement, find_crossed_files, rename_originals,
};
use selvedge_core::guard::ChangedFile;
use selvedge_core::model::Step;
use selvedge_syntax::{
    MovedExamples, SourceVersions, SplitTests, find_moved_tests, merge_selected_tests, split_tests,
};

/// The changed files of a project, and its state before.
pub(super) struct ProjectChanges<'a> {
    pub(super) base: &'a BaseFiles,
    pub(super) files: &'a [ChangedFile<'a>],
    pub(super) steps: &'a [Step],
    pub(super) expected: &'a ExpectedChanges<'a>,
    /// Whether the module that an added file defines exists already.
    pub(super) is_installed: &'a dyn Fn(&str) -> bool,
}

impl ProjectChanges<'_> {
    /// The changed files that are not on the work side alone; second, the same with files that the attempt renamed or
    /// moved.
    pub(super) fn find_originals(&self) -> (Vec<CrossedFile>, Option<RenamedOriginals>) {
        let versions: Vec<SourceVersions<'_>> = self
            .files
            .iter()
            .map(|change| SourceVersions {
                path: change.path,
                before: change.before,
                after: change.after,
            })
            .collect();
        let examples = MovedExamples::find(versions.iter().copied());
        let is_expected = |id: &str| self.expected.has_test(id);
        let changes = self.files.iter();
        let mut texts: BTreeMap<String, Vec<u8>> = changes
            .filter_map(|change| {
                let before = change.before?;
                let text = merge_selected_tests(change.path, before, change.after, &is_expected);
                Some((change.path.to_owned(), text?))
            })
            .collect();
        let files = self.files_to_replace(&texts, &examples);
        let renamed = rename_originals(self.base, self.files, &files);
        let moved = find_moved_tests(&versions);
        if moved.originals.is_empty() {
            return (files, renamed);
        }
        texts.extend(moved.originals);
        let with_moved = self.files_to_replace(&texts, &examples);
        let mut renamed =
            rename_originals(self.base, self.files, &with_moved).unwrap_or(RenamedOriginals {
                names: Vec::new(),
                files: with_moved,
            });
        renamed.names.extend(moved.names);
        (files, Some(renamed))
    }

    /// The files to replace; `texts` overrides the originals of some.
    fn files_to_replace(
        &self,
        texts: &BTreeMap<String, Vec<u8>>,
        examples: &MovedExamples,
    ) -> Vec<CrossedFile> {
        let split = |change: &ChangedFile<'_>| {
            let text = texts.get(change.path).map(Vec::as_slice);
            match split_tests(change.path, text.or(change.before), change.after, examples) {
                SplitTests::Same => MergeResult::Same,
                SplitTests::Merged(bytes) => MergeResult::Merged(bytes),
                SplitTests::Unreadable => MergeResult::Unreadable,
            }
        };
        let context = CrossingContext {
            is_installed: self.is_installed,
            split: &split,
        };
        let mut files = find_crossed_files(self.base, self.files, self.steps, &context);
        for file in files
            .iter_mut()
            .filter(|file| file.side == ProjectSide::Test)
        {
            let text = texts.get(&file.path);
            if let Some(text) = text.filter(|_| file.replacement == Replacement::Base) {
                file.replacement = Replacement::Merged(text.clone());
            }
        }
        files
    }
}

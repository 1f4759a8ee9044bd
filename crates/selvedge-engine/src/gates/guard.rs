//! The guard at work: what an attempt changed is read from the two snapshots, judged by
//! [`selvedge_core::guard`], and what decides how the checks run is put back before they do. The
//! tree that is judged from then on is the one with that put back.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use selvedge_core::guard::{
    Action, ChangedFile, Finding, FindingKind, Protection, Strength, files_to_restore, inspect,
};
use selvedge_core::model::{RunSpec, TreeId};

use super::trees::{Trees, blocking};
use crate::checks::CheckAborted;
use crate::workspace::{self, Compared, Content, Workspace, WorkspaceError};

/// Folders of installed programs and of builds: their byte code is not the attempt's to run from.
pub(super) const NOT_OWN: [&str; 8] = [
    ".git",
    "node_modules",
    ".venv",
    "venv",
    ".tox",
    ".nox",
    "site-packages",
    "target",
];

/// Judges an attempt's changes and puts back what is protected. `since` is when the run began, in
/// seconds since 1970.
pub(super) async fn guard(
    trees: &mut Trees,
    protection: Protection,
    since: i64,
    name: String,
) -> Result<Vec<Finding>, CheckAborted> {
    let (start, judged) = (trees.start.clone(), trees.judged.clone());
    let work = move |workspace: &Workspace| {
        forget_bytecode(workspace.dir(), since);
        if start == judged {
            return Ok((Vec::new(), None));
        }
        let looked = Looked::at(workspace, &stored(&start)?, &stored(&judged)?, &protection)?;
        let findings = looked.findings(&protection);
        let put_back = looked.to_put_back(&findings);
        if put_back.is_empty() {
            return Ok((findings, None));
        }
        workspace.put_back(&stored(&start)?, &put_back)?;
        let snapshot = workspace.snapshot_kept(&name)?;
        Ok((findings, Some(TreeId::new(snapshot.tree.as_str()))))
    };
    let workspace = trees.workspace.clone();
    let (findings, tree) = blocking(&workspace, "the guard cannot compare the trees", work).await?;
    if let Some(tree) = tree {
        trees.judged = tree;
    }
    Ok(findings)
}

/// Puts back, before a later subtask of a plan begins, what earlier ones changed of the files that decide
/// how its checks run; says which. `plan_start` is the tree that the plan began from, `earlier` are the
/// descriptions of the subtasks that were verified. Blocks.
///
/// # Errors
/// Those of snapshots and of [`Workspace::put_back`].
pub fn restore_check_files(
    workspace: &Workspace,
    plan_start: &workspace::TreeId,
    spec: &RunSpec,
    earlier: &[String],
) -> Result<Vec<String>, WorkspaceError> {
    // A glob that does not parse was refused before.
    let Ok(protection) = Protection::new(&spec.protect, &spec.allow, &spec.description) else {
        return Ok(Vec::new());
    };
    forget_bytecode(workspace.dir(), i64::MIN);
    let now = workspace.snapshot("before a subtask")?.tree;
    let looked = Looked::at(workspace, plan_start, &now, &protection)?;
    let findings = looked.findings(&protection);
    let Ok(names) = files_to_restore(spec, earlier, &findings) else {
        return Ok(Vec::new());
    };
    let files = looked
        .0
        .into_iter()
        .filter(|(name, _)| names.contains(name));
    let (restored, paths): (Vec<String>, Vec<PathBuf>) =
        files.map(|(name, file)| (name, file.path)).unzip();
    if !paths.is_empty() {
        workspace.put_back(plan_start, &paths)?;
    }
    Ok(restored)
}

fn stored(tree: &TreeId) -> Result<workspace::TreeId, WorkspaceError> {
    workspace::TreeId::parse(tree.as_str())
}

/// The changed files that matter, and their names as the guard reads them.
pub(super) struct Looked(Vec<(String, Compared)>);

impl FromIterator<Compared> for Looked {
    fn from_iter<I: IntoIterator<Item = Compared>>(files: I) -> Self {
        let named = |file: Compared| (file.path.to_string_lossy().into_owned(), file);
        Self(files.into_iter().map(named).collect())
    }
}

impl Looked {
    fn at(
        workspace: &Workspace,
        start: &workspace::TreeId,
        judged: &workspace::TreeId,
        protection: &Protection,
    ) -> Result<Self, WorkspaceError> {
        let wanted = |path: &Path| protection.wants(&path.to_string_lossy());
        let compared = workspace.compare_files(start, judged, wanted)?;
        Ok(compared.into_iter().collect())
    }

    pub(super) fn findings(&self, protection: &Protection) -> Vec<Finding> {
        let changes: Vec<ChangedFile<'_>> = self
            .0
            .iter()
            .map(|(path, file)| ChangedFile {
                path,
                before: file.before.bytes(),
                after: file.after.bytes(),
            })
            .collect();
        let mut findings = inspect(protection, &changes);
        findings.extend(self.links(protection));
        findings
    }

    /// A protected file that became a link means whatever the link leads to.
    fn links<'a>(&'a self, protection: &'a Protection) -> impl Iterator<Item = Finding> + 'a {
        self.0
            .iter()
            .filter(|(path, file)| file.after == Content::Link && protection.protects(path))
            .map(|(path, file)| Finding {
                path: path.clone(),
                line: None,
                kind: FindingKind::ProtectedChanged,
                strength: Strength::Offence,
                what: "a protected file was replaced by a link".to_owned(),
                action: match file.before {
                    Content::Absent => Action::Remove,
                    Content::Bytes(_) | Content::Link => Action::PutBack,
                },
            })
    }

    fn to_put_back(&self, findings: &[Finding]) -> Vec<PathBuf> {
        let is_meant = |name: &String| {
            findings.iter().any(|finding| {
                finding.path == *name && matches!(finding.action, Action::PutBack | Action::Remove)
            })
        };
        self.0
            .iter()
            .filter(|(name, _)| is_meant(name))
            .map(|(_, file)| file.path.clone())
            .collect()
    }
}

impl Content {
    fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Absent => None,
            Self::Bytes(bytes) => Some(bytes),
            // What a link is was looked at by itself.
            Self::Link => Some(&[]),
        }
    }
}

/// Removes Python's byte code that was written since the run began: a planted one runs in place of
/// its source, and honest one is made again. When a file was changed cannot be forged, unlike the
/// time that it claims.
fn forget_bytecode(folder: &Path, since: i64) {
    let is_cache = folder.file_name().is_some_and(|name| name == "__pycache__");
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        let own = !NOT_OWN.iter().any(|name| entry.file_name() == *name);
        let written_since = || entry.metadata().is_ok_and(|data| data.ctime() >= since);
        if kind.is_dir() && own {
            forget_bytecode(&entry.path(), since);
        } else if is_cache && kind.is_file() && written_since() {
            // One that cannot be removed is the file system's to complain of, when it is run.
            let _ = fs::remove_file(entry.path());
        }
    }
}

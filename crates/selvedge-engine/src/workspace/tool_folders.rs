//! Folders of installed tools and dependencies, which snapshots exclude: records a manifest of their files and finds
//! changes.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use selvedge_core::installed::{InstalledFile, InstalledFiles, has_text};

use super::Workspace;
use super::dir_handle::DirHandle;
use super::error::WorkspaceError;
use super::exclusions::ExcludedPath;
use super::file_records::{self, FileRecord};
use super::file_stats::find_differences;
use super::fingerprint::FileFingerprint;
use super::ids::{BlobHasher, BlobId};
use super::relative::RelativePath;
use super::shadow;
use crate::parallel;
use crate::removal::remove_all;

/// Folders that installers fill with files that checks load or run.
const TOOL_FOLDER_NAMES: [&str; 13] = [
    "node_modules",
    "bower_components",
    ".yarn",
    ".venv",
    "venv",
    ".direnv",
    ".tox",
    ".nox",
    ".eggs",
    "vendor",
    ".bundle",
    "deps",
    "Pods",
];
/// File that marks a folder of any name as a Python environment.
const PYTHON_ENVIRONMENT: &str = "pyvenv.cfg";
/// Folders in `node_modules` whose content tools can generate again.
const NODE_CACHES: [&str; 4] = [".cache", ".vite", ".vite-temp", ".vitest"];
/// Files of package managers that no other program loads.
const PACKAGE_MANAGER_FILES: [(&str, &str); 7] = [
    ("node_modules", ".package-lock.json"),
    ("node_modules", ".modules.yaml"),
    ("node_modules", ".pnpm-workspace-state.json"),
    ("node_modules", ".pnpm-workspace-state-v1.json"),
    ("node_modules", ".yarn-integrity"),
    ("node_modules", ".yarn-state.yml"),
    (".yarn", "install-state.gz"),
];
/// Folders of an environment that its tool empties and fills at each run.
const RUN_FOLDERS: [&str; 4] = ["log", "tmp", ".tmp", "dist"];

/// Maximum size of a file that is hashed, and maximum bytes that are read for one manifest.
const MAX_READ: u64 = 64 << 20;
const MAX_TOTAL: u64 = 512 << 20;

/// Maximum bytes that are read to compare what two setups install.
const MAX_COMPARED: u64 = 4 << 30;
/// Maximum size of a file whose text is needed.
const MAX_TEXT: u64 = 1 << 20;

/// Number of folders from which on threads share them.
const MIN_SHARED_FOLDERS: usize = 128;

/// The first record; changed with the format.
const FORMAT_HEADER: &[u8] = b"selvedge tool folders 2";

/// Whether a folder of this name contains installed tools, if snapshots exclude it.
pub(super) fn is_tool_folder_name(name: &OsStr) -> bool {
    TOOL_FOLDER_NAMES
        .iter()
        .any(|tool| name == OsStr::new(tool))
}

/// The files of all tool folders of a workspace at a moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ToolManifest {
    /// Tool folders, or single tool files in a folder that is otherwise covered.
    folders: BTreeSet<RelativePath>,
    files: BTreeMap<RelativePath, FileRecord>,
}

/// Files of tool folders.
#[derive(Debug, Default)]
pub(super) struct ToolFiles {
    /// Folders of which all files are known.
    pub(super) folders: BTreeSet<PathBuf>,
    pub(super) files: BTreeMap<RelativePath, FileFingerprint>,
}

/// Differences of tool folders from a manifest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ToolChanges {
    /// Added, removed and changed files, relative to the workspace.
    pub(crate) files: Vec<PathBuf>,
    /// The tool folders of these files.
    pub(crate) folders: BTreeSet<PathBuf>,
    /// Caches in tool folders that have changed. They can be generated again.
    pub(crate) caches: BTreeSet<PathBuf>,
}

/// How changes of a path in a tool folder are treated.
#[derive(Debug, PartialEq, Eq)]
enum ToolPathRule {
    /// A check may load the file.
    Tracked,
    /// Part of a cache; the cache at this path is removed.
    Cache(PathBuf),
    /// A tool uses the file only for itself.
    PackageManagerFile,
}

impl Workspace {
    /// Finds the folders of installed tools and dependencies (or files in them) that snapshots exclude.
    pub(crate) fn tool_folders(&self) -> Result<Vec<PathBuf>, WorkspaceError> {
        let survey = self.survey(self.rules(), &HashSet::new())?;
        Ok(self.tool_folders_in(&survey.excluded))
    }

    pub(super) fn tool_folders_in(&self, excluded: &[ExcludedPath]) -> Vec<PathBuf> {
        let is_named = |path: &Path| path.iter().any(is_tool_folder_name);
        let is_environment = |path: &Path| self.dir.join(path).join(PYTHON_ENVIRONMENT).is_file();
        excluded
            .iter()
            .map(|it| &it.path)
            .filter(|path| is_named(path) || is_environment(path))
            .cloned()
            .collect()
    }

    /// Returns the files of tool folders. Those that are `known` are not read again.
    pub(super) fn scan_tools(&self, excluded: &[ExcludedPath], known: ToolFiles) -> ToolFiles {
        let folders = self.tool_folders_in(excluded).into_iter();
        let unknown = folders.filter(|folder| !known.folders.contains(folder));
        let unknown = unknown.map(RelativePath::from).collect();
        let mut tools = known;
        tools.files.extend(scan(&self.dir, &unknown));
        tools
    }

    /// Records the files of tool folders, and saves the manifest for the next call, which reads only files that have
    /// changed since.
    pub(crate) fn update_tool_manifest(
        &self,
        folders: &[PathBuf],
    ) -> Result<ToolManifest, WorkspaceError> {
        let path = self.shadow.dir().join("tools");
        let previous = ToolManifest::load(&path).unwrap_or_default();
        let manifest = ToolManifest::build(&self.dir, folders, &previous, MAX_TOTAL);
        if manifest != previous {
            manifest.save(&path)?;
        }
        Ok(manifest)
    }

    /// Reads the files of all tool folders.
    pub(crate) fn installed_files(&self) -> Result<InstalledFiles, WorkspaceError> {
        Ok(self.read_installed(&self.tool_folders()?))
    }

    /// Reads the files of tool folders, to compare them with those of another setup.
    pub(super) fn read_installed(&self, folders: &[PathBuf]) -> InstalledFiles {
        let nothing = ToolManifest::default();
        let manifest = ToolManifest::build(&self.dir, folders, &nothing, MAX_COMPARED);
        let mut installed = manifest.installed();
        for (path, file) in installed.iter_mut().filter(|(path, _)| has_text(path)) {
            let at = self.dir.join(path);
            file.text = match fs::read_link(&at) {
                Ok(target) => Some(target.to_string_lossy().into_owned()),
                Err(_) => read_text(&self.dir, path),
            };
        }
        installed
    }
}

/// Returns the text of a small file.
fn read_text(root: &Path, path: &str) -> Option<String> {
    let file = DirHandle::open_root(root)
        .ok()?
        .open(Path::new(path))
        .ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_TEXT).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

impl ToolManifest {
    /// `max_bytes` are read at most; other files have no hash.
    fn build(dir: &Path, folders: &[PathBuf], previous: &Self, max_bytes: u64) -> Self {
        let folders: BTreeSet<RelativePath> =
            folders.iter().map(|it| it.as_path().into()).collect();
        let now = SystemTime::now();
        let (mut files, mut unknown, mut total) = (BTreeMap::new(), Vec::new(), 0);
        for (path, fingerprint) in scan(dir, &folders) {
            let unchanged = previous.files.get(&path);
            let unchanged = unchanged
                .filter(|it| it.is_settled && it.fingerprint == fingerprint && it.blob.is_some());
            if let Some(record) = unchanged {
                files.insert(path, *record);
                continue;
            }
            let is_read = fingerprint.size <= MAX_READ && total < max_bytes;
            total += fingerprint.size * u64::from(is_read);
            unknown.push((path, fingerprint, is_read));
        }
        let reader = DirHandle::open_root(dir).ok();
        let blobs = parallel::map(&unknown, |(path, fingerprint, is_read)| {
            let reader = reader.as_ref().filter(|_| *is_read)?;
            hash_entry(reader, path, fingerprint).ok()
        });
        let read = unknown.into_iter().zip(blobs);
        files.extend(read.map(|((path, fingerprint, _), blob)| {
            let record = FileRecord {
                fingerprint,
                is_settled: fingerprint.is_settled_at(now),
                blob,
            };
            (path, record)
        }));
        Self { folders, files }
    }

    /// Identifies the content of the files; empty if there are none. Python's compiled files do not count, because
    /// running a tool writes them.
    pub(crate) fn id(&self) -> String {
        let is_compiled = |path: &RelativePath| {
            let mut parts = path.components();
            parts.any(|part| part.as_os_str() == "__pycache__")
        };
        let files = self.files.iter().filter(|(path, _)| !is_compiled(path));
        let mut listing = Vec::new();
        for (path, record) in files {
            let FileFingerprint {
                mode,
                size,
                modified,
                ..
            } = record.fingerprint;
            let content = record.blob.map_or_else(
                || format!("{size} {}.{}", modified.0, modified.1),
                |blob| blob.to_string(),
            );
            listing.extend_from_slice(path.as_os_str().as_bytes());
            listing.extend_from_slice(format!("\0{mode:o} {content}\0").as_bytes());
        }
        if listing.is_empty() {
            String::new()
        } else {
            BlobId::of(&listing).to_string()
        }
    }

    /// Returns the files that differ from the manifest. `folders` are the current tool folders.
    pub(crate) fn find_changes(&self, dir: &Path, folders: &[PathBuf]) -> ToolChanges {
        let mut all = self.folders.clone();
        all.extend(folders.iter().map(|it| RelativePath::from(it.as_path())));
        let current = scan(dir, &all);
        let reader = DirHandle::open_root(dir).ok();
        let is_same = |path: &RelativePath, recorded: &FileRecord| {
            let Some(fingerprint) = current.get(path) else {
                return false;
            };
            let is_equal = recorded.fingerprint == *fingerprint;
            if is_equal && (recorded.is_settled || recorded.blob.is_none()) {
                return true;
            }
            let may_be_equal = recorded.fingerprint.mode == fingerprint.mode
                && recorded.fingerprint.size == fingerprint.size;
            may_be_equal
                && recorded.blob.is_some()
                && recorded.blob
                    == reader
                        .as_ref()
                        .and_then(|it| hash_entry(it, path, fingerprint).ok())
        };
        let removed_or_changed = self
            .files
            .iter()
            .filter(|(path, recorded)| !is_same(path, recorded))
            .map(|(path, _)| path);
        let added = current
            .keys()
            .filter(|path| !self.files.contains_key(*path));
        let mut changes = ToolChanges::default();
        for path in removed_or_changed.chain(added) {
            match path_rule(path) {
                ToolPathRule::Tracked => {
                    changes.folders.insert(outermost_folder(path, &all));
                    changes.files.push(path.to_path_buf());
                }
                ToolPathRule::Cache(at) => drop(changes.caches.insert(at)),
                ToolPathRule::PackageManagerFile => {}
            }
        }
        changes.files.sort();
        changes
    }

    /// The files that a check may load.
    fn installed(&self) -> InstalledFiles {
        let files = self.files.iter();
        let loaded = files.filter(|(path, _)| path_rule(path) == ToolPathRule::Tracked);
        let installed = loaded.map(|(path, file)| {
            let is_link = file.fingerprint.is_link();
            let content = file.blob.map(|blob| format!("{is_link} {blob}"));
            let file = InstalledFile {
                content,
                text: None,
            };
            (path.to_string_lossy().into_owned(), file)
        });
        installed.collect()
    }

    /// The files that a check may load; `None` if some of them were not read.
    pub(crate) fn complete_files(&self) -> Option<InstalledFiles> {
        let installed = self.installed();
        let is_complete = installed.values().all(|file| file.content.is_some());
        is_complete.then_some(installed)
    }

    /// Replaces the entries of some files by those of another manifest.
    pub(crate) fn with_files_of(mut self, other: &Self, paths: &[PathBuf]) -> Self {
        for path in paths {
            let path = RelativePath::from(path.as_path());
            match other.files.get(&path) {
                Some(file) => drop(self.files.insert(path, *file)),
                None => drop(self.files.remove(&path)),
            }
        }
        self.folders.extend(other.folders.iter().cloned());
        self
    }

    pub(crate) fn load(path: &Path) -> Option<Self> {
        Self::from_bytes(&fs::read(path).ok()?)
    }

    pub(crate) fn save(&self, path: &Path) -> Result<(), WorkspaceError> {
        shadow::write_atomically(path, &self.to_bytes())
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = FORMAT_HEADER.to_vec();
        let counts = format!("\0{} {}\0", self.folders.len(), self.files.len());
        bytes.extend_from_slice(counts.as_bytes());
        for folder in &self.folders {
            bytes.extend_from_slice(folder.as_os_str().as_bytes());
            bytes.push(0);
        }
        for (path, file) in &self.files {
            file.append_to(&mut bytes, path);
        }
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        if file_records::take_text(&mut rest)? != FORMAT_HEADER {
            return None;
        }
        let counts = str::from_utf8(file_records::take_text(&mut rest)?).ok()?;
        let (folder_count, file_count) = counts.split_once(' ')?;
        let folder_count: usize = folder_count.parse().ok()?;
        let mut folders = BTreeSet::new();
        for _ in 0..folder_count {
            folders.insert(RelativePath::from_bytes(file_records::take_text(
                &mut rest,
            )?));
        }
        let files = file_records::read_all(rest, Some)?;
        // Invariant: a manifest lists every file. In a truncated one, changed files would look like added ones.
        let is_complete =
            folders.len() == folder_count && Ok(files.len()) == file_count.parse::<usize>();
        is_complete.then_some(Self { folders, files })
    }
}

impl ToolFiles {
    /// Returns the files that differ in `after`, and that a check may load.
    pub(super) fn find_written(&self, after: &Self) -> Vec<PathBuf> {
        let mut written = find_differences(&self.files, &after.files);
        written.retain(|path| path_rule(path) == ToolPathRule::Tracked);
        written
    }
}

impl ToolChanges {
    /// Removes caches that have changed, so that no check uses what an agent may have written there. A cache that
    /// cannot be removed counts as a changed file.
    pub(crate) fn remove_caches(mut self, dir: &Path) -> Self {
        for path in std::mem::take(&mut self.caches) {
            let at = dir.join(&path);
            if remove_all(&at).is_err() {
                self.folders.insert(path.clone());
                self.files.push(path);
            }
        }
        self.files.sort();
        self
    }
}

/// Returns the outermost of the folders that contain a path.
fn outermost_folder(path: &Path, folders: &BTreeSet<RelativePath>) -> PathBuf {
    let roots = path
        .ancestors()
        .filter(|above| folders.contains(above.as_os_str()));
    roots.last().unwrap_or(path).to_owned()
}

fn path_rule(path: &Path) -> ToolPathRule {
    let names: Vec<&OsStr> = path.iter().collect();
    let is = |at: usize, wanted: &str| names.get(at).is_some_and(|it| *it == OsStr::new(wanted));
    let upto = |at: usize| names.iter().take(at + 1).collect::<PathBuf>();
    for at in 0..names.len() {
        if is(at, "__pycache__") && at + 1 < names.len() {
            return ToolPathRule::Cache(path.to_owned());
        }
        if is(at, "node_modules") && NODE_CACHES.iter().any(|cache| is(at + 1, cache)) {
            return ToolPathRule::Cache(upto((at + 2).min(names.len() - 1)));
        }
        let is_record = |(folder, name): &(&str, &str)| is(at, folder) && is(at + 1, name);
        if at + 2 == names.len() && PACKAGE_MANAGER_FILES.iter().any(is_record) {
            return ToolPathRule::PackageManagerFile;
        }
        let is_run_folder = |at| RUN_FOLDERS.iter().any(|name| is(at, name));
        if (is(at, ".tox") || is(at, ".nox")) && (is_run_folder(at + 1) || is_run_folder(at + 2)) {
            return ToolPathRule::PackageManagerFile;
        }
    }
    ToolPathRule::Tracked
}

/// Returns everything below the folders except for folders. An unreadable folder is returned instead of its content.
fn scan(dir: &Path, folders: &BTreeSet<RelativePath>) -> BTreeMap<RelativePath, FileFingerprint> {
    let is_inside = |path: &Path| {
        let mut above = path.ancestors().skip(1);
        above.any(|above| folders.contains(above.as_os_str()))
    };
    let outermost = folders.iter().filter(|path| !is_inside(path));
    let mut pending: VecDeque<PathBuf> = outermost.map(|path| path.to_path_buf()).collect();
    let mut files = Vec::new();
    while pending.len() < MIN_SHARED_FOLDERS
        && let Some(path) = pending.pop_front()
    {
        scan_folder(dir, path, &mut files, &mut pending);
    }
    let pending: Vec<PathBuf> = pending.into();
    let found = parallel::map(&pending, |folder| {
        let (mut pending, mut files) = (VecDeque::from([folder.clone()]), Vec::new());
        while let Some(path) = pending.pop_back() {
            scan_folder(dir, path, &mut files, &mut pending);
        }
        files
    });
    files.extend(found.into_iter().flatten());
    files.into_iter().collect()
}

/// Adds the files of a folder, and the folders in it.
fn scan_folder(
    dir: &Path,
    path: PathBuf,
    files: &mut Vec<(RelativePath, FileFingerprint)>,
    pending: &mut VecDeque<PathBuf>,
) {
    let Ok(data) = dir.join(&path).symlink_metadata() else {
        return;
    };
    let entries = data.is_dir().then(|| fs::read_dir(dir.join(&path)).ok());
    let Some(entries) = entries.flatten() else {
        files.push((path.into(), FileFingerprint::from_metadata(&data)));
        return;
    };
    for entry in entries.flatten() {
        let mut entry_path: OsString = path.clone().into();
        entry_path.push("/");
        entry_path.push(entry.file_name());
        let entry_path = PathBuf::from(entry_path);
        match entry.file_type() {
            Ok(kind) if !kind.is_dir() => {
                if let Ok(data) = entry.metadata() {
                    files.push((entry_path.into(), FileFingerprint::from_metadata(&data)));
                }
            }
            _ => pending.push_back(entry_path),
        }
    }
}

/// Hashes the bytes of a file or the target of a link.
fn hash_entry(
    reader: &DirHandle,
    path: &Path,
    fingerprint: &FileFingerprint,
) -> io::Result<BlobId> {
    if fingerprint.is_link() {
        let target = reader.read_link(path)?;
        return Ok(BlobId::of(target.as_os_str().as_bytes()));
    }
    let mut file = reader.open(path)?;
    let mut hasher = BlobHasher::new(fingerprint.size);
    let buffer_size = (fingerprint.size + 1).min(64 << 10);
    let mut buffer = vec![0; usize::try_from(buffer_size).unwrap_or(1)];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher.finish()),
            read => hasher.update(&buffer[..read]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct ToolFixture(tempfile::TempDir);

    impl ToolFixture {
        fn with(files: &[&str]) -> Self {
            let tools = Self(tempfile::tempdir().unwrap());
            for file in files {
                tools.write(file, "as installed");
            }
            tools
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn note(&self, folders: &[&str]) -> ToolManifest {
            ToolManifest::build(
                self.0.path(),
                &paths(folders),
                &ToolManifest::default(),
                MAX_TOTAL,
            )
        }

        fn changes(&self, manifest: &ToolManifest, folders: &[&str]) -> ToolChanges {
            manifest.find_changes(self.0.path(), &paths(folders))
        }
    }

    fn paths(paths: &[&str]) -> Vec<PathBuf> {
        paths.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn find_changes_names_what_is_added_removed_and_rewritten() {
        let tools = ToolFixture::with(&[
            "node_modules/a.js",
            "node_modules/b.js",
            "node_modules/c.js",
        ]);
        let manifest = tools.note(&["node_modules"]);
        assert_eq!(tools.changes(&manifest, &[]), ToolChanges::default());
        // Reinstalling or touching a file keeps the bytes.
        fs::remove_file(tools.0.path().join("node_modules/a.js")).unwrap();
        tools.write("node_modules/a.js", "as installed");
        assert_eq!(tools.changes(&manifest, &[]), ToolChanges::default());

        tools.write("node_modules/a.js", "something up");
        fs::remove_file(tools.0.path().join("node_modules/b.js")).unwrap();
        fs::remove_file(tools.0.path().join("node_modules/c.js")).unwrap();
        std::os::unix::fs::symlink("a.js", tools.0.path().join("node_modules/c.js")).unwrap();
        tools.write("web/node_modules/d.js", "new");
        let changes = tools.changes(&manifest, &["node_modules", "web/node_modules"]);
        let expected = [
            "node_modules/a.js",
            "node_modules/b.js",
            "node_modules/c.js",
            "web/node_modules/d.js",
        ];
        assert_eq!(changes.files, paths(&expected));
        assert_eq!(
            changes.folders,
            BTreeSet::from(["node_modules".into(), "web/node_modules".into()])
        );

        // A later manifest keeps the previous entries of only these files.
        tools.write("node_modules/e.js", "a check's own");
        let later = tools.note(&["node_modules", "web/node_modules"]);
        let later = later.with_files_of(&manifest, &changes.files);
        assert_eq!(tools.changes(&later, &[]), changes);
    }

    #[test]
    fn find_changes_excepts_caches_and_records_of_tools_alone() {
        let tracked = [
            "node_modules/.bin/jest",
            "node_modules/lib/.cache.js",
            "node_modules/lib/.package-lock.json",
            ".venv/lib/site-packages/pytest/main.py",
            ".venv/lib/site-packages/dist/tmp/log.py",
            ".tox/py311/lib/six.py",
            "vendor/.vite/deps/a.js",
        ];
        let caches = [
            (
                "node_modules/.cache/babel/a.json",
                "node_modules/.cache/babel",
            ),
            (
                "web/node_modules/.vite/deps/a.js",
                "web/node_modules/.vite/deps",
            ),
            (
                ".venv/lib/six/__pycache__/six.cpython-311.pyc",
                ".venv/lib/six/__pycache__/six.cpython-311.pyc",
            ),
        ];
        let records = [
            "node_modules/.package-lock.json",
            "web/node_modules/.yarn-integrity",
            ".tox/py311/log/1.json",
            ".tox/.tmp/package",
        ];
        let tools = ToolFixture::with(&[]);
        let folders = [
            "node_modules",
            "web/node_modules",
            ".venv",
            ".tox",
            "vendor",
        ];
        let manifest = tools.note(&folders);
        let cached = caches.iter().map(|(path, _)| path);
        for path in tracked.iter().chain(cached).chain(&records) {
            tools.write(path, "new");
        }
        let changes = tools.changes(&manifest, &folders);
        let mut expected = paths(&tracked);
        expected.sort();
        assert_eq!(changes.files, expected);
        let removed: BTreeSet<PathBuf> = caches.iter().map(|(_, at)| at.into()).collect();
        assert_eq!(changes.caches, removed);

        let changes = changes.remove_caches(tools.0.path());
        assert_eq!(changes.files, expected);
        let remaining = tools.changes(&manifest, &folders);
        assert!(remaining.caches.is_empty(), "{remaining:?}");
    }

    #[test]
    fn find_changes_sees_a_rewrite_with_the_old_time() {
        let tools = ToolFixture::with(&["node_modules/a.js"]);
        let path = tools.0.path().join("node_modules/a.js");
        let before = fs::metadata(&path).unwrap().modified().unwrap();
        let manifest = tools.note(&["node_modules"]);
        tools.write("node_modules/a.js", "AS INSTALLED");
        fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(before)
            .unwrap();
        let changes = tools.changes(&manifest, &[]);
        assert_eq!(changes.files, paths(&["node_modules/a.js"]));
    }

    #[test]
    fn manifest_is_loaded_as_it_was_saved_or_not_at_all() {
        let tools = ToolFixture::with(&["node_modules/a b.js", "vendor/x"]);
        let manifest = tools.note(&["node_modules", "vendor"]);
        let bytes = manifest.to_bytes();
        assert_eq!(ToolManifest::from_bytes(&bytes), Some(manifest));
        for end in 0..bytes.len() {
            assert_eq!(ToolManifest::from_bytes(&bytes[..end]), None, "{end} bytes");
        }
        let none = ToolManifest::default();
        assert_eq!(ToolManifest::from_bytes(&none.to_bytes()), Some(none));
    }
}

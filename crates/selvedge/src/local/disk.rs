//! Disk usage of the state directory: allocated blocks, not file sizes.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Disk usage of a file or a folder with its contents, in bytes. What cannot be read counts as 0.
pub(crate) fn disk_usage(path: &Path) -> u64 {
    const BLOCK: u64 = 512;
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return 0;
    };
    let own = metadata.blocks() * BLOCK;
    if !metadata.is_dir() {
        return own;
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    own + entries.map(|entry| disk_usage(&entry.path())).sum::<u64>()
}

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

/// Formats a size, for example `12.3 MB`.
pub(crate) fn format_bytes(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
    for (unit, factor) in UNITS {
        if bytes >= factor {
            let tenths = bytes / (factor / 10);
            return format!("{}.{} {unit}", tenths / 10, tenths % 10);
        }
    }
    format!("{bytes} B")
}

//! What room the state directory takes, part by part: what is on the disk, not what files say they hold.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// How much a folder, or a file, takes up with all below it, in bytes. What cannot be read counts nothing.
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

/// A size as people read it: `12.3 MB`.
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

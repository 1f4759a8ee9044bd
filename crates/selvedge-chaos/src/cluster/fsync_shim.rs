//! Controls the library that is preloaded into hubs and workers (`shim/shim.c`): writes its control
//! files and reverts writes that were never synced.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::ChaosError;

const SOURCE: &str = include_str!("../../shim/shim.c");

/// The compiled library. Each process that loads it has its own control file.
#[derive(Debug, Clone)]
pub struct FsyncShim {
    library: PathBuf,
}

impl FsyncShim {
    /// Compiles the library into a folder.
    pub fn compile(folder: &Path) -> Result<Self, ChaosError> {
        let (source, library) = (folder.join("shim.c"), folder.join("shim.so"));
        fs::write(&source, SOURCE)?;
        let mut compiler = Command::new("cc");
        compiler
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .arg(&library)
            .arg(&source);
        let done = compiler
            .output()
            .map_err(|error| format!("cannot run a C compiler: {error}"))?;
        if !done.status.success() {
            return Err(String::from_utf8_lossy(&done.stderr).into_owned().into());
        }
        Ok(Self { library })
    }

    /// Returns the environment variables that make a process load the library and track databases below
    /// `tracked`. Creates the control file if it does not exist.
    pub fn environment(
        &self,
        control: &Path,
        tracked: &Path,
    ) -> Result<Vec<(String, PathBuf)>, ChaosError> {
        if !control.exists() {
            fs::write(control, [0_u8; 16])?;
        }
        Ok(vec![
            ("LD_PRELOAD".to_owned(), self.library.clone()),
            ("SELVEDGE_SHIM_CONTROL".to_owned(), control.to_owned()),
            ("SELVEDGE_SHIM_TRACK".to_owned(), tracked.to_owned()),
        ])
    }
}

/// Offsets the wall clock of the processes that read this control file, in seconds.
pub(super) fn set_clock(control: &Path, offset_s: i64) -> Result<(), ChaosError> {
    let file = OpenOptions::new().write(true).open(control)?;
    Ok(file.write_all_at(&(offset_s * 1_000_000_000).to_ne_bytes(), 0)?)
}

/// Simulates a full disk, or frees it again, for the processes that read this control file.
pub(super) fn set_disk_full(control: &Path, full: bool) -> Result<(), ChaosError> {
    let file = OpenOptions::new().write(true).open(control)?;
    Ok(file.write_all_at(&i32::from(full).to_ne_bytes(), 8)?)
}

/// Makes the processes that read this control file lose what they sync from now on if the power fails.
pub(super) fn ignore_syncs(control: &Path) -> Result<(), ChaosError> {
    let file = OpenOptions::new().write(true).open(control)?;
    Ok(file.write_all_at(&1_i32.to_ne_bytes(), 12)?)
}

/// Deletes the undo logs: a process that was killed keeps what it had written.
pub(super) fn discard_undo_logs(folder: &Path) -> Result<(), ChaosError> {
    for undo in undo_logs(folder)? {
        fs::remove_file(undo)?;
    }
    Ok(())
}

/// Reverts all writes that were not synced, as a power failure would; returns their number.
pub(super) fn revert_unsynced(folder: &Path) -> Result<u64, ChaosError> {
    let mut lost = 0;
    for undo in undo_logs(folder)? {
        let name = undo.to_string_lossy();
        let of = PathBuf::from(name.trim_end_matches(".undo"));
        lost += undo_writes(&of, &undo)?;
        fs::remove_file(&undo)?;
    }
    // The WAL index is in memory; it does not survive a power failure.
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with("-shm") {
            fs::remove_file(path)?;
        }
    }
    Ok(lost)
}

fn undo_logs(folder: &Path) -> Result<Vec<PathBuf>, ChaosError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "undo") {
            found.push(path);
        }
    }
    Ok(found)
}

fn undo_writes(of: &Path, undo: &Path) -> Result<u64, ChaosError> {
    let mut bytes = Vec::new();
    File::open(undo)?.read_to_end(&mut bytes)?;
    let number = |at: usize| {
        let eight = bytes.get(at..at + 8)?;
        eight.try_into().ok().map(u64::from_ne_bytes)
    };
    let (mut records, mut at) = (Vec::new(), 0);
    while let (Some(offset), Some(length), Some(size)) =
        (number(at), number(at + 8), number(at + 16))
    {
        let end = at + 24 + usize::try_from(length)?;
        // A truncated record belongs to a write that never happened.
        let Some(old) = bytes.get(at + 24..end) else {
            break;
        };
        records.push((offset, old, size));
        at = end;
    }
    let Ok(mut file) = OpenOptions::new().write(true).open(of) else {
        return Ok(0);
    };
    for (offset, old, size) in records.iter().rev() {
        file.seek(SeekFrom::Start(*offset))?;
        file.write_all(old)?;
        file.set_len(*size)?;
    }
    file.sync_all()?;
    Ok(u64::try_from(records.len())?)
}

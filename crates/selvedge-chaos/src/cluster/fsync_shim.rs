//! The library that is loaded into hubs and workers (`shim/shim.c`): its control file, and taking back
//! what was written and never synced.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::ChaosError;

const SOURCE: &str = include_str!("../../shim/shim.c");

/// The library, and one control file for each process that loads it.
#[derive(Debug, Clone)]
pub struct FsyncShim {
    library: PathBuf,
}

impl FsyncShim {
    /// Compiles it into a folder.
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
            .map_err(|error| format!("a C compiler is needed: {error}"))?;
        if !done.status.success() {
            return Err(String::from_utf8_lossy(&done.stderr).into_owned().into());
        }
        Ok(Self { library })
    }

    /// What a process is given to load it, with databases below `tracked`.
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

/// Sets the wall clock of whoever reads this control file off by so much.
pub(super) fn set_clock(control: &Path, offset_s: i64) -> Result<(), ChaosError> {
    let file = OpenOptions::new().write(true).open(control)?;
    Ok(file.write_all_at(&(offset_s * 1_000_000_000).to_ne_bytes(), 0)?)
}

/// Fills, or frees, the disk of whoever reads this control file.
pub(super) fn set_disk_full(control: &Path, full: bool) -> Result<(), ChaosError> {
    let file = OpenOptions::new().write(true).open(control)?;
    Ok(file.write_all_at(&i32::from(full).to_ne_bytes(), 8)?)
}

/// Forgets what could be taken back: a process that was killed keeps what it wrote.
pub(super) fn discard_undo_logs(folder: &Path) -> Result<(), ChaosError> {
    for undo in undo_logs(folder)? {
        fs::remove_file(undo)?;
    }
    Ok(())
}

/// Takes back all that was not synced, as a machine without power does: how many writes.
pub(super) fn revert_unsynced(folder: &Path) -> Result<u64, ChaosError> {
    let mut lost = 0;
    for undo in undo_logs(folder)? {
        let name = undo.to_string_lossy();
        let of = PathBuf::from(name.trim_end_matches(".undo"));
        lost += undo_writes(&of, &undo)?;
        fs::remove_file(&undo)?;
    }
    // The index of a log lives in memory; it does not outlast the machine.
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
        // A record that was cut short is of a write that never was.
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

//! The transcript of a session, one JSON object per line, at the path of other agents' output. It
//! is written during the session, so that an interrupted session has one too.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use selvedge_core::model::OutputRef;
use selvedge_core::redact::Redactor;
use serde_json::Value;

/// Maximum bytes of the file.
const MAX_BYTES: u64 = 64 << 20;

/// The transcript of a session.
#[derive(Debug)]
pub(super) struct Transcript {
    file: File,
    path: PathBuf,
    bytes: u64,
    omitted: u64,
    redactor: Redactor,
}

impl Transcript {
    pub(super) fn create(path: PathBuf, redactor: Redactor) -> io::Result<Self> {
        Ok(Self {
            file: File::create(&path)?,
            path,
            bytes: 0,
            omitted: 0,
            redactor,
        })
    }

    /// Appends a line. The files of a run are on a local disk, so the write blocks only briefly.
    pub(super) fn add(&mut self, entry: &Value) -> io::Result<()> {
        let line = self
            .redactor
            .redact_text(&format!("{entry}\n"))
            .into_owned();
        let length = line.len() as u64;
        self.bytes += length;
        if self.bytes - self.omitted > MAX_BYTES {
            self.omitted += length;
            return Ok(());
        }
        self.file.write_all(line.as_bytes())
    }

    pub(super) fn output_ref(&self) -> OutputRef {
        OutputRef {
            file: self
                .path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            bytes: self.bytes,
            left_out: self.omitted,
        }
    }
}

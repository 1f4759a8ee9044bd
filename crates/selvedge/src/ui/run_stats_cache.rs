//! What is known of runs for statistics, so that a journal is folded once: in memory, and in a file
//! beside the journal. The file is a cache: a line that cannot be read, or that is of an earlier event
//! than the journal's last, counts for nothing.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use selvedge_core::model::RunId;
use selvedge_dashboard::stats::RunStats;
use serde::{Deserialize, Serialize};

const CACHE_FILE: &str = "facts.jsonl";
/// Lines that count for nothing any more, before the file is written anew.
const MAX_STALE_LINES: usize = 1_000;

#[derive(Debug, Clone, Serialize, Deserialize)]
struct CacheLine {
    run: RunId,
    seq: u64,
    facts: Option<RunStats>,
}

/// Facts of runs that were looked at, by the last event that they were made from.
#[derive(Debug, Default)]
pub(super) struct RunStatsCache {
    runs: HashMap<RunId, (u64, Option<RunStats>)>,
    path: Option<PathBuf>,
    /// Lines that are not in the file yet.
    unsaved_lines: String,
}

impl RunStatsCache {
    /// What the file in a state directory says.
    pub(super) fn load(state_directory: &Path) -> Self {
        let path = state_directory.join(CACHE_FILE);
        let text = fs::read_to_string(&path).unwrap_or_default();
        let mut known = Self::default();
        let mut lines = 0;
        for line in text.lines() {
            lines += 1;
            if let Ok(line) = serde_json::from_str::<CacheLine>(line) {
                known.runs.insert(line.run, (line.seq, line.facts));
            }
        }
        if lines > known.runs.len() + MAX_STALE_LINES {
            known.rewrite(&path);
        }
        known.path = Some(path);
        known
    }

    /// What is known of a run whose journal ends there.
    pub(super) fn get(&self, run: RunId, seq: u64) -> Option<&Option<RunStats>> {
        let (known, facts) = self.runs.get(&run)?;
        (*known == seq).then_some(facts)
    }

    /// Remembers; of a run that is not over only until this program ends.
    pub(super) fn insert(&mut self, run: RunId, seq: u64, facts: Option<RunStats>) {
        if facts.as_ref().is_none_or(|facts| facts.outcome.is_some()) {
            let facts = facts.clone();
            if let Ok(line) = serde_json::to_string(&CacheLine { run, seq, facts }) {
                // Writing into a string cannot fail.
                let _ = writeln!(self.unsaved_lines, "{line}");
            }
        }
        self.runs.insert(run, (seq, facts));
    }

    /// Adds what is new to the file, in one piece: other programs do the same. What cannot be written
    /// is made again another time.
    pub(super) fn save(&mut self) {
        let Some(path) = self
            .path
            .as_ref()
            .filter(|_| !self.unsaved_lines.is_empty())
        else {
            return;
        };
        let file = OpenOptions::new().create(true).append(true).open(path);
        let _ = file.and_then(|mut file| file.write_all(self.unsaved_lines.as_bytes()));
        self.unsaved_lines.clear();
    }

    fn rewrite(&self, path: &Path) {
        let mut text = String::new();
        for (run, (seq, facts)) in &self.runs {
            let (run, seq, facts) = (*run, *seq, facts.clone());
            if let Ok(line) = serde_json::to_string(&CacheLine { run, seq, facts }) {
                let _ = writeln!(text, "{line}");
            }
        }
        let beside = path.with_extension(format!("{}.new", std::process::id()));
        let written = fs::write(&beside, text).and_then(|()| fs::rename(&beside, path));
        if written.is_err() {
            let _ = fs::remove_file(&beside);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_is_known_again_and_a_torn_line_counts_for_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let run: RunId = "0190a1b2-0000-7000-8000-000000000001".parse().unwrap();
        let mut known = RunStatsCache::load(directory.path());
        known.insert(run, 7, None);
        known.save();
        let path = directory.path().join(CACHE_FILE);
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"run\":\"0190").unwrap();
        let known = RunStatsCache::load(directory.path());
        assert_eq!(known.get(run, 7), Some(&None));
        assert_eq!(known.get(run, 8), None, "the journal went on");

        let many = fs::read_to_string(&path)
            .unwrap()
            .lines()
            .next()
            .unwrap()
            .to_owned()
            + "\n";
        fs::write(&path, many.repeat(MAX_STALE_LINES + 5)).unwrap();
        let known = RunStatsCache::load(directory.path());
        assert_eq!(known.get(run, 7), Some(&None));
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 1);
    }
}

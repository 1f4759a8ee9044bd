//! Caches the statistics of runs, in memory and in a file next to the journal, so that each run is replayed only once.
//! A line is ignored if it cannot be parsed or if the run has newer events.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use selvedge_core::model::RunId;
use selvedge_dashboard::stats::RunStats;
use serde::{Deserialize, Serialize};

const CACHE_FILE: &str = "facts.jsonl";
/// Number of outdated lines after which the file is rewritten.
const MAX_STALE_LINES: usize = 1_000;

#[derive(Debug, Clone, Serialize, Deserialize)]
struct CacheLine {
    run: RunId,
    seq: u64,
    facts: Option<RunStats>,
}

/// Statistics of runs, with the sequence number of the last event that they include.
#[derive(Debug, Default)]
pub(super) struct RunStatsCache {
    runs: HashMap<RunId, (u64, Option<RunStats>)>,
    path: Option<PathBuf>,
    unsaved_lines: String,
}

impl RunStatsCache {
    /// Reads the file in a state directory.
    pub(super) fn load(state_directory: &Path) -> Self {
        let path = state_directory.join(CACHE_FILE);
        let text = fs::read_to_string(&path).unwrap_or_default();
        let mut cache = Self::default();
        let mut lines = 0;
        for line in text.lines() {
            lines += 1;
            if let Ok(line) = serde_json::from_str::<CacheLine>(line) {
                cache.runs.insert(line.run, (line.seq, line.facts));
            }
        }
        if lines > cache.runs.len() + MAX_STALE_LINES {
            cache.rewrite(&path);
        }
        cache.path = Some(path);
        cache
    }

    /// The statistics of a run, if they include all events up to `seq`.
    pub(super) fn get(&self, run: RunId, seq: u64) -> Option<&Option<RunStats>> {
        let (cached_seq, facts) = self.runs.get(&run)?;
        (*cached_seq == seq).then_some(facts)
    }

    /// Stores statistics; those of an unfinished run only in memory.
    pub(super) fn insert(&mut self, run: RunId, seq: u64, facts: Option<RunStats>) {
        if facts.as_ref().is_none_or(|facts| facts.outcome.is_some()) {
            let facts = facts.clone();
            if let Ok(line) = serde_json::to_string(&CacheLine { run, seq, facts }) {
                let _ = writeln!(self.unsaved_lines, "{line}");
            }
        }
        self.runs.insert(run, (seq, facts));
    }

    /// Appends new lines to the file in one write, because other programs append, too. Errors are ignored: the
    /// statistics can be computed again.
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
        let temporary = path.with_extension(format!("{}.new", std::process::id()));
        let written = fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, path));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_stats_cache_round_trip_ignores_torn_line() {
        let directory = tempfile::tempdir().unwrap();
        let run: RunId = "0190a1b2-0000-7000-8000-000000000001".parse().unwrap();
        let mut cache = RunStatsCache::load(directory.path());
        cache.insert(run, 7, None);
        cache.save();
        let path = directory.path().join(CACHE_FILE);
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"run\":\"0190").unwrap();
        let cache = RunStatsCache::load(directory.path());
        assert_eq!(cache.get(run, 7), Some(&None));
        assert_eq!(cache.get(run, 8), None, "the journal went on");

        let many = fs::read_to_string(&path)
            .unwrap()
            .lines()
            .next()
            .unwrap()
            .to_owned()
            + "\n";
        fs::write(&path, many.repeat(MAX_STALE_LINES + 5)).unwrap();
        let cache = RunStatsCache::load(directory.path());
        assert_eq!(cache.get(run, 7), Some(&None));
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 1);
    }
}

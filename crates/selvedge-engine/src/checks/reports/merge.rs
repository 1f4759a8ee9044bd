//! Merges the reports of a runner that writes one file per class or project.

use std::fs::File;
use std::io;

use selvedge_digest::{TestIds, TestReader, TestSummary};

use super::{MAX_REPORT_BYTES, ParsedReport, parse_report};

/// Reads all files. If one of them is not a complete report, the result is not complete either.
pub(super) fn merge_reports(files: impl Iterator<Item = io::Result<File>>) -> ParsedReport {
    let mut all = TestSummary {
        complete: true,
        ..TestSummary::default()
    };
    let mut has_reports = false;
    let mut remaining_bytes = MAX_REPORT_BYTES;
    for file in files {
        let report = match file {
            Ok(file) => parse_report(file, &mut remaining_bytes),
            Err(error) => ParsedReport::Unreadable(format!("cannot be read: {error}")),
        };
        match report {
            ParsedReport::Complete(tests) => add_summary(&mut all, tests),
            other => return other,
        }
        has_reports = true;
    }
    if has_reports {
        ParsedReport::Complete(all)
    } else {
        ParsedReport::NotExpected
    }
}

fn add_summary(all: &mut TestSummary, more: TestSummary) {
    all.executed = all.executed.saturating_add(more.executed);
    all.passed = all.passed.saturating_add(more.passed);
    all.failed = all.failed.saturating_add(more.failed);
    all.skipped = all.skipped.saturating_add(more.skipped);
    merge_ids(&mut all.passed_ids, more.passed_ids);
    merge_ids(&mut all.failed_ids, more.failed_ids);
    merge_ids(&mut all.skipped_ids, more.skipped_ids);
    for reader in more.readers {
        let is_same = |it: &&mut TestReader| it.name == reader.name && it.mode == reader.mode;
        match all.readers.iter_mut().find(is_same) {
            Some(existing) => {
                existing.names_passed &= reader.names_passed;
                existing.names_failed &= reader.names_failed;
                existing.names_skipped &= reader.names_skipped;
            }
            None => all.readers.push(reader),
        }
    }
}

fn merge_ids(all: &mut TestIds, more: TestIds) {
    let mut bytes: usize = all.ids.iter().map(String::len).sum();
    all.omitted = all.omitted.saturating_add(more.omitted);
    for id in more.ids {
        bytes = bytes.saturating_add(id.len());
        if bytes > TestIds::MAX_BYTES {
            all.omitted += 1;
        } else {
            all.ids.push(id);
        }
    }
}

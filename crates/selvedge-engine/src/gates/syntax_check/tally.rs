//! Result of the syntax check: how many files parse, which do not, and notes.

use std::path::Path;

use selvedge_core::model::CheckStatus;
use selvedge_digest::{Analysis, Failure, FailureKind};

use super::ExtractedFiles;
use crate::checks::CheckOutcome;
use crate::syntax::{ParserVerdict, SourceFile, parse_failure};

/// Maximum number of lines about files in a report.
const MAX_LINES: usize = 50;

/// Results of one syntax check.
pub(super) struct SyntaxCheckTally {
    parsed: usize,
    uncertain: usize,
    broken_before: usize,
    broken: usize,
    emptied: usize,
    failures: Vec<Failure>,
    lines: Vec<String>,
}

impl SyntaxCheckTally {
    pub(super) fn new(
        task: &str,
        laid_out: ExtractedFiles,
        verdicts: Vec<ParserVerdict>,
        before: &[Option<ParserVerdict>],
    ) -> Self {
        let mut tally = Self {
            parsed: 0,
            uncertain: 0,
            broken_before: 0,
            broken: 0,
            emptied: 0,
            failures: Vec::new(),
            lines: laid_out.notes,
        };
        for (path, bytes) in laid_out.emptied {
            tally.add_emptied(task, path, bytes);
        }
        let folder = laid_out.folder.path();
        for (((item, _), verdict), before) in laid_out.items.iter().zip(verdicts).zip(before) {
            tally.add_verdict(folder, item, verdict, before.as_ref());
        }
        tally
    }

    fn add_emptied(&mut self, task: &str, path: String, bytes: u64) {
        let name = path.rsplit('/').next().unwrap_or(&path);
        if task.contains(name) {
            self.uncertain += 1;
            self.lines
                .push(format!("{path}: was emptied, which the task may require"));
            return;
        }
        self.emptied += 1;
        let summary = format!("was emptied: it had {bytes} bytes before");
        self.lines.push(format!("{path}: {summary}"));
        self.failures.push(Failure {
            kind: FailureKind::Custom,
            file: Some(path),
            summary,
            ..parse_failure("", None, "")
        });
    }

    fn add_verdict(
        &mut self,
        folder: &Path,
        item: &SourceFile,
        verdict: ParserVerdict,
        before: Option<&ParserVerdict>,
    ) {
        let SourceFile { file, name, .. } = item;
        match verdict {
            ParserVerdict::Parses => self.parsed += 1,
            ParserVerdict::Broken(fault) => match before {
                Some(ParserVerdict::Broken(_) | ParserVerdict::Unsure(..)) => {
                    self.broken_before += 1;
                    let problem = format!("{name}:{}: {}", fault.line, fault.message);
                    self.lines
                        .push(format!("{problem} (it did not parse before either)"));
                }
                Some(ParserVerdict::Parses | ParserVerdict::Unknown(_)) | None => {
                    self.broken += 1;
                    let column = fault
                        .column
                        .map(|column| format!(":{column}"))
                        .unwrap_or_default();
                    let problem = format!("{name}:{}{column}: {}", fault.line, fault.message);
                    self.lines.push(problem);
                    let text = std::fs::read(folder.join(file)).unwrap_or_default();
                    let text = String::from_utf8_lossy(&text);
                    self.failures.push(parse_failure(name, Some(&fault), &text));
                }
            },
            ParserVerdict::Unsure(fault, why) => {
                self.uncertain += 1;
                let problem = format!("{name}:{}: {}", fault.line, fault.message);
                self.lines
                    .push(format!("{problem} (not counted as a failure: {why})"));
            }
            ParserVerdict::Unknown(why) => self.lines.push(format!("{name}: not checked: {why}")),
        }
    }

    pub(super) fn into_outcome(mut self) -> CheckOutcome {
        let more = self.lines.len().saturating_sub(MAX_LINES);
        self.lines.truncate(MAX_LINES);
        if more > 0 {
            self.lines.push(format!("and {more} more"));
        }
        let finding = if !self.failures.is_empty() {
            CheckOutcome::fail("")
        } else if self.parsed + self.uncertain + self.broken_before > 0 {
            CheckOutcome::pass()
        } else {
            CheckOutcome {
                status: CheckStatus::Skip,
                ..CheckOutcome::pass()
            }
        };
        CheckOutcome {
            reason: Some(self.reason()),
            output: self.lines.join("\n"),
            analysis: (!self.failures.is_empty()).then(|| Analysis::from_failures(self.failures)),
            ..finding
        }
    }

    fn reason(&self) -> String {
        let files = |count: usize, one: &str, many: &str| match count {
            0 => None,
            1 => Some(format!("1 {one}")),
            count => Some(format!("{count} {many}")),
        };
        let parts = [
            files(
                self.broken,
                "changed file does not parse",
                "changed files do not parse",
            ),
            files(self.emptied, "file was emptied", "files were emptied"),
            files(self.parsed, "changed file parses", "changed files parse"),
            files(self.uncertain, "is not certain", "are not certain"),
            files(
                self.broken_before,
                "did not parse before either",
                "did not parse before either",
            ),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() {
            return "no parser is available for the changed files".to_owned();
        }
        parts.join(", ")
    }
}

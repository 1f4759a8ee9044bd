//! What is told of the changed files: how many parse, which do not, and what is only worth a note.

use std::path::Path;

use selvedge_core::model::CheckStatus;
use selvedge_digest::{Analysis, Failure, FailureKind};

use super::LaidOut;
use crate::checks::Finding;
use crate::syntax::{Item, Said, does_not_parse};

/// Lines about files that a report holds.
const LINES: usize = 50;

/// What comes of a look.
pub(super) struct Tally {
    parsed: usize,
    unsure: usize,
    before_either: usize,
    broken: usize,
    emptied: usize,
    failures: Vec<Failure>,
    lines: Vec<String>,
}

impl Tally {
    pub(super) fn of(
        task: &str,
        laid_out: LaidOut,
        said: Vec<Said>,
        before: &[Option<Said>],
    ) -> Self {
        let mut tally = Self {
            parsed: 0,
            unsure: 0,
            before_either: 0,
            broken: 0,
            emptied: 0,
            failures: Vec::new(),
            lines: laid_out.notes,
        };
        for (path, bytes) in laid_out.emptied {
            tally.emptied(task, path, bytes);
        }
        let folder = laid_out.folder.path();
        for (((item, _), said), before) in laid_out.items.iter().zip(said).zip(before) {
            tally.item(folder, item, said, before.as_ref());
        }
        tally
    }

    fn emptied(&mut self, task: &str, path: String, bytes: u64) {
        let name = path.rsplit('/').next().unwrap_or(&path);
        if task.contains(name) {
            self.unsure += 1;
            self.lines
                .push(format!("{path}: was emptied, which the task may ask for"));
            return;
        }
        self.emptied += 1;
        let summary = format!("was emptied: it had {bytes} bytes before");
        self.lines.push(format!("{path}: {summary}"));
        self.failures.push(Failure {
            kind: FailureKind::Custom,
            file: Some(path),
            summary,
            ..does_not_parse("", None, "")
        });
    }

    fn item(&mut self, folder: &Path, item: &Item, said: Said, before: Option<&Said>) {
        let Item { file, name, .. } = item;
        match said {
            Said::Parses => self.parsed += 1,
            Said::Broken(fault) => match before {
                Some(Said::Broken(_) | Said::Unsure(..)) => {
                    self.before_either += 1;
                    let said = format!("{name}:{}: {}", fault.line, fault.message);
                    self.lines
                        .push(format!("{said} (it did not parse before either)"));
                }
                Some(Said::Parses | Said::Unknown(_)) | None => {
                    self.broken += 1;
                    let column = fault
                        .column
                        .map(|column| format!(":{column}"))
                        .unwrap_or_default();
                    let said = format!("{name}:{}{column}: {}", fault.line, fault.message);
                    self.lines.push(said);
                    let text = std::fs::read(folder.join(file)).unwrap_or_default();
                    let text = String::from_utf8_lossy(&text);
                    self.failures
                        .push(does_not_parse(name, Some(&fault), &text));
                }
            },
            Said::Unsure(fault, why) => {
                self.unsure += 1;
                let said = format!("{name}:{}: {}", fault.line, fault.message);
                self.lines.push(format!("{said} (no failure: {why})"));
            }
            Said::Unknown(why) => self.lines.push(format!("{name}: not looked at: {why}")),
        }
    }

    pub(super) fn finding(mut self) -> Finding {
        let more = self.lines.len().saturating_sub(LINES);
        self.lines.truncate(LINES);
        if more > 0 {
            self.lines.push(format!("and {more} more"));
        }
        let finding = if !self.failures.is_empty() {
            Finding::fail("")
        } else if self.parsed + self.unsure + self.before_either > 0 {
            Finding::pass()
        } else {
            Finding {
                status: CheckStatus::Skip,
                ..Finding::pass()
            }
        };
        Finding {
            reason: Some(self.reason()),
            output: self.lines.join("\n"),
            analysis: (!self.failures.is_empty()).then(|| Analysis::of_failures(self.failures)),
            ..finding
        }
    }

    fn reason(&self) -> String {
        let files = |count: usize, one: &str, many: &str| match count {
            0 => None,
            1 => Some(format!("1 {one}")),
            count => Some(format!("{count} {many}")),
        };
        let said = [
            files(
                self.broken,
                "changed file does not parse",
                "changed files do not parse",
            ),
            files(self.emptied, "file was emptied", "files were emptied"),
            files(self.parsed, "changed file parses", "changed files parse"),
            files(self.unsure, "is not certain", "are not certain"),
            files(
                self.before_either,
                "did not parse before either",
                "did not parse before either",
            ),
        ];
        let said: Vec<String> = said.into_iter().flatten().collect();
        if said.is_empty() {
            return "no parser here for what was changed".to_owned();
        }
        said.join(", ")
    }
}

//! Tests of parsers with real files and the programs of this machine. As in a run, a language whose program is not
//! installed is not checked.

#![allow(clippy::unwrap_used, clippy::panic)]

mod broken;
mod corpus;
mod hostile;
mod javascript;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use selvedge_engine::process::Supervisor;
use selvedge_engine::syntax::{
    ParserContext, ParserPrograms, ParserVerdict, SourceFile, SyntaxChecker,
};
use selvedge_syntax::language_of;
use selvedge_testkit::is_available;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// A folder with files to parse, named as in a run.
struct ParserFixture {
    room: TempDir,
    /// Where TypeScript is searched.
    workspace: PathBuf,
    items: Vec<SourceFile>,
}

impl ParserFixture {
    /// Writes the files whose language is known. Names are paths of a workspace.
    fn out<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Self {
        let room = tempfile::tempdir().unwrap();
        let mut items = Vec::new();
        for (index, (name, bytes)) in files.into_iter().enumerate() {
            let head = bytes.get(..512).unwrap_or(bytes);
            if let Some(language) = language_of(Path::new(name), head) {
                let file = format!("{index}.{}", language.extension());
                std::fs::write(room.path().join(&file), bytes).unwrap();
                let name = name.to_owned();
                items.push(SourceFile {
                    file,
                    name,
                    language,
                });
            }
        }
        Self {
            room,
            workspace: PathBuf::from("/nowhere"),
            items,
        }
    }

    /// Returns the verdict on each file, by name.
    async fn verdicts(&self) -> Vec<(String, ParserVerdict)> {
        let supervisor = Supervisor::new(
            env!("CARGO_BIN_EXE_selvedge-engine-probe"),
            ["__supervise".into()],
        );
        let context = ParserContext {
            folder: self.room.path().to_owned(),
            workspace: self.workspace.clone(),
            tag: format!("syntax-{}.1", std::process::id()),
            lock: self.room.path().join("lock"),
            supervisor,
            deadline: Instant::now() + Duration::from_hours(1),
        };
        let programs = ParserPrograms::find_outside(Path::new("/nowhere"));
        let checker = SyntaxChecker {
            context: &context,
            programs: &programs,
        };
        let verdicts = checker
            .check(&self.items, "test", &CancellationToken::new())
            .await
            .unwrap();
        context.supervisor.shutdown().await;
        let names = self.items.iter().map(|item| item.name.clone());
        names.zip(verdicts).collect()
    }
}

/// Returns all plain files below a folder, sorted.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_file() => files.push(entry.path()),
                _ => {}
            }
        }
    }
    files.sort();
    files
}

/// Templates with placeholders, which are not valid until these are replaced.
const TEMPLATES: [&str; 2] = ["chart/deployment.yaml", "playbook.yml"];
/// Rows of unequal length.
const RAGGED: [&str; 1] = ["people.csv"];
/// Files with brackets in macros.
const PREPROCESSED: [&str; 1] = ["branches.c"];
/// Files whose syntax may be newer than the interpreter.
const NEWER: [&str; 1] = ["newer.py"];

/// The second parser of Rust.
fn has_rustfmt() -> bool {
    is_available(
        "rustfmt",
        &Command::new("rustfmt").arg("--version").output(),
    )
}

#[tokio::test]
async fn valid_files_have_no_syntax_errors() {
    if !has_rustfmt() {
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/syntax/fixtures");
    let files: Vec<(String, Vec<u8>)> = below(&folder)
        .iter()
        .map(|file| {
            let name = file.strip_prefix(&folder).unwrap().display().to_string();
            (name, std::fs::read(file).unwrap())
        })
        .collect();
    let fixture = ParserFixture::out(files.iter().map(|(name, bytes)| (&**name, &**bytes)));
    assert!(fixture.items.len() > 27, "{}", fixture.items.len());
    let may_be_unsure = [&TEMPLATES[..], &RAGGED, &PREPROCESSED, &NEWER].concat();
    for (name, verdict) in fixture.verdicts().await {
        match verdict {
            ParserVerdict::Parses | ParserVerdict::Unknown(_) => {}
            ParserVerdict::Unsure(..) if may_be_unsure.contains(&&*name) => {}
            verdict => panic!("{name}: {verdict:?}"),
        }
    }
}

//! Tests that real sources raise no false alarm: those of this repository, and in the long form (`just syntax-corpus`)
//! those in any given folders, such as caches of package managers. Files that are broken on purpose are listed in
//! `deliberate.txt`, with reasons.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use selvedge_engine::syntax::ParserVerdict;

use super::{ParserFixture, below};

/// Number of files that are checked together.
const CHUNK_SIZE: usize = 400;
/// Maximum size of a file that a run checks, in bytes.
const MAX_FILE_BYTES: u64 = 2 << 20;

/// Path suffixes of files that do not parse, with reasons.
const DELIBERATE: &str = include_str!("deliberate.txt");

#[derive(Default)]
struct Count {
    files: usize,
    unsure: usize,
    unknown: usize,
    deliberate: usize,
    alarms: usize,
}

#[tokio::test]
async fn real_sources_raise_no_alarm() {
    let folders: Vec<PathBuf> = if let Some(folders) = std::env::var_os("SELVEDGE_SYNTAX_CORPUS") {
        std::env::split_paths(&folders).collect()
    } else {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        ["crates", "docs", "xtask", "fuzz/src", "Cargo.toml"]
            .map(|it| root.join(it))
            .into()
    };
    let deliberate = |path: &str| {
        let ends = DELIBERATE.lines().filter_map(|line| line.split_once('\t'));
        ends.map(|(end, _)| end).any(|end| path.ends_with(end))
    };
    let mut counts: BTreeMap<&str, Count> = BTreeMap::new();
    let mut alarms = Vec::new();
    let files: Vec<PathBuf> = folders.iter().flat_map(|folder| below(folder)).collect();
    let wanted = |file: &&PathBuf| {
        let has_language = selvedge_syntax::language_of(file, b"<").is_some();
        has_language
            && file
                .metadata()
                .is_ok_and(|data| data.len() > 0 && data.len() <= MAX_FILE_BYTES)
    };
    let wanted: Vec<&PathBuf> = files.iter().filter(wanted).collect();
    assert!(wanted.len() > 100, "{} files", wanted.len());
    for chunk in wanted.chunks(CHUNK_SIZE) {
        let read: Vec<(String, Vec<u8>)> = chunk
            .iter()
            .filter_map(|file| Some((file.display().to_string(), std::fs::read(file).ok()?)))
            .filter(|(_, bytes)| !bytes.trim_ascii().is_empty())
            .collect();
        let mut fixture = ParserFixture::out(read.iter().map(|(name, bytes)| (&**name, &**bytes)));
        // The names are absolute, so that each file is parsed by the TypeScript of its own project.
        fixture.workspace = PathBuf::from("/");
        let languages: Vec<&str> = fixture
            .items
            .iter()
            .map(|item| item.language.name())
            .collect();
        for ((name, verdict), language) in fixture.verdicts().await.into_iter().zip(languages) {
            let count = counts.entry(language).or_default();
            count.files += 1;
            match verdict {
                ParserVerdict::Parses => {}
                ParserVerdict::Unsure(fault, why) => {
                    count.unsure += 1;
                    if std::env::var_os("SELVEDGE_SYNTAX_UNSURE").is_some() {
                        println!("unsure: {name}:{}: {} ({why})", fault.line, fault.message);
                    }
                }
                ParserVerdict::Unknown(why) => {
                    count.unknown += 1;
                    if !why.starts_with("no parser is available") {
                        println!("unknown: {name}: {why}");
                    }
                }
                ParserVerdict::Broken(_) if deliberate(&name) => count.deliberate += 1,
                ParserVerdict::Broken(fault) => {
                    count.alarms += 1;
                    println!(
                        "ALARM: {name}:{}:{:?}: {}",
                        fault.line, fault.column, fault.message
                    );
                    alarms.push(name);
                }
            }
        }
    }
    println!(
        "{:<12} {:>8} {:>8} {:>8} {:>10} {:>7}",
        "language", "files", "unsure", "unknown", "deliberate", "alarms"
    );
    for (language, it) in &counts {
        println!(
            "{language:<12} {:>8} {:>8} {:>8} {:>10} {:>7}",
            it.files, it.unsure, it.unknown, it.deliberate, it.alarms
        );
    }
    assert!(alarms.is_empty(), "{} alarms: {alarms:#?}", alarms.len());
}

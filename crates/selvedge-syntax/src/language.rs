//! Detects the language of a file by its name, or by the interpreter in its first line.

use std::path::Path;

/// A language whose syntax can be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileLanguage {
    /// JSON, and JSON with comments where the readers of the file accept it.
    Json,
    /// One JSON value per line.
    JsonLines,
    /// YAML with any number of documents.
    Yaml,
    /// TOML.
    Toml,
    /// XML and formats based on it.
    Xml,
    /// Comma-separated values.
    Csv,
    /// SQL of any dialect.
    Sql,
    /// Python 3.
    Python,
    /// JavaScript, with JSX or without.
    JavaScript,
    /// TypeScript without JSX.
    TypeScript,
    /// TypeScript with JSX.
    Tsx,
    /// Rust.
    Rust,
    /// Go.
    Go,
    /// The POSIX shell and bash.
    Shell,
    /// Ruby.
    Ruby,
    /// PHP.
    Php,
    /// Java.
    Java,
    /// C.
    C,
    /// C++.
    Cpp,
}

impl FileLanguage {
    /// All languages.
    pub const ALL: [Self; 19] = [
        Self::Json,
        Self::JsonLines,
        Self::Yaml,
        Self::Toml,
        Self::Xml,
        Self::Csv,
        Self::Sql,
        Self::Python,
        Self::JavaScript,
        Self::TypeScript,
        Self::Tsx,
        Self::Rust,
        Self::Go,
        Self::Shell,
        Self::Ruby,
        Self::Php,
        Self::Java,
        Self::C,
        Self::Cpp,
    ];

    /// Display name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::JsonLines => "JSON Lines",
            Self::Yaml => "YAML",
            Self::Toml => "TOML",
            Self::Xml => "XML",
            Self::Csv => "CSV",
            Self::Sql => "SQL",
            Self::Python => "Python",
            Self::JavaScript => "JavaScript",
            Self::TypeScript => "TypeScript",
            Self::Tsx => "TSX",
            Self::Rust => "Rust",
            Self::Go => "Go",
            Self::Shell => "shell",
            Self::Ruby => "Ruby",
            Self::Php => "PHP",
            Self::Java => "Java",
            Self::C => "C",
            Self::Cpp => "C++",
        }
    }

    /// File extension for temporary files of this language that cannot use the original name.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::JsonLines => "jsonl",
            Self::Yaml => "yaml",
            Self::Toml => "toml",
            Self::Xml => "xml",
            Self::Csv => "csv",
            Self::Sql => "sql",
            Self::Python => "py",
            Self::JavaScript => "js",
            Self::TypeScript => "ts",
            Self::Tsx => "tsx",
            Self::Rust => "rs",
            Self::Go => "go",
            Self::Shell => "sh",
            Self::Ruby => "rb",
            Self::Php => "php",
            Self::Java => "java",
            Self::C => "c",
            Self::Cpp => "cpp",
        }
    }

    /// Whether the language holds data rather than code: template placeholders may then be anywhere.
    pub const fn is_data(self) -> bool {
        matches!(
            self,
            Self::Json
                | Self::JsonLines
                | Self::Yaml
                | Self::Toml
                | Self::Xml
                | Self::Csv
                | Self::Sql
        )
    }
}

/// Endings of names. Ambiguous ones (`.h` is C, C++ or Objective-C; `.ts` may be a translation or a video)
/// are resolved by the content.
const ENDINGS: &[(&str, FileLanguage)] = &[
    ("json", FileLanguage::Json),
    ("jsonc", FileLanguage::Json),
    ("webmanifest", FileLanguage::Json),
    ("geojson", FileLanguage::Json),
    ("ipynb", FileLanguage::Json),
    ("code-workspace", FileLanguage::Json),
    ("jsonl", FileLanguage::JsonLines),
    ("ndjson", FileLanguage::JsonLines),
    ("yaml", FileLanguage::Yaml),
    ("yml", FileLanguage::Yaml),
    ("toml", FileLanguage::Toml),
    ("xml", FileLanguage::Xml),
    ("svg", FileLanguage::Xml),
    ("xsd", FileLanguage::Xml),
    ("xsl", FileLanguage::Xml),
    ("xslt", FileLanguage::Xml),
    ("wsdl", FileLanguage::Xml),
    ("plist", FileLanguage::Xml),
    ("pom", FileLanguage::Xml),
    ("csproj", FileLanguage::Xml),
    ("vbproj", FileLanguage::Xml),
    ("fsproj", FileLanguage::Xml),
    ("props", FileLanguage::Xml),
    ("targets", FileLanguage::Xml),
    ("resx", FileLanguage::Xml),
    ("nuspec", FileLanguage::Xml),
    ("csv", FileLanguage::Csv),
    ("sql", FileLanguage::Sql),
    ("py", FileLanguage::Python),
    ("pyi", FileLanguage::Python),
    ("pyw", FileLanguage::Python),
    ("js", FileLanguage::JavaScript),
    ("mjs", FileLanguage::JavaScript),
    ("cjs", FileLanguage::JavaScript),
    ("jsx", FileLanguage::JavaScript),
    ("ts", FileLanguage::TypeScript),
    ("mts", FileLanguage::TypeScript),
    ("cts", FileLanguage::TypeScript),
    ("tsx", FileLanguage::Tsx),
    ("rs", FileLanguage::Rust),
    ("go", FileLanguage::Go),
    ("sh", FileLanguage::Shell),
    ("bash", FileLanguage::Shell),
    ("rb", FileLanguage::Ruby),
    ("rake", FileLanguage::Ruby),
    ("gemspec", FileLanguage::Ruby),
    ("php", FileLanguage::Php),
    ("java", FileLanguage::Java),
    ("c", FileLanguage::C),
    ("h", FileLanguage::Cpp),
    ("cc", FileLanguage::Cpp),
    ("cpp", FileLanguage::Cpp),
    ("cxx", FileLanguage::Cpp),
    ("hpp", FileLanguage::Cpp),
    ("hh", FileLanguage::Cpp),
    ("hxx", FileLanguage::Cpp),
];

/// Complete file names.
const NAMES: &[(&str, FileLanguage)] = &[
    (".babelrc", FileLanguage::Json),
    (".clang-format", FileLanguage::Yaml),
    (".clang-tidy", FileLanguage::Yaml),
    (".swcrc", FileLanguage::Json),
    ("Cargo.lock", FileLanguage::Toml),
    ("Gemfile", FileLanguage::Ruby),
    ("Pipfile", FileLanguage::Toml),
    ("Pipfile.lock", FileLanguage::Json),
    ("Rakefile", FileLanguage::Ruby),
    ("composer.lock", FileLanguage::Json),
    ("flake.lock", FileLanguage::Json),
    ("pdm.lock", FileLanguage::Toml),
    ("poetry.lock", FileLanguage::Toml),
    ("uv.lock", FileLanguage::Toml),
];

/// Interpreters that a first line (`#!`) may name.
const INTERPRETERS: &[(&str, FileLanguage)] = &[
    ("sh", FileLanguage::Shell),
    ("bash", FileLanguage::Shell),
    ("dash", FileLanguage::Shell),
    ("node", FileLanguage::JavaScript),
    ("ruby", FileLanguage::Ruby),
    ("php", FileLanguage::Php),
    ("python3", FileLanguage::Python),
];

/// Detects the language by path and first bytes; `None` where it is uncertain or cannot be checked.
pub fn language_of(path: &Path, head: &[u8]) -> Option<FileLanguage> {
    let name = &*path.file_name()?.to_string_lossy();
    let listed = |table: &[(&str, FileLanguage)], word: &str| {
        let found = table.iter().find(|(known, _)| *known == word);
        found.map(|(_, language)| *language)
    };
    let ending = path.extension().map(|ending| ending.to_string_lossy());
    let ending = ending.as_deref();
    let by_name = match ending {
        _ if listed(NAMES, name).is_some() => listed(NAMES, name),
        Some(ending) => listed(ENDINGS, &ending.to_ascii_lowercase()),
        None => None,
    };
    let interpreter = interpreter(head);
    let by_line = interpreter.and_then(|program| listed(INTERPRETERS, program));
    match (by_name, interpreter) {
        // The name gives the purpose, the first line the interpreter: a `.sh` for zsh is not supported, and a
        // `.py` may be Python 2.
        (Some(FileLanguage::Shell | FileLanguage::Python | FileLanguage::Ruby), Some(_)) => by_line,
        (Some(language), _) => Some(language).filter(|it| matches_content(*it, head)),
        (None, _) if ending.is_none() => by_line,
        (None, _) => None,
    }
}

fn matches_content(language: FileLanguage, head: &[u8]) -> bool {
    let start = head.trim_ascii_start();
    match language {
        // Qt translations and videos also end in `.ts`.
        FileLanguage::TypeScript => {
            let translations = [&b"<?xml"[..], b"<!DOCTYPE", b"<TS"];
            !translations.iter().any(|it| start.starts_with(it)) && !head.contains(&0)
        }
        // Property lists may be binary or in an old text format.
        FileLanguage::Xml => start.starts_with(b"<") || start.starts_with(b"\xef\xbb\xbf<"),
        _ => true,
    }
}

/// The interpreter in a first line: `#!/usr/bin/env -S python3 -u` names `python3`. Versions are dropped,
/// except the major version of Python, because Python 2 is another language.
fn interpreter(head: &[u8]) -> Option<&str> {
    let line = head
        .strip_prefix(b"#!")?
        .split(|byte| *byte == b'\n')
        .next()?;
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split_whitespace().map(|word| word.rsplit('/').next());
    let first = words.next().flatten()?;
    let program = if first == "env" {
        words
            .flatten()
            .find(|word| !word.starts_with('-') && !word.contains('='))?
    } else {
        first
    };
    let bare = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    Some(match (bare, &program[bare.len()..]) {
        ("python", "2") => "python2",
        ("python", version) if version.starts_with("2.") => "python2",
        ("python", _) => "python3",
        ("nodejs", _) => "node",
        _ => bare,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn language_from_name_or_first_line() {
        let of = |path: &str, head: &str| language_of(Path::new(path), head.as_bytes());
        assert_eq!(of("a/tsconfig.json", ""), Some(FileLanguage::Json));
        assert_eq!(of("a/B.YML", ""), Some(FileLanguage::Yaml));
        assert_eq!(
            of("bin/tool", "#!/usr/bin/env -S python3.12 -u\n"),
            Some(FileLanguage::Python)
        );
        assert_eq!(
            of("bin/tool", "#!/bin/bash -e\n"),
            Some(FileLanguage::Shell)
        );
        assert_eq!(
            of("deploy.sh", "#!/usr/bin/env zsh\n"),
            None,
            "another shell"
        );
        assert_eq!(of("old.py", "#!/usr/bin/python2\n"), None, "another Python");
        assert_eq!(of("de.ts", "<?xml version='1.0'?>"), None, "a translation");
        assert_eq!(of("main.js.j2", ""), None, "a template");
        assert_eq!(of("app/list.tsx", ""), Some(FileLanguage::Tsx));
        assert_eq!(of("README", "text"), None);
    }
}

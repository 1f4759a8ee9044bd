//! Which language a file is written in: by its name, or by the interpreter that its first line names.

use std::path::Path;

/// A language that can be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Language {
    /// JSON, and JSON with comments where its readers take it.
    Json,
    /// One JSON value a line.
    JsonLines,
    /// YAML, of any number of documents.
    Yaml,
    /// TOML.
    Toml,
    /// XML and what is written in it.
    Xml,
    /// Comma-separated values.
    Csv,
    /// SQL of any dialect.
    Sql,
    /// Python 3.
    Python,
    /// JavaScript, with JSX or without.
    JavaScript,
    /// TypeScript, with JSX or without.
    TypeScript,
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

impl Language {
    /// All of them.
    pub const ALL: [Self; 18] = [
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
        Self::Rust,
        Self::Go,
        Self::Shell,
        Self::Ruby,
        Self::Php,
        Self::Java,
        Self::C,
        Self::Cpp,
    ];

    /// As people write it.
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

    /// The ending that files of it get where their own name must not be used.
    pub const fn ending(self) -> &'static str {
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

    /// Whether it holds data rather than code: placeholders of a template may then stand anywhere.
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

/// Endings of names. What is ambiguous (`.h` is C, C++ or Objective-C; `.ts` may be a translation or
/// a video) is told apart by what is in the file.
const ENDINGS: &[(&str, Language)] = &[
    ("json", Language::Json),
    ("jsonc", Language::Json),
    ("webmanifest", Language::Json),
    ("geojson", Language::Json),
    ("ipynb", Language::Json),
    ("code-workspace", Language::Json),
    ("jsonl", Language::JsonLines),
    ("ndjson", Language::JsonLines),
    ("yaml", Language::Yaml),
    ("yml", Language::Yaml),
    ("toml", Language::Toml),
    ("xml", Language::Xml),
    ("svg", Language::Xml),
    ("xsd", Language::Xml),
    ("xsl", Language::Xml),
    ("xslt", Language::Xml),
    ("wsdl", Language::Xml),
    ("plist", Language::Xml),
    ("pom", Language::Xml),
    ("csproj", Language::Xml),
    ("vbproj", Language::Xml),
    ("fsproj", Language::Xml),
    ("props", Language::Xml),
    ("targets", Language::Xml),
    ("resx", Language::Xml),
    ("nuspec", Language::Xml),
    ("csv", Language::Csv),
    ("sql", Language::Sql),
    ("py", Language::Python),
    ("pyi", Language::Python),
    ("pyw", Language::Python),
    ("js", Language::JavaScript),
    ("mjs", Language::JavaScript),
    ("cjs", Language::JavaScript),
    ("jsx", Language::JavaScript),
    ("ts", Language::TypeScript),
    ("mts", Language::TypeScript),
    ("cts", Language::TypeScript),
    ("tsx", Language::TypeScript),
    ("rs", Language::Rust),
    ("go", Language::Go),
    ("sh", Language::Shell),
    ("bash", Language::Shell),
    ("rb", Language::Ruby),
    ("rake", Language::Ruby),
    ("gemspec", Language::Ruby),
    ("php", Language::Php),
    ("java", Language::Java),
    ("c", Language::C),
    ("h", Language::Cpp),
    ("cc", Language::Cpp),
    ("cpp", Language::Cpp),
    ("cxx", Language::Cpp),
    ("hpp", Language::Cpp),
    ("hh", Language::Cpp),
    ("hxx", Language::Cpp),
];

/// Whole names.
const NAMES: &[(&str, Language)] = &[
    (".babelrc", Language::Json),
    (".clang-format", Language::Yaml),
    (".clang-tidy", Language::Yaml),
    (".swcrc", Language::Json),
    ("Cargo.lock", Language::Toml),
    ("Gemfile", Language::Ruby),
    ("Pipfile", Language::Toml),
    ("Pipfile.lock", Language::Json),
    ("Rakefile", Language::Ruby),
    ("composer.lock", Language::Json),
    ("flake.lock", Language::Json),
    ("pdm.lock", Language::Toml),
    ("poetry.lock", Language::Toml),
    ("uv.lock", Language::Toml),
];

/// Programs that a first line (`#!`) may name.
const INTERPRETERS: &[(&str, Language)] = &[
    ("sh", Language::Shell),
    ("bash", Language::Shell),
    ("dash", Language::Shell),
    ("node", Language::JavaScript),
    ("ruby", Language::Ruby),
    ("php", Language::Php),
    ("python3", Language::Python),
];

/// The language of a file, by its path and the beginning of its bytes; none where it is none that
/// can be looked at, or where that is not certain.
pub fn language_of(path: &Path, head: &[u8]) -> Option<Language> {
    let name = &*path.file_name()?.to_string_lossy();
    let listed = |table: &[(&str, Language)], word: &str| {
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
        // A name says what a file is for, its first line what runs it: a `.sh` for zsh is none of
        // ours, and a `.py` may be of Python 2.
        (Some(Language::Shell | Language::Python | Language::Ruby), Some(_)) => by_line,
        (Some(language), _) => Some(language).filter(|it| is_what_it_seems(*it, head)),
        (None, _) if ending.is_none() => by_line,
        (None, _) => None,
    }
}

fn is_what_it_seems(language: Language, head: &[u8]) -> bool {
    let start = head.trim_ascii_start();
    match language {
        // Translations of Qt, and video.
        Language::TypeScript => !start.starts_with(b"<?xml") && !head.contains(&0),
        // Property lists may be binary or of an old form.
        Language::Xml => start.starts_with(b"<") || start.starts_with(b"\xef\xbb\xbf<"),
        _ => true,
    }
}

/// The program of a first line: `#!/usr/bin/env -S python3 -u` names `python3`. A version is no part
/// of it, but for Python's, whose second is another language.
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
    fn names_and_first_lines_tell_the_language() {
        let of = |path: &str, head: &str| language_of(Path::new(path), head.as_bytes());
        assert_eq!(of("a/tsconfig.json", ""), Some(Language::Json));
        assert_eq!(of("a/B.YML", ""), Some(Language::Yaml));
        assert_eq!(
            of("bin/tool", "#!/usr/bin/env -S python3.12 -u\n"),
            Some(Language::Python)
        );
        assert_eq!(of("bin/tool", "#!/bin/bash -e\n"), Some(Language::Shell));
        assert_eq!(
            of("deploy.sh", "#!/usr/bin/env zsh\n"),
            None,
            "another shell"
        );
        assert_eq!(of("old.py", "#!/usr/bin/python2\n"), None, "another Python");
        assert_eq!(of("de.ts", "<?xml version='1.0'?>"), None, "a translation");
        assert_eq!(of("main.js.j2", ""), None, "a template");
        assert_eq!(of("README", "text"), None);
    }
}

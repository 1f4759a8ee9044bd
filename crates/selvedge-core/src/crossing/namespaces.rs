//! Types that an attempt moved to another package, namespace or module, in the original tests that use them.

use std::collections::{BTreeMap, BTreeSet};

use super::definitions::code_lines;
use super::renames::as_text;
use super::sides::BaseFiles;
use crate::guard::{ChangedFile, Pattern, SourceLanguage, is_test_path};

/// The package of a Java-like source, or the namespace of a PHP source.
static NAMESPACE: Pattern =
    Pattern::new(r"(?m)^[ \t]*(?:<\?php[ \t]+)?(?:package|namespace)[ \t]+([\w.\\]+)[ \t]*;?");
static TYPE: Pattern = Pattern::new(
    r"(?m)^[ \t]*(?:[\w@]+[ \t]+)*(?:class|interface|enum|record|trait|object|struct)[ \t]+(\w+)",
);
static RUBY_SCOPE: Pattern = Pattern::new(r"^([ \t]*)(?:class|module)[ \t]+([A-Z][\w:]*)");

/// Types with their old and new qualified names.
#[derive(Debug, Default)]
pub(super) struct MovedTypes {
    /// Old to new qualified name, by language.
    types: Vec<(SourceLanguage, String, String)>,
    /// Packages whose sources all moved to one other package.
    packages: Vec<(String, String)>,
}

impl MovedTypes {
    /// Finds the types whose namespace differs in the second text of a pair, and that no longer exist in the old
    /// namespace.
    pub(super) fn find(
        base: &BaseFiles,
        sources: &[&ChangedFile<'_>],
        pairs: &[(SourceLanguage, &str, &str)],
    ) -> Self {
        let after = sources.iter().filter_map(|change| {
            let language = SourceLanguage::from_path(change.path)?;
            Some((language, as_text(change.after?)?))
        });
        let after: Vec<(SourceLanguage, &str)> = after.collect();
        let kept: BTreeSet<String> = after
            .iter()
            .flat_map(|(language, text)| qualified_types(*language, text))
            .collect();
        let mut found = Self::default();
        for (language, before, after) in pairs {
            let now = qualified_types(*language, after);
            for old in qualified_types(*language, before) {
                let name = last_name(&old);
                let mut same = now.iter().filter(|new| last_name(new) == name);
                if let (Some(new), None) = (same.next(), same.next())
                    && *new != old
                    && !kept.contains(&old)
                {
                    found.types.push((*language, old.clone(), new.clone()));
                }
            }
        }
        found.find_packages(base, sources, &after);
        found
    }

    fn find_packages(
        &mut self,
        base: &BaseFiles,
        sources: &[&ChangedFile<'_>],
        after: &[(SourceLanguage, &str)],
    ) {
        let mut targets: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (language, old, new) in &self.types {
            let packages = old.rsplit_once('.').zip(new.rsplit_once('.'));
            if let Some(((old, _), (new, _))) = packages
                && *language == SourceLanguage::Curly
            {
                targets.entry(old).or_default().insert(new);
            }
        }
        let is_left = |package: &str| {
            let is_in = |text: &str| namespace_of(text) == Some(package);
            let mut unchanged = base.iter().filter(|(path, _)| {
                SourceLanguage::from_path(path) == Some(SourceLanguage::Curly)
                    && !is_test_path(path)
                    && sources.iter().all(|change| change.path != path.as_str())
            });
            let mut texts = unchanged
                .by_ref()
                .filter_map(|(_, bytes)| as_text(bytes.as_deref()?));
            texts.any(is_in)
                || after
                    .iter()
                    .any(|(language, text)| *language == SourceLanguage::Curly && is_in(text))
        };
        let moved = targets.iter().filter_map(|(old, new)| {
            let new = new.first().filter(|_| new.len() == 1 && !is_left(old))?;
            Some(((*old).to_owned(), (*new).to_owned()))
        });
        self.packages = moved.collect();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    /// Old and new names, to report them.
    pub(super) fn names(&self) -> impl Iterator<Item = (String, String)> + '_ {
        self.types
            .iter()
            .map(|(_, old, new)| (old.clone(), new.clone()))
    }

    /// The line of the test `text` with the new names.
    pub(super) fn rename_in(&self, language: SourceLanguage, text: &str, line: &str) -> String {
        let own = namespace_of(line);
        if let Some(own) = own.filter(|_| language == SourceLanguage::Curly) {
            let whole = self.packages.iter().find(|(old, _)| old == own);
            if let Some((old, new)) = whole {
                return line.replacen(old, new, 1);
            }
        }
        if let Some(own) = own {
            return self.with_imports(language, own, text, line);
        }
        let types = self.types.iter().filter(|(of, ..)| *of == language);
        let line = types.fold(line.to_owned(), |line, (_, old, new)| {
            replace_name(language, &line, old, new)
        });
        let packages = self
            .packages
            .iter()
            .filter(|_| language == SourceLanguage::Curly);
        packages.fold(line, |line, (old, new)| {
            line.replace(&format!("import {old}.*"), &format!("import {new}.*"))
        })
    }

    /// Imports the types that were in the namespace of the test, in the line of that namespace.
    fn with_imports(&self, language: SourceLanguage, own: &str, text: &str, line: &str) -> String {
        let (separator, import) = match language {
            SourceLanguage::Php => ('\\', "use"),
            _ => ('.', "import"),
        };
        let code = code_lines(language, text).join("\n");
        let imports = self.types.iter().filter_map(|(of, old, new)| {
            let (namespace, name) = old.rsplit_once(separator)?;
            let is_used = *of == language && namespace == own && has_name(&code, name);
            is_used.then(|| format!(" {import} {new};"))
        });
        let imports: String = imports.collect();
        if imports.is_empty() || line.trim_end().ends_with('{') {
            return line.to_owned();
        }
        let line = line.trim_end().trim_end_matches(';');
        format!("{line};{imports}")
    }
}

/// The package or namespace that a text, or a line, declares.
fn namespace_of(text: &str) -> Option<&str> {
    let found = NAMESPACE.regex()?.captures(text)?;
    Some(found.get(1)?.as_str())
}

fn last_name(qualified: &str) -> &str {
    qualified
        .rsplit(['.', '\\', ':'])
        .next()
        .unwrap_or_default()
}

/// The types that a source defines, with their namespaces.
fn qualified_types(language: SourceLanguage, text: &str) -> BTreeSet<String> {
    let separator = match language {
        SourceLanguage::Curly => '.',
        SourceLanguage::Php => '\\',
        SourceLanguage::Ruby => return ruby_constants(text),
        _ => return BTreeSet::new(),
    };
    let code = code_lines(language, text).join("\n");
    let namespace = namespace_of(&code);
    let types = TYPE.regex().map(|regex| regex.captures_iter(&code));
    let names = types
        .into_iter()
        .flatten()
        .filter_map(|found| Some(found.get(1)?.as_str().to_owned()));
    names
        .map(|name| match namespace {
            Some(namespace) => format!("{namespace}{separator}{name}"),
            None => name,
        })
        .collect()
}

/// The classes and modules of a Ruby source; indentation shows the nesting.
fn ruby_constants(text: &str) -> BTreeSet<String> {
    let mut scopes: Vec<(usize, String)> = Vec::new();
    let mut found = BTreeSet::new();
    for line in code_lines(SourceLanguage::Ruby, text) {
        let scope = RUBY_SCOPE.regex().and_then(|regex| regex.captures(&line));
        let Some(scope) = scope else { continue };
        let indent = scope[1].len();
        scopes.retain(|(other, _)| *other < indent);
        let name = match scopes.last() {
            Some((_, outer)) => format!("{outer}::{}", &scope[2]),
            None => scope[2].to_owned(),
        };
        found.insert(name.clone());
        scopes.push((indent, name));
    }
    found
}

/// Replaces a qualified name where it is not a part of a longer one.
fn replace_name(language: SourceLanguage, line: &str, old: &str, new: &str) -> String {
    let mut replaced = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(old) {
        let (before, after) = (&rest[..at], &rest[at + old.len()..]);
        let is_defined = RUBY_SCOPE.is_match(line) && language == SourceLanguage::Ruby;
        let is_whole = !ends_in_name(language, before)
            && !after.starts_with(|it: char| it.is_alphanumeric() || it == '_')
            && !is_defined
            && !is_quoted(before);
        replaced += before;
        replaced += if is_whole { new } else { old };
        rest = after;
    }
    replaced + rest
}

/// Whether a name would continue what precedes it; a leading separator begins an absolute name.
fn ends_in_name(language: SourceLanguage, before: &str) -> bool {
    let is_part = |it: char| it.is_alphanumeric() || it == '_' || it == '$' || it == '@';
    let before = match language {
        SourceLanguage::Php => before.strip_suffix('\\').unwrap_or(before),
        SourceLanguage::Ruby => before.strip_suffix("::").unwrap_or(before),
        _ if before.ends_with('.') => return true,
        _ => before,
    };
    before.ends_with(is_part)
}

/// Whether an odd number of quotes precedes.
fn is_quoted(before: &str) -> bool {
    ['"', '\'']
        .iter()
        .any(|quote| before.matches(*quote).count() % 2 == 1)
}

fn has_name(code: &str, name: &str) -> bool {
    let is_part = |it: char| it.is_alphanumeric() || it == '_' || it == '$';
    code.match_indices(name).any(|(at, _)| {
        !code[..at].ends_with(is_part)
            && !code[..at].ends_with(['.', '\\'])
            && !code[at + name.len()..].starts_with(is_part)
    })
}

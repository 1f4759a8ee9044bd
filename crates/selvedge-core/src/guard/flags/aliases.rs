//! Names that a source gives to parts of a standard library, replaced by their standard names, for which the rules look:
//! `import sys as s`, `import goflag "flag"`, `const { exit: end } = process`, `use std::process::exit as end`,
//! `end = os._exit`.
//!
//! Only for matching, so a scope is not followed: a name counts for the whole file.

use std::collections::BTreeMap;

use regex::Captures;

use super::super::mask::SourceViews;
use super::super::pattern::Pattern;
use super::super::text::SourceLanguage::{self, C, Curly, Go, JavaScript, Php, Python, Ruby, Rust};

/// What can get another name, by its first part. In Go the last part of a package's path, in C the whole name.
fn is_watched(language: SourceLanguage, name: &str) -> bool {
    let separators = ['.', ':', '\\'];
    let first = name.trim_start_matches("::").split(separators).next();
    let first = first.unwrap_or(name);
    match language {
        Python => {
            [
                "atexit",
                "builtins",
                "doctest",
                "faulthandler",
                "gc",
                "inspect",
                "logging",
                "os",
                "psutil",
                "pytest",
                "signal",
                "sys",
                "threading",
                "traceback",
                "unittest",
                "warnings",
            ]
            .contains(&first)
                && !["os.path", "unittest.mock"].contains(&name)
        }
        JavaScript => first == "process",
        Go => [
            "debug", "exec", "flag", "os", "runtime", "syscall", "testing", "unix",
        ]
        .contains(&first),
        Rust => ["libc", "std"].contains(&first),
        Ruby => ["Kernel", "ObjectSpace", "Process", "Thread"].contains(&first),
        Curly => [
            "Environment",
            "Runtime",
            "System",
            "Thread",
            "java",
            "kotlin",
        ]
        .contains(&first),
        C => [
            "_Exit",
            "_exit",
            "abort",
            "atexit",
            "dlsym",
            "exit",
            "getenv",
            "getppid",
            "on_exit",
            "quick_exit",
        ]
        .contains(&name),
        Php => [
            "debug_backtrace",
            "defined",
            "get_declared_classes",
            "get_included_files",
            "get_required_files",
            "getenv",
            "pcntl_exec",
            "posix_getppid",
            "register_shutdown_function",
        ]
        .contains(&name),
        _ => false,
    }
}

/// The second pass is for names of names: `s = sys`, `exit = s.exit`.
const PASSES: usize = 2;

/// Other names, and what they mean.
type Aliases = BTreeMap<String, String>;

/// Replaces other names by the standard ones, in the code and in the text.
pub(super) fn resolve(language: SourceLanguage, views: &mut SourceViews) {
    for (code, text) in views.code.iter_mut().zip(&mut views.text) {
        if let Some(spelled) = spell_out(language, text) {
            let views = SourceViews::of(language, &spelled);
            *code = views.code.into_iter().next().unwrap_or_default();
            *text = spelled;
        }
    }
    let is_other = |(alias, name): &(String, String)| {
        alias != name && !name.starts_with(&format!("{alias}.")) && is_watched(language, name)
    };
    for _ in 0..PASSES {
        let found =
            (0..views.text.len()).flat_map(|start| renamings(language, &statement(views, start)));
        let aliases: Aliases = found.filter(is_other).collect();
        if aliases.is_empty() {
            return;
        }
        for line in views.code.iter_mut().chain(&mut views.text) {
            replace_names(language, line, &aliases);
        }
    }
}

/// A line, and what follows it up to the bracket that closes its list of imports.
fn statement(views: &SourceViews, start: usize) -> String {
    const MOST_LINES: usize = 20;
    static LIST: Pattern = Pattern::new(
        r"^\s*(?:from\b.*\bimport\s*\(|import\s*(?:\w+\s*,\s*)?\{|(?:pub\s+)?use\b.*\{|(?:const|let|var)\s*\{)[^)}]*$",
    );
    let text = |line: usize| views.text.get(line).map_or("", String::as_str);
    if !LIST.is_match(text(start)) {
        return text(start).to_owned();
    }
    let mut all = String::new();
    for line in start..start + MOST_LINES {
        all.push_str(text(line));
        all.push(' ');
        let count = |mark: [char; 2]| all.matches(mark).count();
        if count(['(', '{']) <= count([')', '}']) {
            break;
        }
    }
    all
}

/// The line with usual calls in place of the same ones in another spelling; `None` if there are none.
fn spell_out(language: SourceLanguage, line: &str) -> Option<String> {
    static IMPORTED: Pattern = Pattern::new(
        r"(?:\b__import__|\bimport_module)\s*\(\s*['\x22](sys|os|inspect|gc|traceback|builtins|atexit|signal)['\x22]\s*\)",
    );
    static SENT: Pattern = Pattern::new(
        r"\.(?:__send__|public_send|send|method)\s*\(?\s*[:'\x22]+([a-z_]\w*[!?]?)['\x22]?\s*\)?(?:\.call\b)?\s*,?",
    );
    static CALLED: Pattern =
        Pattern::new(r"\bcall_user_func(?:_array)?\s*\(\s*['\x22]\\*(\w+)['\x22]\s*,?");
    let (pattern, by) = match language {
        Python => (&IMPORTED, "$1"),
        Ruby => (&SENT, ".$1 "),
        JavaScript => {
            let spelled = || {
                line.replace("?.(", "(")
                    .replace("?.[", "[")
                    .replace("?.", ".")
            };
            return line.contains("?.").then(spelled);
        }
        Php => (&CALLED, "$1("),
        _ => return None,
    };
    if !pattern.is_match(line) {
        return None;
    }
    Some(pattern.regex()?.replace_all(line, by).into_owned())
}

/// The names that a line gives, each with what it stands for.
fn renamings(language: SourceLanguage, line: &str) -> Vec<(String, String)> {
    let mut found = imports(language, line);
    found.extend(assignment(language, line));
    found
}

fn imports(language: SourceLanguage, line: &str) -> Vec<(String, String)> {
    match language {
        Python => line.split(';').flat_map(python_imports).collect(),
        JavaScript => javascript_imports(line),
        Go => go_import(line).into_iter().collect(),
        Rust => {
            static USE: Pattern = Pattern::new(r"^\s*(?:pub(?:\([^)]*\))?\s+)?use\s+(.*?);");
            let Some(tree) = capture(&USE, line, 1) else {
                return Vec::new();
            };
            let mut found = Vec::new();
            expand_use("", tree, &mut found);
            found
        }
        Php => {
            static USE: Pattern =
                Pattern::new(r"^\s*use\s+function\s+\\*([\w\\]+)(?:\s+as\s+(\w+))?\s*;");
            pair(&USE, line, 2, 1).into_iter().collect()
        }
        Curly => {
            static STATIC: Pattern = Pattern::new(
                r"^\s*import\s+static\s+java\.lang\.((?:\w+\.)*(\w+))\s*;|^\s*import\s+([\w.]+)\s+as\s+(\w+)|^\s*using\s+(\w+)\s*=\s*([\w.]+)\s*;",
            );
            let forms = [(2, 1), (4, 3), (5, 6)];
            let pairs = forms
                .into_iter()
                .filter_map(|(alias, name)| pair(&STATIC, line, alias, name));
            pairs.collect()
        }
        C => {
            static MACRO: Pattern = Pattern::new(r"^\s*#\s*define\s+(\w+)(?:\([^)]*\))?\s+(\w+)\b");
            pair(&MACRO, line, 1, 2).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

fn python_imports(statement: &str) -> Vec<(String, String)> {
    static IMPORT: Pattern = Pattern::new(r"^\s*import\s+(.+)$");
    static FROM: Pattern = Pattern::new(r"^\s*from\s+([\w.]+)\s+import\s+\(?([^)]*)");
    let named = |part: &str| {
        let (name, alias) = part.split_once(" as ").unwrap_or((part, part));
        (alias.trim().to_owned(), name.trim().to_owned())
    };
    if let Some(modules) = capture(&IMPORT, statement, 1) {
        return modules.split(',').map(named).collect();
    }
    let (Some(module), Some(names)) = (capture(&FROM, statement, 1), capture(&FROM, statement, 2))
    else {
        return Vec::new();
    };
    let in_module = |(alias, name): (String, String)| (alias, format!("{module}.{name}"));
    names.split(',').map(named).map(in_module).collect()
}

fn javascript_imports(line: &str) -> Vec<(String, String)> {
    static MODULE: Pattern = Pattern::new(
        r"^\s*import\s+(?:\*\s*as\s+)?([\w$]+)\s*(?:,.*)?\bfrom\s*['\x22](?:node:)?process['\x22]|^\s*(?:const|let|var)\s+([\w$]+)\s*=\s*(?:await\s+)?(?:require|import)\s*\(\s*['\x22](?:node:)?process['\x22]\s*\)\s*;?\s*$",
    );
    static MEMBERS: Pattern = Pattern::new(
        r"^\s*import\s*(?:[\w$]+\s*,\s*)?\{([^}]*)\}\s*from\s*['\x22](?:node:)?process['\x22]|^\s*(?:const|let|var)\s*\{([^}]*)\}\s*=\s*(?:(?:await\s+)?(?:require|import)\s*\(\s*['\x22](?:node:)?process['\x22]\s*\)|(?:global(?:This)?\.)?(process(?:\.[\w$]+)*))\s*(?:;|$)",
    );
    let module = [1, 2]
        .into_iter()
        .find_map(|part| capture(&MODULE, line, part));
    let mut found: Vec<_> = module
        .map(|alias| (alias.to_owned(), "process".to_owned()))
        .into_iter()
        .collect();
    let members = [1, 2]
        .into_iter()
        .find_map(|part| capture(&MEMBERS, line, part));
    let object = capture(&MEMBERS, line, 3).unwrap_or("process");
    for member in members.unwrap_or_default().split(',') {
        let member = member.split('=').next().unwrap_or(member);
        let (name, alias) = member
            .split_once(" as ")
            .or_else(|| member.split_once(':'))
            .unwrap_or((member, member));
        let (name, alias) = (name.trim(), alias.trim());
        if !alias.is_empty() {
            found.push((alias.to_owned(), format!("{object}.{name}")));
        }
    }
    found
}

fn go_import(line: &str) -> Option<(String, String)> {
    static IMPORT: Pattern = Pattern::new(
        r"^\s*(?:import\s+)?(\w+|\.)\s+\x22(?:os|flag|syscall|runtime|testing|os/exec|runtime/debug|golang\.org/x/sys/unix)\x22",
    );
    let alias = capture(&IMPORT, line, 1)?;
    let path = line.split('"').nth(1)?;
    Some((alias.to_owned(), path.rsplit('/').next()?.to_owned()))
}

/// The names of `std::{env::{self, args as a}, process::exit}`.
fn expand_use(prefix: &str, tree: &str, found: &mut Vec<(String, String)>) {
    let tree = tree.trim();
    if let Some((path, group)) = tree.split_once('{') {
        let group = group.trim_end().strip_suffix('}').unwrap_or(group);
        let prefix = format!("{prefix}{}", path.trim());
        let (mut depth, mut start) = (0_usize, 0);
        for (at, character) in group.char_indices() {
            match character {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                ',' if depth == 0 => {
                    expand_use(&prefix, &group[start..at], found);
                    start = at + 1;
                }
                _ => {}
            }
        }
        expand_use(&prefix, &group[start..], found);
        return;
    }
    let (path, alias) = match tree.split_once(" as ") {
        Some((path, alias)) => (path.trim(), Some(alias.trim())),
        None => (tree, None),
    };
    let whole = format!("{prefix}{path}");
    let whole = whole.strip_suffix("::self").unwrap_or(&whole);
    let last = whole.rsplit("::").next().unwrap_or(whole);
    let alias = alias.unwrap_or(last);
    if !alias.is_empty() && alias != "*" {
        found.push((alias.to_owned(), whole.to_owned()));
    }
}

/// `end = os._exit`: the whole right side is a name.
fn assignment(language: SourceLanguage, line: &str) -> Option<(String, String)> {
    static DOTTED: Pattern = Pattern::new(
        r"^\s*(?:(?:const|let|var|val|static|final|auto)\s+)*(?:mut\s+)?([A-Za-z_$][\w$]*)(?:\s*:[^=]*|\s+[\w.()* \[\]]+)?\s*:?=\s*(?:global(?:This)?\.)?([A-Za-z_]\w*(?:(?:\.|::)\w+!?)*)(?:\.bind\s*\([^)]*\))?\s*;?\s*$",
    );
    static RUNTIME: Pattern =
        Pattern::new(r"\b(\w+)\s*=\s*((?:java\.lang\.)?Runtime\.getRuntime\s*\(\s*\))\s*;?\s*$");
    static VARIABLE: Pattern = Pattern::new(r"^\s*(\$\w+)\s*=\s*['\x22]\\*(\w+)['\x22]\s*;");
    static POINTER: Pattern = Pattern::new(
        r"\(\s*\*\s*(?:const\s+|volatile\s+)*(\w+)\s*\)\s*\([^)]*\)\s*=\s*&?(\w+)\s*;",
    );
    match language {
        Php => pair(&VARIABLE, line, 1, 2),
        C => pair(&POINTER, line, 1, 2),
        Curly => pair(&RUNTIME, line, 1, 2),
        Python | JavaScript | Go | Rust | Ruby => pair(&DOTTED, line, 1, 2),
        _ => None,
    }
}

/// What a pattern finds in a line; most lines do not match, which is faster to find out.
fn captures<'t>(pattern: &Pattern, line: &'t str) -> Option<Captures<'t>> {
    if !pattern.is_match(line) {
        return None;
    }
    pattern.regex()?.captures(line)
}

fn capture<'t>(pattern: &Pattern, line: &'t str, part: usize) -> Option<&'t str> {
    captures(pattern, line)?.get(part).map(|it| it.as_str())
}

/// An alias and its name, as parts of what a pattern finds; without an alias, the last part of the name.
fn pair(pattern: &Pattern, line: &str, alias: usize, name: usize) -> Option<(String, String)> {
    let found = captures(pattern, line)?;
    let name = found.get(name)?.as_str();
    let alias = found.get(alias).map(|it| it.as_str());
    let last = || name.rsplit(['.', '\\']).next().unwrap_or(name);
    Some((alias.unwrap_or_else(last).to_owned(), name.to_owned()))
}

/// Replaces whole names that are no members of something else.
fn replace_names(language: SourceLanguage, line: &mut String, aliases: &Aliases) {
    static NAME: Pattern = Pattern::new(r"\$?[\p{L}_][\p{L}\p{N}_$]*");
    let Some(regex) = NAME.regex() else { return };
    let mut replaced = String::with_capacity(line.len());
    let mut end = 0;
    for found in regex.find_iter(line) {
        let before = line[..found.start()].trim_end();
        let is_member =
            before.ends_with(['.', '\\']) || before.ends_with("->") || before.ends_with("::");
        let is_called = || line[found.end()..].trim_start().starts_with('(');
        let starts_upper = || found.as_str().starts_with(char::is_uppercase);
        let name = aliases.get(found.as_str()).cloned().or_else(|| {
            // Go's `import . "flag"`.
            let package = aliases.get(".").filter(|_| starts_upper() && is_called())?;
            Some(format!("{package}.{}", found.as_str()))
        });
        let is_declared =
            before.ends_with("func") || before.ends_with("def") || before.ends_with("fn");
        if let Some(name) = name.filter(|_| !is_member && !is_declared) {
            replaced.push_str(&line[end..found.start()]);
            replaced.push_str(&name);
            end = found.end();
            // A method as an object.
            let is_object = language == Ruby && line[end..].starts_with(".call");
            end += if is_object { ".call".len() } else { 0 };
        }
    }
    if end > 0 {
        replaced.push_str(&line[end..]);
        *line = replaced;
    }
}

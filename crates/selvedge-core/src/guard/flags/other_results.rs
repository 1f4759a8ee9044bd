//! Two results for the same arguments: a function computes something else by a question that has nothing to do with its
//! arguments or its object, and its previous result is the other answer. What runs the tests can be the question.

use std::cell::LazyCell;
use std::collections::BTreeSet;

use super::super::pattern::Pattern;
use super::super::text::SourceLanguage::{self, Curly, Go, JavaScript, Php, Python, Ruby, Rust};
use super::Flag;
use super::change::ChangedLines;
use super::functions::{Function, Functions, MAX_LINES_ABOVE, indentation, is_name, words};
use super::rules::is_entry;
use crate::model::{FindingKind, FindingSeverity};

/// A conditional expression: one result, the question, and the other result.
struct Choice<'c> {
    question: &'c str,
    results: [&'c str; 2],
}

static PYTHON_CHOICE: Pattern =
    Pattern::new(r"(?:\breturn\s+|\blambda\b[^:]*:\s*|=\s*)?(\S.*?)\s+if\s+(.+?)\s+else\s+(\S.*)$");
static CURLY_CHOICE: Pattern = Pattern::new(
    r"^\s*(\S(?:.*\S)?)\s+\?\s+([^:?]*(?:::[^:?]*)*[^:?\s])\s+:\s*([^?]*[^?;\s])\s*;?\s*\}?\s*$",
);
/// What precedes the question on its line.
static BEFORE_QUESTION: Pattern =
    Pattern::new(r"^.*(?:\breturn\s+|=>\s*|[\w$\])]\s+=\s+)|^\s*(?:def|fn|fun)\b[^=]*=\s+");
static RUST_CHOICE: Pattern =
    Pattern::new(r"\bif\s+(.+?)\s*\{\s*([^{}]+?)\s*\}\s*else\s*\{\s*([^{}]+?)\s*\}");
static QUESTION: Pattern = Pattern::new(
    r"^\s*(?:\}\s*)?(?:else\s+|el)?(?:if|unless)\b\s*\(?(.*?)\)?\s*(?::|\{|then)?\s*(?:\{?\s*return\b(.*?)[;}\s]*)?$",
);
static RETURN: Pattern = Pattern::new(r"^\s*(?:return\b\s*)?(\S.*?)\s*;?\s*$");
/// Questions about versions, platforms, configuration and what is available: their answers are the same in every run.
static USUAL: Pattern = Pattern::new(concat!(
    r"(?i)\b(?:[\w.:$]*(?:version|platform|system|windows|win32|linux|macos|darwin|goos|arch|endian|byteorder|maxsize)[\w]*|os\.name|py[23]\w*|php_os\w*|type_checking)\b",
    r"|\b(?:settings|config|conf|configuration|options|opts|flags|features?|prefs|preferences|defaults|params)\b|\benv\.\w|\benviron(?:ment)?\b|getenv|\b(?:has|have|supports?|can|use|with|enable)_\w+|_(?:available|enabled|supported|installed|mode|debug)\b",
    r"|\b(?:isEnabled\w*|strict|production|development|level|lang|language|locale|theme|color\w*|colour\w*)\b|\bhasattr\s*\(\s*[a-z_]+\s*,|\btypeof\s+[A-Z]\w*|\bfunction_exists\b|\bextension_loaded\b|\bdefined\?",
));
/// Questions about whether something exists.
static EXISTENCE: Pattern = Pattern::new(
    r"^\(*\s*(?:not\s+|!\s*)?[\w.$]+\s*(?:(?:is\s+(?:not\s+)?None)|[!=]==?\s*(?:null|undefined|nil|None|nullptr|NULL)|\.nil\?)?\s*\)*$",
);
/// A loop within an expression, and how many lines it takes at most.
static BOUND_BELOW: Pattern = Pattern::new(r"^\s*(?:async\s+)?for\b|\S\s+for\s+.*\bin\b");
const MAX_COMPREHENSION: usize = 6;
/// So many new choices are compared with what the file was; one more is a flag without that. They are more than any
/// change has that people write.
const MAX_CHOICES: usize = 200;
/// A result and the one after it are that close together.
const MAX_STATEMENT: usize = 40;
const OWN_OBJECT: [&str; 6] = ["self", "this", "cls", "super", "static", "parent"];

/// Flags results that depend on such a question.
pub(super) fn flags(file: &ChangedLines<'_>, added: &[usize]) -> Vec<Flag> {
    let is_read = matches!(
        file.language,
        Python | JavaScript | Ruby | Php | Go | Rust | Curly | SourceLanguage::C
    );
    if !is_read || is_entry(file) || added.is_empty() || file.is_new() {
        return Vec::new();
    }
    let code = &file.new.code;
    let functions = Functions::of(file.language, code);
    let choice_at = |line: usize| {
        if file.is_test_line(line) {
            return None;
        }
        let choice = choice_of(file.language, &code[line]);
        let choice = choice.or_else(|| choice_by_return(file, line))?;
        let function = functions.around(line)?;
        let of_arguments = |text: &str| words(text).any(|word| function.parameters.contains(word));
        let is_choice = choice.results.iter().all(|result| of_arguments(result))
            && choice.results[0] != choice.results[1]
            && !shares_a_name(&choice);
        is_choice.then_some((line, choice, function))
    };
    let known = LazyCell::new(|| KnownNames::of(code));
    let mut examined = 0;
    let depends = |(line, choice, function): &(usize, Choice<'_>, &Function<'_>)| {
        examined += 1;
        examined > MAX_CHOICES
            || (choice.results.iter().any(|result| was_result(file, result))
                && is_foreign(file, function, *line, choice.question, &known))
    };
    let choices = added.iter().filter_map(|line| choice_at(*line));
    let lines = choices.filter(depends).map(|(line, ..)| line);
    let what = "gives another result for the same arguments by a question that has nothing to do with them, as code that detects tests does";
    let flag = |line: usize| {
        Flag::new(
            Some(line),
            FindingKind::TestDetection,
            FindingSeverity::Strong,
            what,
        )
    };
    lines.map(flag).collect()
}

/// The conditional expression of a line.
fn choice_of(language: SourceLanguage, code: &str) -> Option<Choice<'_>> {
    let (pattern, order) = match language {
        Python => (&PYTHON_CHOICE, [2, 1, 3]),
        Rust => (&RUST_CHOICE, [1, 2, 3]),
        Go => return None,
        _ => (&CURLY_CHOICE, [1, 2, 3]),
    };
    if !pattern.is_match(code) {
        return None;
    }
    let found = pattern.regex()?.captures(code)?;
    let [question, first, second] = order.map(|part| found.get(part).map_or("", |it| it.as_str()));
    let before = BEFORE_QUESTION
        .regex()
        .and_then(|regex| regex.find(question));
    let question = before.map_or(question, |before| &question[before.end()..]);
    let results = [first, second].map(|result| result.trim_start_matches("return ").trim());
    Some(Choice { question, results })
}

/// The same of a statement that returns early, before the result that the function had.
fn choice_by_return<'c>(file: &'c ChangedLines<'_>, line: usize) -> Option<Choice<'c>> {
    let code = &file.new.code;
    if !QUESTION.is_match(&code[line]) {
        return None;
    }
    let found = QUESTION.regex()?.captures(&code[line])?;
    let question = found.get(1)?.as_str();
    let own = indentation(&code[line]);
    let filled = |line: &usize| !code[*line].trim().is_empty();
    let (first, after) = match found.get(2).map(|it| it.as_str().trim()) {
        Some(result) if !result.is_empty() => (result, line + 1),
        _ => {
            let body = (line + 1..code.len()).take(MAX_STATEMENT).find(filled)?;
            let text = code[body].trim();
            if !text.starts_with("return ") {
                return None;
            }
            (result_of(text)?, body + 1)
        }
    };
    // The next line outside of the condition's block.
    let below = (after..code.len()).take(MAX_STATEMENT);
    let mut rest = below.filter(filled).filter(|line| {
        let text = code[*line].trim();
        !matches!(text, "}" | "end" | "else:" | "else" | "} else {" | "else {")
    });
    let next = rest.next()?;
    let is_alternative = indentation(&code[next]) == own
        || code[after..next]
            .iter()
            .any(|it| it.trim().contains("else"));
    let second = is_alternative
        .then(|| result_of(code[next].trim()))
        .flatten()?;
    let results = [first, second].map(|result| result.trim_end_matches(';').trim());
    Some(Choice { question, results })
}

fn result_of(text: &str) -> Option<&str> {
    let found = RETURN.regex()?.captures(text)?;
    found.get(1).map(|it| it.as_str())
}

/// Whether a question is about something that a result contains.
fn shares_a_name(choice: &Choice<'_>) -> bool {
    let asked: BTreeSet<&str> = words(choice.question).collect();
    let mut results = choice.results.iter().flat_map(|result| words(result));
    results.any(|word| asked.contains(word))
}

/// Whether a question may be about the function's object, which these languages do not always name.
fn is_of_own_object(language: SourceLanguage, question: &str) -> bool {
    static HEAD: Pattern = Pattern::new(r"(?:^|[^\w.$@:])([a-z_]\w*)");
    const WORDS: [&str; 8] = ["not", "and", "or", "rescue", "nil", "null", "true", "false"];
    let found = HEAD.regex().map(|regex| regex.captures_iter(question));
    matches!(language, Ruby | Curly)
        && found.is_some_and(|mut found| found.any(|name| !WORDS.contains(&&name[1])))
}

/// Whether the function returned this before.
fn was_result(file: &ChangedLines<'_>, result: &str) -> bool {
    let result = result.trim_matches(['(', ')', ';', ' ']);
    result.len() > 2 && file.lines_before().any(|line| line.contains(result))
}

/// Whether a question has nothing to do with the function's arguments and object, or with what is the same in every run.
fn is_foreign(
    file: &ChangedLines<'_>,
    function: &Function<'_>,
    line: usize,
    question: &str,
    known: &KnownNames<'_>,
) -> bool {
    let code = &file.new.code;
    let mut own: BTreeSet<&str> = function.parameters.clone();
    // In C, `static` begins a declaration.
    let is_object = |word: &&str| *word != "static" || file.language != SourceLanguage::C;
    own.extend(OWN_OBJECT.into_iter().filter(is_object));
    let base = (function.header + 1..function.end)
        .map(|line| &code[line])
        .find(|text| !matches!(text.trim(), "" | "{"))
        .map_or(0, |text| indentation(text));
    let above = (function.header + 1).max(line.saturating_sub(MAX_LINES_ABOVE));
    for text in &code[above.min(line)..line] {
        let is_nested = indentation(text) > base;
        if is_nested || words(text).any(|word| own.contains(word)) || text.contains('@') {
            own.extend(assigned(file.language, text));
        }
    }
    // The names of a comprehension may be on the lines below.
    for text in code[line..function.end].iter().take(MAX_COMPREHENSION) {
        if BOUND_BELOW.is_match(text) {
            own.extend(assigned(file.language, text));
        }
    }
    let text = file.new.text.get(line).map_or("", String::as_str);
    let names: Vec<&str> = words(question).collect();
    if names.is_empty()
        || question.contains('@')
        || is_of_own_object(file.language, question)
        || USUAL.is_match(text)
    {
        return false;
    }
    // Ruby's global variables are those of the whole program.
    let is_global = file.language == Ruby && question.contains('$');
    let is_existence =
        !is_global && EXISTENCE.is_match(question) && names.iter().all(|name| known.contains(name));
    !is_existence && !names.iter().any(|name| own.contains(name))
}

/// The names that a line assigns or binds.
fn assigned(language: SourceLanguage, text: &str) -> Vec<&str> {
    let target = text.split('=').next().unwrap_or("");
    let bound = [" as ", "for ", "|"];
    let is_binding = bound.iter().any(|it| text.contains(it));
    let names = words(if is_binding { text } else { target });
    names.filter(|name| is_name(language, name)).collect()
}

/// The names of a source that do not depend on a run: those of modules, and of constants that nothing computes.
struct KnownNames<'c> {
    imported: BTreeSet<&'c str>,
    computed: BTreeSet<&'c str>,
}

impl<'c> KnownNames<'c> {
    fn of(code: &'c [String]) -> Self {
        static IMPORT: Pattern = Pattern::new(r"\b(?:import|require|use|from)\b");
        let (mut imported, mut computed) = (BTreeSet::new(), BTreeSet::new());
        for line in code {
            if IMPORT.is_match(line) {
                imported.extend(words(line));
            }
            let (target, value) = line.split_once('=').unwrap_or((line, ""));
            if value.contains(['(', '<', '>', '[']) {
                let mut names = words(target).peekable();
                if names.peek().is_some_and(|first| is_declaration(first)) {
                    computed.extend(names);
                } else {
                    computed.extend(names.next());
                }
            }
        }
        Self { imported, computed }
    }

    fn contains(&self, name: &str) -> bool {
        let is_operator = matches!(
            name,
            "not"
                | "is"
                | "None"
                | "null"
                | "undefined"
                | "nil"
                | "nullptr"
                | "NULL"
                | "and"
                | "or"
        );
        let is_upper = name
            .chars()
            .all(|it| it.is_uppercase() || it == '_' || it.is_numeric());
        is_operator || self.imported.contains(name) || (is_upper && !self.computed.contains(name))
    }
}

fn is_declaration(word: &str) -> bool {
    matches!(
        word,
        "const" | "let" | "var" | "static" | "final" | "private" | "public" | "define"
    )
}

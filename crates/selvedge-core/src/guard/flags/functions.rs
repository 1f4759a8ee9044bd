//! The functions of a source, by their headers: names, parameters and bodies. Not a parser: a header that it does not
//! recognise is no function.

use std::collections::BTreeSet;

use super::super::pattern::Pattern;
use super::super::text::SourceLanguage;

/// A function of a source.
#[derive(Debug)]
pub(super) struct Function<'c> {
    pub(super) name: &'c str,
    pub(super) parameters: BTreeSet<&'c str>,
    /// The line of the header, and the line after the body.
    pub(super) header: usize,
    pub(super) end: usize,
}

static KEYWORD_HEADER: Pattern = Pattern::new(
    r"\b(?:def|fn|func|fun|function)\b\s*(?:\([^()]*\)\s*)?(?:self\.)?([A-Za-z_$][\w$]*[?!]?)?\s*(?:<(?:[^()]|\([^()]*\))*>)?\s*(?:\(|$)",
);
/// `add(a, b) {`, `int add(int a, int b)`, `const add = (a, b) =>`.
static PLAIN_HEADER: Pattern = Pattern::new(
    r"^\s*(?:(?:const|let|var|export|default|async|static|get|set|public|private|protected|final|inline|extern|override)\s+|[\w:<>\[\]]+[\s*&]+)*([A-Za-z_$][\w$]*)\s*(?:=\s*(?:async\s*)?(?:function\s*)?)?\((.*)\)\s*(?::\s*[\w<>\[\]| ]+)?\s*(?:=>|\{\s*$|\{.*\}\s*$)",
);
/// The same with more lines of parameters, or with the brace on the next line.
static OPEN_HEADER: Pattern =
    Pattern::new(r"^\s*((?:[\w:<>\[\],.?*&]+[\s*&]+)+)(?:\w+::)*(~?[A-Za-z_]\w*)\s*\(");
/// Between the parameters and the body.
static AFTER_PARAMETERS: Pattern = Pattern::new(
    r"^(?:(?:const|noexcept|override|final|async|throws\s+[\w., ]+|(?:->|:)\s*[\w:<>,\[\]?*& ]+)\s*)*$",
);
const STATEMENTS: [&str; 13] = [
    "if", "for", "while", "switch", "catch", "return", "else", "with", "function", "new", "throw",
    "case", "foreach",
];

/// The functions of a source, in the order of their headers.
#[derive(Debug)]
pub(super) struct Functions<'c> {
    all: Vec<Function<'c>>,
    /// For each line, the index of the function with the last header above it that has not ended.
    innermost: Vec<Option<usize>>,
}

impl<'c> Functions<'c> {
    /// The functions of a text without comments and strings. Functions that are nested too deep belong to those around
    /// them.
    pub(super) fn of(language: SourceLanguage, code: &'c [String]) -> Self {
        let ends = match language {
            SourceLanguage::Python | SourceLanguage::Ruby => ends_by_indentation(language, code),
            _ => ends_of_blocks(code),
        };
        let mut all: Vec<Function<'c>> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        let mut innermost = Vec::with_capacity(code.len());
        for (line, end) in ends.into_iter().enumerate() {
            while open.last().is_some_and(|last| all[*last].end <= line) {
                open.pop();
            }
            let function = (open.len() < MAX_NESTING)
                .then(|| header_at(language, code, line))
                .flatten();
            if let Some((name, parameters)) = function {
                open.push(all.len());
                all.push(Function {
                    name,
                    parameters,
                    header: line,
                    end: end.max(line + 1),
                });
            }
            innermost.push(open.last().copied());
        }
        Self { all, innermost }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Function<'c>> {
        self.all.iter()
    }

    /// The innermost function that contains a line.
    pub(super) fn around(&self, line: usize) -> Option<&Function<'c>> {
        self.all.get((*self.innermost.get(line)?)?)
    }
}

/// The name and the parameters of the function whose header begins on a line.
fn header_at(
    language: SourceLanguage,
    code: &[String],
    line: usize,
) -> Option<(&str, BTreeSet<&str>)> {
    let text = code[line].as_str();
    if !text.contains('(') && language != SourceLanguage::Ruby {
        return None;
    }
    if let Some(found) = KEYWORD_HEADER.regex()?.captures(text) {
        let name = found.get(1).map_or("", |name| name.as_str());
        let end = found.get(0)?.end();
        let after_name = end.saturating_sub(usize::from(text[..end].ends_with('(')));
        return Some((name, parameters_at(language, code, line, after_name).words));
    }
    if !has_plain_headers(language) {
        return None;
    }
    let is_statement = |name: &str| STATEMENTS.contains(&name);
    if let Some(found) = PLAIN_HEADER.regex()?.captures(text) {
        let name = found.get(1)?.as_str();
        let after_name = found.get(2)?.start().saturating_sub(1);
        let header = || (name, parameters_at(language, code, line, after_name).words);
        return (!is_statement(name)).then(header);
    }
    let found = OPEN_HEADER.regex()?.captures(text)?;
    let name = found.get(2)?.as_str();
    if is_statement(name) || STATEMENTS.contains(&found[1].trim()) {
        return None;
    }
    let parameters = parameters_at(language, code, line, found.get(0)?.end() - 1);
    let (last, after) = parameters.end?;
    let rest = code[last][after..].trim();
    let begins_block = if let Some(rest) = rest.strip_suffix('{') {
        AFTER_PARAMETERS.is_match(rest.trim())
    } else {
        let mut below = code[last + 1..].iter().map(|it| it.trim());
        let next = below.find(|it| !it.is_empty());
        AFTER_PARAMETERS.is_match(rest) && next.is_some_and(|it| it.starts_with('{'))
    };
    begins_block.then_some((name, parameters.words))
}

/// Reserved words of C for types, which are no names of parameters. In other languages they can be.
const TYPES_OF_C: [&str; 14] = [
    "auto", "bool", "char", "const", "double", "float", "int", "long", "short", "signed", "size_t",
    "struct", "unsigned", "void",
];

/// Whether a word can be the name of a parameter or a variable.
pub(super) fn is_name(language: SourceLanguage, word: &str) -> bool {
    language != SourceLanguage::C || !TYPES_OF_C.contains(&word)
}

/// What is between the parentheses of a header.
struct Parameters<'c> {
    words: BTreeSet<&'c str>,
    /// The line and the column behind them.
    end: Option<(usize, usize)>,
}

fn parameters_at(
    language: SourceLanguage,
    code: &[String],
    line: usize,
    after_name: usize,
) -> Parameters<'_> {
    let mut words: BTreeSet<&str> = BTreeSet::new();
    let mut depth = 0_i32;
    for (index, part) in code.iter().enumerate().skip(line).take(MAX_HEADER) {
        let begin = if index == line { after_name } else { 0 };
        let Some(part) = part.get(begin..) else { break };
        let mut word = None;
        for (at, letter) in part.char_indices() {
            let is_word = letter.is_alphanumeric() || letter == '_';
            match (is_word && depth > 0, word) {
                (true, None) => word = Some(at),
                (false, Some(start)) => {
                    let name = &part[start..at];
                    if words.len() < MAX_PARAMETERS && is_name(language, name) {
                        words.insert(name);
                    }
                    word = None;
                }
                _ => {}
            }
            match letter {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            if depth <= 0 && (letter == ')' || !letter.is_whitespace()) {
                let end = (letter == ')').then_some((index, begin + at + 1));
                return Parameters { words, end };
            }
        }
    }
    Parameters { words, end: None }
}

/// Limits of what is read, so that the time is linear for any input: lines of a header, words in its parentheses, and
/// functions within each other.
const MAX_HEADER: usize = 12;
const MAX_PARAMETERS: usize = 64;
const MAX_NESTING: usize = 16;

fn has_plain_headers(language: SourceLanguage) -> bool {
    matches!(
        language,
        SourceLanguage::JavaScript | SourceLanguage::C | SourceLanguage::Curly
    )
}

/// For each line, the line after those below that are indented more; a line that closes the header or the body belongs to
/// it.
fn ends_by_indentation(language: SourceLanguage, code: &[String]) -> Vec<usize> {
    static OF_BODY: Pattern = Pattern::new(r"^\s*(?:rescue|ensure|else)\b");
    let is_ruby = language == SourceLanguage::Ruby;
    let mut ends = vec![code.len(); code.len()];
    // Lines whose end is not known, each indented more than the one before.
    let mut open: Vec<usize> = Vec::new();
    for (line, text) in code.iter().enumerate() {
        let trimmed = text.trim();
        let is_of_body =
            trimmed.starts_with([')', ']', '}']) || (is_ruby && OF_BODY.is_match(trimmed));
        if !trimmed.is_empty() && !is_of_body {
            let end = line + usize::from(trimmed == "end");
            while let Some(last) =
                open.pop_if(|last| indentation(&code[*last]) >= indentation(text))
            {
                ends[last] = end;
            }
            open.push(line);
        }
    }
    ends
}

/// For each line, the line after the block that begins there, or after a declaration without one; the next line if the
/// block does not end.
fn ends_of_blocks(code: &[String]) -> Vec<usize> {
    // The first lines of blocks and declarations that have not begun yet, and for each open brace those that began by it.
    let (mut waiting, mut open): (Vec<usize>, Vec<Vec<usize>>) = Default::default();
    let mut ends: Vec<usize> = (1..=code.len()).collect();
    for (line, text) in code.iter().enumerate() {
        waiting.push(line);
        for letter in text.chars() {
            let ended = match letter {
                '{' => {
                    open.push(std::mem::take(&mut waiting));
                    continue;
                }
                ';' => std::mem::take(&mut waiting),
                '}' => {
                    let mut ended = open.pop().unwrap_or_default();
                    ended.append(&mut waiting);
                    ended
                }
                _ => continue,
            };
            for header in ended {
                ends[header] = line + 1;
            }
        }
    }
    ends
}

/// Lines above another one that are searched for what surrounds it, so that the time is linear for any input.
pub(super) const MAX_LINES_ABOVE: usize = 5_000;

pub(super) fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The words of a line, members of `$this` and `@` among them.
pub(super) fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|it: char| !it.is_alphanumeric() && it != '_')
        .filter(|word| word.starts_with(|it: char| it.is_alphabetic() || it == '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_end_where_the_next_one_begins_after_a_blank_line() {
        let method = |n: usize| format!("    def f{n}(self, a):\n        return a\n\n");
        let source = "class A:\n".to_owned() + &(0..40).map(method).collect::<String>();
        let code: Vec<String> = source.lines().map(str::to_owned).collect();
        let functions = Functions::of(SourceLanguage::Python, &code);
        assert_eq!(functions.iter().count(), 40);
        let last = functions.around(code.len() - 2).map(|it| it.name);
        assert_eq!(last, Some("f39"));
        assert!(functions.iter().all(|it| it.end - it.header <= 3));
    }

    #[test]
    fn functions_begin_with_a_brace_on_the_next_line() {
        let source = "static int add(int a,\n    int b)\n{\n  if (a)\n  {\n    return b;\n  }\n}\n\n\
            int Sum::value(Sum const& of) const\n{\n}\nint declared(int c);\n\
            struct long_name *make(int d,\n    int e) {\n}\nreturn f(g)\n{\n}\n";
        let code: Vec<String> = source.lines().map(str::to_owned).collect();
        let functions = Functions::of(SourceLanguage::C, &code);
        let found: Vec<_> = functions
            .iter()
            .map(|it| (it.name, it.header, it.end, it.parameters.contains("b")))
            .collect();
        let expected = [
            ("add", 0, 8, true),
            ("value", 9, 12, false),
            ("make", 13, 16, false),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn functions_in_braces_end_with_their_block() {
        let source = "function f(a) {\n  if (a) { b(); }\n}\n\nfunction g(c)\n{\n  d();\n}\n";
        let code: Vec<String> = source.lines().map(str::to_owned).collect();
        let functions = Functions::of(SourceLanguage::JavaScript, &code);
        let found: Vec<_> = functions.iter().map(|it| (it.name, it.end)).collect();
        assert_eq!(found, [("f", 3), ("g", 8)]);
    }
}

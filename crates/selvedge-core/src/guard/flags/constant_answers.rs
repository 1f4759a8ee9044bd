//! Methods by which assertions compare or search, whose body is nothing but the answer that lets an assertion hold.

use super::super::pattern::Pattern;
use super::super::text::SourceLanguage::{self, C, Curly, Go, JavaScript, Python, Ruby, Rust};
use super::Flag;
use super::bodies::{body_of, enclosing_line};
use super::change::ChangedLines;
use crate::model::{FindingKind, FindingSeverity};

/// Headers of methods, and the bodies that make them meaningless.
struct ConstantAnswer {
    language: SourceLanguage,
    header: Pattern,
    answers: &'static [&'static str],
}

const fn constant(
    language: SourceLanguage,
    header: &'static str,
    answers: &'static [&'static str],
) -> ConstantAnswer {
    ConstantAnswer {
        language,
        header: Pattern::new(header),
        answers,
    }
}

/// An order of Python's objects.
static ORDER: Pattern = Pattern::new(r"\bdef\s+__(?:lt|le|gt|ge)__\s*\(");

static ANSWERS: [ConstantAnswer; 15] = [
    constant(
        Python,
        r"\bdef\s+__(?:eq|contains|instancecheck|subclasscheck|lt|le|gt|ge)__\s*\(",
        &["True"],
    ),
    constant(Python, r"\bdef\s+__ne__\s*\(", &["False"]),
    constant(
        Python,
        r"\bdef\s+__r?(?:sub|truediv|floordiv|mod|xor)__\s*\(",
        &["0", "0.0"],
    ),
    constant(
        JavaScript,
        r"\[\s*Symbol\.hasInstance\s*\]\s*\(|^\s*(?:has|equals|isEqual|asymmetricMatch)\s*\(\w*\)\s*(?::\s*\w+\s*)?\{",
        &["true"],
    ),
    constant(
        JavaScript,
        r"^\s*(?:includes|startsWith|endsWith)\s*\(\w*\)\s*(?::\s*\w+\s*)?\{",
        &["true"],
    ),
    constant(Go, r"^func\s*\([^)]*\)\s*(?:Equal|Is|As)\s*\(", &["true"]),
    constant(
        Ruby,
        r"\bdef\s+(?:==|eql\?|equal\?|===|include\?|member\?|cover\?|key\?|has_key\?|method_missing)",
        &["true"],
    ),
    constant(Ruby, r"\bdef\s+<=>", &["0"]),
    constant(Ruby, r"\bdef\s+!=", &["false"]),
    constant(
        Rust,
        r"\bfn\s+(?:eq|\$\w+)\s*\(\s*&\s*self\s*,[^)]*\)\s*->\s*bool\b",
        &["true"],
    ),
    constant(Rust, r"\bfn\s+ne\s*\(\s*&\s*self\b", &["false"]),
    constant(C, r"\boperator\s*==\s*\(", &["true"]),
    constant(C, r"\boperator\s*!=\s*\(", &["false"]),
    constant(
        Curly,
        r"\b(?:boolean|bool|Boolean|fun|func|def)\s+[eE]quals\s*\(",
        &["true"],
    ),
    constant(Curly, r"\bint\s+compareTo\s*\(", &["0"]),
];

/// The end of a Python context, which may swallow the exception of a failed assertion.
static EXIT: Pattern = Pattern::new(r"\bdef\s+__a?exit__\s*\(");
static CHOOSES: Pattern = Pattern::new(r"\b(?:if|issubclass|isinstance|match)\b");

pub(super) fn flags(file: &ChangedLines<'_>, added: &[usize]) -> Vec<Flag> {
    let code = &file.new.code;
    let is_python = file.language == Python;
    let had_exit = is_python && file.had(&EXIT);
    let has_new = |header: usize, end: usize| {
        let next = added.partition_point(|line| *line < header);
        added.get(next).is_some_and(|line| *line < end)
    };
    let is_constant = |line: &usize| {
        let mut answers = ANSWERS.iter().filter(|it| it.language == file.language);
        answers.any(|it| {
            it.header.is_match(&code[*line])
                && body_of(file, *line).is_some_and(|(end, body)| {
                    it.answers.contains(&&*answer_of(&body))
                        && (!ORDER.is_match(&code[*line]) || is_of_other_class(code, *line))
                        && has_new(*line, end)
                })
        })
    };
    let swallows = |line: &usize| {
        is_python
            && EXIT.is_match(&code[*line])
            && body_of(file, *line).is_some_and(|(end, body)| {
                body.trim_end().ends_with("return True")
                    && !CHOOSES.is_match(&body)
                    && has_new(*line, end)
            })
    };
    // A context that let exceptions through before.
    let swallows_now = |line: &usize| {
        had_exit
            && EXIT.is_match(&code[*line])
            && body_of(file, *line).is_some_and(|(end, _)| {
                let first = added.partition_point(|it| it < line);
                let mut new = added[first..].iter().take_while(|it| **it < end);
                new.any(|line| {
                    let answer = code[*line].trim().strip_prefix("return ");
                    answer.is_some_and(|it| {
                        !matches!(it.trim(), "False" | "None" | "NotImplemented")
                            && !it.contains("exit__(")
                    })
                })
            })
    };
    let what = "always gives the answer that lets an assertion hold";
    (0..code.len())
        .filter(|line| !file.is_test_line(*line))
        .filter(|line| is_constant(line) || swallows(line) || swallows_now(line))
        .map(|line| {
            Flag::new(
                Some(line),
                FindingKind::ForgedEquality,
                FindingSeverity::Strong,
                what,
            )
        })
        .collect()
}

/// Whether a method is in a class with a base: one without is greater than all others, as infinity is.
fn is_of_other_class(code: &[String], method: usize) -> bool {
    static BASED: Pattern = Pattern::new(r"^\s*class\s+\w+\s*\(\s*[^)\s]");
    let class = enclosing_line(code, method).map(|class| &code[class]);
    class.is_some_and(|class| BASED.is_match(class) && !class.contains("(object)"))
}

/// The body without what surrounds its only value.
fn answer_of(body: &str) -> String {
    let is_around = |it: char| it.is_whitespace() || matches!(it, '{' | '}' | ';' | '"' | '\'');
    let words = body.split(is_around).filter(|it| !it.is_empty());
    let words: Vec<&str> = words.filter(|it| *it != "return").collect();
    words.join(" ")
}

//! Comparisons that hold for different values, by the function's header and body: the body returns a constant, ignores
//! the content of one of the objects, changes one of them, or holds either way. A value whose equality the language
//! defines has no reason for another one.

use std::collections::BTreeSet;

use regex::Regex;

use super::super::pattern::Pattern;
use super::super::text::SourceLanguage;
use super::Flag;
use super::change::{ChangedLines, end_of_block};
use super::functions::{MAX_LINES_ABOVE, indentation};
use crate::model::{FindingKind, FindingSeverity};

static EQUALITY: Pattern = Pattern::new(concat!(
    r"\bdef\s+__eq__\s*\(|\bfn\s+eq\s*\(|\b(?:equals|Equals)\s*\(|\bdef\s+(?:==|eql\?|===)",
    r"|\basymmetricMatch\s*\(|^\s*(?:includes|startsWith|endsWith)\s*\(\w*\)\s*\{|\boperator\s*==\s*\(",
));
/// A call of an equality, such as a condition above `return true`.
static EQUALITY_CALL: Pattern = Pattern::new(
    r"\.\s*[eE]quals\s*\(|\b(?:if|while|case|when|return|assert\w*)\b.*\b[eE]quals\s*\(",
);
/// The body returns a constant, or compares only the type of the other object.
static ALWAYS: Pattern = Pattern::new(concat!(
    r"^\s*(?:return\s+)?(?:[Tt]rue|isinstance\s*\(\s*\w+\s*,\s*[\w.]+\s*\)|\w+\.(?:is|kind_of|instance_of)(?:_a)?\?\s*\(?\s*[\w:]+\s*\)?",
    r"|\w+\s+instanceof\s+\w+|matches!\s*\(\s*\(\s*self\s*,\s*other\s*\)\s*,\s*\(\s*\w+\(_\)\s*,\s*\w+\(_\)\s*\)\s*\))\s*;?\s*\}?\s*$",
));

/// The header of an equality, with the names of the objects. In Python, any function may become one.
static PYTHON_HEADER: Pattern = Pattern::new(
    r"\bdef\s+(\w+)\s*\(\s*(\w+)\s*,\s*(\w+)|\b(__eq__)\s*=\s*lambda\s+(\w+)\s*,\s*(\w+)\s*:",
);
/// The body of a function on the line of its header.
static PYTHON_ONE_LINE: Pattern =
    Pattern::new(r"\bdef\s+\w+\s*\(.*\)\s*(?:->[^:]+)?:[ \t]*(\S.*)$");
/// A class of values whose equality the language defines.
static STANDARD_VALUE: Pattern = Pattern::new(
    r"^\s*class\s+\w+\s*\(\s*(?:\w+\s*,\s*)*(?:builtins\.|numbers\.|decimal\.|fractions\.)?(?:int|float|complex|bool|str|bytes|bytearray|tuple|list|dict|set|frozenset|Decimal|Fraction)\s*[,)]",
);
/// A comparison of two objects or their parts.
static COMPARISON: Pattern = Pattern::new(r"([\w.*&\[\]]+)\s*([=!]=)=?\s*([\w.*&\[\]]+)");
static ALTERNATIVE: Pattern = Pattern::new(r"\bor\b|\|\|");
/// The name of the function that is an equality.
static PYTHON_ALIAS: Pattern = Pattern::new(r"^\s+__eq__\s*=\s*(\w+)\s*$");
static RUST_HEADER: Pattern =
    Pattern::new(r"\bfn\s+eq\s*\(\s*&\s*(self)\s*,\s*(\w+)\s*:[^)]*\)\s*->\s*bool\b");
static GO_HEADER: Pattern =
    Pattern::new(r"\bfunc\s*\(\s*(\w+)\s[^()]*\)\s*(?:Equals?|Eq)\s*\(\s*(\w+)\b");
static RUBY_HEADER: Pattern = Pattern::new(r"\bdef\s+(?:==|===|eql\?|equal\?)\s*\(?\s*(\w+)");
static C_HEADER: Pattern = Pattern::new(
    r"\boperator\s*[=!]=\s*\((?:[^(),]*?(?:[\w>][\s*&]+(\w+))?\s*,)?[^(),]*?(?:[\w>][\s*&]+(\w+))?\s*\)",
);
static CURLY_HEADER: Pattern = Pattern::new(
    r"\b(?:boolean|bool|fun)\s+[eE]quals\s*\(\s*(?:final\s+)?(?:@\w+\s+)?(?:[\w.<>?]+\s+(\w+)|(\w+)\s*:[^)]*)\s*\)",
);
/// Questions about an object that do not depend on its content, and a shortcut for an object and itself.
const KIND_OF_OBJECT: [&str; 7] = [
    r"\bif\s*\(?\s*(?:this|self)\s*(?:===?|is)\s*NAME\s*\)?\s*[:{]?\s*return\s+[Tt]rue\b",
    r"\bisinstance\s*\(\s*NAME\s*,[^()]*\)|\b(?:type|bool|callable)\s*\(\s*NAME\s*\)",
    r"\bNAME\.(?:__class__\b|class\b|[gG]et(?:Class|Type)\s*\(\s*\))|\bNAME::class\b",
    r"\bNAME\.(?:nil\?|(?:is_a|kind_of|instance_of|respond_to)\?\s*\(?\s*[:\w]+\s*\)?)|\b[A-Z][\w:]*\s*===\s*NAME\b",
    r"\bNAME\s+(?:is\s+(?:not\s+)?None\b|(?:instanceof|!?is)\s+[A-Z][\w.<>?]*)",
    r"\bNAME\s*[!=]==?\s*(?:null|None)\b|\bnull\s*[!=]==?\s*NAME\b",
    r"\blet\s+_\s*=\s*&?NAME\s*;|\bdrop\s*\(\s*NAME\s*\)|\bdel\s+NAME\b",
];
/// Ends of a body by which no objects are equal.
const UNEQUAL: &str = r"\breturn\s+(?:[Ff]alse|NotImplemented)\b|\braise\b|\bthrow\b|^\s*false\s*$|\b(?:todo|unimplemented|panic)!";
/// A name that is bound to the other object: `other instanceof Price price`.
const BOUND: &str = r"\bNAME\s+(?:instanceof|is)\s+(?:final\s+)?[\w.<>?]+(?:\s+(\w+)|\s*\()";

/// So many new equalities of a file are examined; one more is a flag without that.
const MAX_EQUALITIES: usize = 200;
/// Lines of a body that are read.
const MAX_BODY: usize = 1000;

/// Methods of a Python class that are functions of another kind: `__eq__ = bool`.
fn foreign_methods(file: &ChangedLines<'_>, added: &[usize]) -> Vec<usize> {
    static ALIAS: Pattern =
        Pattern::new(r"^\s+__(?:eq|ne|contains|instancecheck)__\s*=\s*(?:\w+\.)*(\w+)\s*$");
    if file.language != SourceLanguage::Python {
        return Vec::new();
    }
    let code = &file.new.code;
    let lines = code.iter().map(|line| line.trim_start());
    let defined = lines.filter_map(|line| match line.strip_prefix("def ") {
        Some(function) => function.split_once('('),
        None => line.split_once(" ="),
    });
    let defined: BTreeSet<&str> = defined.map(|(name, _)| name).collect();
    let is_own = |name: &str| {
        let is_usual = matches!(
            name,
            "__eq__" | "__ne__" | "__contains__" | "None" | "NotImplemented"
        );
        is_usual || defined.contains(name)
    };
    let is_foreign = |line: &usize| {
        let found = ALIAS.regex().and_then(|regex| regex.captures(&code[*line]));
        found.is_some_and(|found| !is_own(&found[1]))
    };
    let lines = added.iter().copied();
    lines
        .filter(|it| !file.is_test_line(*it))
        .filter(is_foreign)
        .collect()
}

pub(super) fn flags(file: &ChangedLines<'_>, added: &[usize]) -> Vec<Flag> {
    let code = &file.new.code;
    let mut blind = blind_equalities(file, added);
    blind.extend(foreign_methods(file, added));
    let mut examined = 0;
    let is_forged = |line: &&usize| {
        let above = code[..**line]
            .iter()
            .rev()
            .find(|line| !line.trim().is_empty());
        let now = code.get(**line).map_or("", String::as_str);
        ALWAYS.is_match(now)
            && above.is_some_and(|it| EQUALITY.is_match(it) && !EQUALITY_CALL.is_match(it))
            && {
                examined += 1;
                examined > MAX_EQUALITIES || !is_without_content(file, **line)
            }
    };
    let forged = added
        .iter()
        .filter(|line| !file.is_test_line(**line))
        .filter(is_forged);
    forged
        .chain(&blind)
        .map(|line| {
            let is_python = file.language == SourceLanguage::Python;
            let what = if is_python && is_in_standard_value(file, *line) {
                "an equality that replaces that of a standard type can make assertions meaningless"
            } else {
                "an equality that holds for different values makes assertions meaningless"
            };
            Flag::new(
                Some(*line),
                FindingKind::ForgedEquality,
                FindingSeverity::Strong,
                what,
            )
        })
        .collect()
}

/// Headers of equalities, with an added line, whose body ignores what one of the objects contains.
fn blind_equalities(file: &ChangedLines<'_>, added: &[usize]) -> Vec<usize> {
    let header = match file.language {
        SourceLanguage::Python => &PYTHON_HEADER,
        SourceLanguage::Rust => &RUST_HEADER,
        SourceLanguage::Curly => &CURLY_HEADER,
        SourceLanguage::Go => &GO_HEADER,
        SourceLanguage::C => &C_HEADER,
        SourceLanguage::Ruby => &RUBY_HEADER,
        _ => return Vec::new(),
    };
    let code = &file.new.code;
    let alias = |line: &String| Some(PYTHON_ALIAS.regex()?.captures(line)?[1].to_owned());
    let mut equalities = BTreeSet::from(["__eq__".to_owned()]);
    if file.language == SourceLanguage::Python {
        equalities.extend(code.iter().filter_map(alias));
    }
    let mut examined = 0;
    let is_blind = |line: &usize| {
        let found = header
            .is_match(&code[*line])
            .then(|| header.regex()?.captures(&code[*line]))
            .flatten();
        let Some((found, (end, body))) = found.zip(body_of(file, *line)) else {
            return false;
        };
        let mut names = found.iter().skip(1).flatten().map(|name| name.as_str());
        let is_python = file.language == SourceLanguage::Python;
        if is_python && names.next().is_some_and(|name| !equalities.contains(name)) {
            return false;
        }
        let next_added = added.partition_point(|it| it < line);
        if added.get(next_added).is_none_or(|it| *it >= end) {
            return false;
        }
        examined += 1;
        if examined > MAX_EQUALITIES {
            return true;
        }
        let has_own = match file.language {
            SourceLanguage::Curly | SourceLanguage::Ruby => false,
            SourceLanguage::C => found.get(1).is_some(),
            _ => true,
        };
        let own = has_own.then(|| names.next()).flatten();
        let ignores = |name: &str| !depends_on(&body, name);
        let is_own_ignored = || own.is_some_and(ignores) && !body.contains("super");
        let can_hold = Regex::new(UNEQUAL).is_ok_and(|unequal| {
            let rest = unequal.replace_all(&body, " ");
            matches!(file.language, SourceLanguage::Rust | SourceLanguage::Ruby)
                && !rest.trim().is_empty()
                || (rest.contains("return")
                    || rest.contains("=>")
                    || code[*line].contains("lambda"))
        });
        let is_own_changed = || is_python && own.is_some_and(|own| assigns_to(&body, own));
        let is_of_standard_value = || is_python && is_in_standard_value(file, *line);
        can_hold
            && !is_without_content(file, *line)
            && (names.next().is_some_and(ignores)
                || is_own_ignored()
                || holds_either_way(&body)
                || compares_nothing(file.language, &body)
                || is_tolerant(&body)
                || is_own_changed()
                || is_of_standard_value())
    };
    (0..code.len())
        .filter(|line| !file.is_test_line(*line))
        .filter(is_blind)
        .collect()
}

/// Whether code reads the content of an object.
fn depends_on(code: &str, name: &str) -> bool {
    let regex = |source: &str| Regex::new(&source.replace("NAME", name)).ok();
    if regex(BOUND).is_some_and(|bound| bound.is_match(code)) {
        let bound = regex(BOUND).and_then(|bound| Some(bound.captures(code)?.get(1)?.as_str()));
        let uses = bound.and_then(|bound| {
            Some(
                Regex::new(&format!(r"\b{bound}\b"))
                    .ok()?
                    .find_iter(code)
                    .count(),
            )
        });
        if uses.is_none_or(|uses| uses > 1) {
            return true;
        }
    }
    let rest = KIND_OF_OBJECT
        .iter()
        .filter_map(|source| regex(source))
        .fold(code.to_owned(), |rest, pattern| {
            pattern.replace_all(&rest, " ").into_owned()
        });
    regex(r"\bNAME\b").is_none_or(|name| name.is_match(&rest))
}

/// Whether a body holds if two things are equal, and also if they are not.
fn holds_either_way(body: &str) -> bool {
    let Some(comparison) = COMPARISON.regex().filter(|_| ALTERNATIVE.is_match(body)) else {
        return false;
    };
    let found = comparison.captures_iter(body);
    let found: Vec<[String; 3]> = found
        .map(|found| [1, 2, 3].map(|part| found[part].to_owned()))
        .collect();
    found.iter().any(|[left, sign, right]| {
        found.iter().any(|[other_left, other_sign, other_right]| {
            sign == "==" && other_sign == "!=" && left == other_left && right == other_right
        })
    })
}

/// A limit of a difference that is no more than an error of rounding.
static ROUNDING: Pattern =
    Pattern::new(r"\d[eE]-\d|\b0?\.0\d|_?EPSILON\b|\bepsilon\s*\(|\bfloat_info\b|\bisclose\b");

/// Whether an equality compares nothing: neither the objects, nor by a function that is named for it.
fn compares_nothing(language: SourceLanguage, body: &str) -> bool {
    static COMPARES: Pattern = Pattern::new(concat!(
        r"==|!=|\bis\b|\bin\b|\bsuper\b|[(,]\s*(?:other|o|rhs|that|value|obj)\s*[,)]",
        r"|(?i:\w*(?:eq|equals?|isclose|compare|cmp|same|match\w*|hash|key)\w*\s*[!?]?\s*\()|\braise\b",
    ));
    // Calls that pass the object on are no comparison where other functions are more usual than other objects.
    static COMPARES_TYPED: Pattern = Pattern::new(concat!(
        r"[=!]=|=~|\bsuper\b|\b(?:match|when|switch|default|throw|raise|is|in)\b|\b(?:matches|todo|unimplemented|panic)\b",
        r"|(?i:\w*(?:eq|is_?close|near|approx|compare|cmp|same|match|hash|contains|verify)\w*\s*[!?]?\s*[(&{])",
        r"|\b(?:all|any|every|[a-z]+(?:All|Any|Every)|(?:all|any)_[a-z]+)\w*\s*[!?]?\s*[(&{]",
    ));
    static DISTINCT: Pattern = Pattern::new(r"\bis\s+not\b");
    static NUMBER: Pattern = Pattern::new(r"\b(?:int|float|str|len|abs|bool|id)\s*\(\s*\w+\s*\)");
    static ORDERED: Pattern = Pattern::new(r"\b\w*cmp\s*\([^()]*\)\s*\.\s*is_(?:some|ok)\b");
    let without = |pattern: &Pattern, text: &str| {
        let regex = pattern.regex();
        regex.map_or_else(
            || text.to_owned(),
            |regex| regex.replace_all(text, "").into_owned(),
        )
    };
    if ROUNDING.is_match(body) {
        return false;
    }
    if language != SourceLanguage::Python {
        return !COMPARES_TYPED.is_match(&without(&ORDERED, body));
    }
    let rest = without(&NUMBER, &without(&DISTINCT, body));
    (body.contains("other") && !COMPARES.is_match(&rest))
        || (DISTINCT.is_match(body)
            && !body.contains("==")
            && !body.contains("None")
            && !body.contains("NotImplemented")
            && !body.contains("False"))
}

/// Whether an equality holds for values that differ by more than an error of rounding.
fn is_tolerant(body: &str) -> bool {
    static TOLERANT: Pattern =
        Pattern::new(r"\b[a-z]*abs(?:_diff)?\b.*<|>=?.*\b[a-z]*abs(?:_diff)?\b");
    let mut lines = body.lines();
    lines.any(|line| TOLERANT.is_match(line) && !ROUNDING.is_match(line))
}

/// Whether a body changes an object.
fn assigns_to(body: &str, name: &str) -> bool {
    let source = r"setattr(?:__)?\s*\(\s*NAME\b|\bNAME\.\w+\s*[-+*/|]?=[^=]|\bNAME\.__dict__\b.*=";
    Regex::new(&source.replace("NAME", name)).is_ok_and(|regex| regex.is_match(body))
}

/// Whether a Python method is in a class of values whose equality the language defines.
fn is_in_standard_value(file: &ChangedLines<'_>, method: usize) -> bool {
    let code = &file.new.code;
    enclosing_line(code, method)
        .is_some_and(|class| STANDARD_VALUE.is_match(&code[class]) && !code[class].contains("Enum"))
}

/// The body of a function whose header is on a line, with the line after its end.
pub(super) fn body_of(file: &ChangedLines<'_>, header: usize) -> Option<(usize, String)> {
    let code = &file.new.code;
    let read = code.len().min(header + 1 + MAX_BODY);
    if file.language == SourceLanguage::Python {
        if let Some((_, body)) = code[header].split_once("lambda") {
            let body = body.split_once(':').map_or("", |(_, body)| body);
            return Some((header + 1, body.to_owned()));
        }
        let one_line = PYTHON_ONE_LINE.regex()?.captures(&code[header]);
        if let Some(body) = one_line.and_then(|found| found.get(1)) {
            return Some((header + 1, body.as_str().to_owned()));
        }
        let indent = indentation(&code[header]);
        let is_outside = |line: &String| !line.trim().is_empty() && indentation(line) <= indent;
        let length = code[header + 1..read].iter().position(is_outside);
        let end = length.map_or(read, |length| header + 1 + length);
        return Some((end, code[header + 1..end].join("\n")));
    }
    if file.language == SourceLanguage::Ruby {
        return ruby_body_of(code, header, read);
    }
    let end = end_of_block(&code[..read], header);
    let end = end.or((read < code.len()).then_some(read))?;
    let block = code[header..end].join("\n");
    let (_, body) = block.split_once('{')?;
    let body = body.rsplit_once('}').map_or(body, |(body, _)| body);
    Some((end, body.to_owned()))
}

/// The body of a method: `def ==(other) = true`, `def ==(other); true; end`, or the lines up to `end`, before `read`.
fn ruby_body_of(code: &[String], header: usize, read: usize) -> Option<(usize, String)> {
    static ONE_LINE: Pattern = Pattern::new(
        r"\bdef\s+(?:self\.)?(?:[^\s(;]+)\s*(?:\([^)]*\))?\s*(?:;\s*(.*?)\s*;?\s*\bend\b|=\s+(\S.*))$",
    );
    let one_line = ONE_LINE.regex()?.captures(&code[header]);
    if let Some(body) = one_line.and_then(|found| found.get(1).or(found.get(2))) {
        return Some((header + 1, body.as_str().to_owned()));
    }
    let indent = indentation(&code[header]);
    let is_end = |line: &String| indentation(line) <= indent && line.trim() == "end";
    let length = code[header + 1..read].iter().position(is_end);
    let end = length.map(|length| header + 1 + length);
    let end = end.or((read < code.len()).then_some(read))?;
    Some(((end + 1).min(code.len()), code[header + 1..end].join("\n")))
}

/// The line above that is indented less: the class of a method.
pub(super) fn enclosing_line(code: &[String], line: usize) -> Option<usize> {
    let is_outside = |at: &usize| {
        !code[*at].trim().is_empty() && indentation(&code[*at]) < indentation(&code[line])
    };
    (0..line).rev().take(MAX_LINES_ABOVE).find(is_outside)
}

/// Whether an equality is that of a class whose objects have no content, and asks for that class: all of them are equal.
fn is_without_content(file: &ChangedLines<'_>, line: usize) -> bool {
    static PYTHON_CLASS: Pattern = Pattern::new(
        r"^\s*class\s+\w+\s*(?:\(\s*(?:object|Exception|Enum|Generic\[\w+\])?\s*\))?\s*:",
    );
    static PYTHON_CONTENT: Pattern = Pattern::new(
        r"\b\w+\.\w+\s*(?::[^=]+)?=[^=]|^\s+\w+\s*:\s*\w|\b(?:setattr|__dict__|__slots__|__new__)\b",
    );
    static RUBY_CLASS: Pattern = Pattern::new(r"^\s*class\s+\w+\s*$");
    static RUBY_CONTENT: Pattern =
        Pattern::new(r"@\w|\battr_\w+|\binitialize\b|\bmethod_missing\b");
    static ASKS_FOR_CLASS: Pattern =
        Pattern::new(r"\bisinstance\s*\(|\btype\s*\(|__class__|\bis_a\?|\binstance_of\?");
    let (class_header, content) = match file.language {
        SourceLanguage::Python => (&PYTHON_CLASS, &PYTHON_CONTENT),
        SourceLanguage::Ruby => (&RUBY_CLASS, &RUBY_CONTENT),
        _ => return false,
    };
    let code = &file.new.code;
    let Some(header) = (0..=line).rev().find(|at| EQUALITY.is_match(&code[*at])) else {
        return false;
    };
    let body = |header: usize| body_of(file, header).map_or(String::new(), |(_, body)| body);
    if !ASKS_FOR_CLASS.is_match(&body(header)) {
        return false;
    }
    let Some(class) = enclosing_line(code, header) else {
        return false;
    };
    let class_body = body(class);
    class_header.is_match(&code[class]) && !class_body.lines().any(|line| content.is_match(line))
}

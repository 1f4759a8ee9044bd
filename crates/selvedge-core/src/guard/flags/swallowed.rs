//! Errors of a caller's function that no longer reach the caller: an assertion in a callback can then fail unseen.
//!
//! Only functions that called one of their parameters before are read, and only if new lines of the file catch all
//! errors, or call it where no error arrives.

use std::collections::{BTreeMap, BTreeSet};

use super::super::mask::SourceViews;
use super::super::pattern::Pattern;
use super::super::text::SourceLanguage::{self, C, Curly, Go, JavaScript, Php, Python, Ruby, Rust};
use super::Flag;
use super::bodies::enclosing_line;
use super::change::ChangedLines;
use super::functions::{Function, Functions, indentation, words};
use crate::model::{FindingKind, FindingSeverity};

/// How a language catches everything, if the function raises nothing, and how it loses errors anyway.
struct Swallowing {
    language: SourceLanguage,
    catches: Pattern,
    loses: Pattern,
}

const fn swallowing(
    language: SourceLanguage,
    catches: &'static str,
    loses: &'static str,
) -> Swallowing {
    Swallowing {
        language,
        catches: Pattern::new(catches),
        loses: Pattern::new(loses),
    }
}

static SWALLOWING: [Swallowing; 8] = [
    swallowing(
        Python,
        r"\bexcept\s*:|\bexcept\b.*\b(?:Exception|BaseException)\b",
        r"\bexcept\b.*\bAssertionError\b|\bsuppress\b\s*\(.*\b(?:Exception|BaseException|AssertionError)\b|\breturn_exceptions\s*=\s*True|\bThread\s*\(|\bos\.fork\s*\(|\bcall_(?:soon|later)\w*\s*\(|\bfinalize\s*\(|\bdef\s+__del__\b|^\s*\w+\.(?:map|submit)\s*\(|\bExitStack\s*\(",
    ),
    swallowing(
        JavaScript,
        r"\}\s*catch\s*(?:\([^()]*\)\s*)?\{|\.then\s*\(.*\.catch\s*\(",
        r"\ballSettled\s*\(",
    ),
    swallowing(
        Ruby,
        r"\brescue\s+(?:::)?(?:Exception|Object|Minitest::Assertion)\b|\brescue\s+\*",
        r"\b(?:Process\.)?fork\b|\bThread\.new\b|\.lazy\b",
    ),
    swallowing(
        Go,
        r"\brecover\s*\(\s*\)",
        r"^\s*go\s+\S|\bruntime\.Goexit\b",
    ),
    swallowing(
        Rust,
        r"\bcatch_unwind\b",
        r"\bthread::(?:spawn|Builder)\b|\bspawn(?:_blocking|_local)?\s*\(",
    ),
    swallowing(
        C,
        r"\bcatch\s*\(\s*(?:\.\.\.|(?:const\s+)?(?:std\s*::\s*)?exception\b)",
        r"\bstd\s*::\s*async\s*\(|\bpackaged_task\b|\bv?fork\s*\(\s*\)",
    ),
    swallowing(
        Curly,
        r"\bcatch\s*(?:\{|\(\s*(?:final\s+)?(?:\w+\s*:\s*)?(?:Throwable|Exception|Error|AssertionError)\b)",
        r"\bnew\s+Thread\s*\(|\.(?:submit|execute)\s*\(|\b(?:run|supply)Async\s*\(|\bTask\.Run\s*\(|\bthread\s*\{|\brunCatching\b",
    ),
    swallowing(
        Php,
        r"\bcatch\s*\(\s*\\?(?:Throwable|Exception|Error)\b",
        r"\bcatch\s*\(.*\b(?:AssertionFailedError|ExpectationFailedException)\b|\byield\b|\bpcntl_fork\s*\(",
    ),
];
static RAISES: Pattern = Pattern::new(
    r"\braise\s*$|\braise\s+(?:[A-RT-Za-z_(]|S[a-su-z])|\b(?:throw|reject|rethrow|exit|abort|fail|current_exception)\b",
);
/// In languages whose errors are values.
static RAISES_VALUE: Pattern =
    Pattern::new(r"\bpanic!?\s*\(|\b(?:resume_unwind|unwrap|expect)\b|\berr\w*\s*:?=|\?\s*;");
/// The last block of a statement that ends a function or a round of a loop: the error is lost.
static LAST_BLOCK: Pattern = Pattern::new(r"^\s*(?:\}\s*)?(?:finally|ensure)\b");
static LEAVES: Pattern = Pattern::new(r"^\s*(?:return|continue|break|next)\b");

/// So many new lines that lose errors are compared with the file's functions; one more concerns any that was changed.
const MAX_LOST: usize = 100;
/// Lines of a handler that are read.
const MAX_HANDLER: usize = 200;

/// Words of headers that name neither a function nor a class.
const KEYWORDS: [&str; 25] = [
    "def", "class", "function", "self", "this", "for", "while", "try", "return", "None", "null",
    "async", "await", "public", "static", "private", "module", "new", "end", "with", "not", "void",
    "exports", "func", "pub",
];

/// Flags such changes, at the line that loses the errors.
pub(super) fn flags(file: &ChangedLines<'_>, added: &[usize]) -> Vec<Flag> {
    let Some(own) = SWALLOWING.iter().find(|it| it.language == file.language) else {
        return Vec::new();
    };
    let code = &file.new.code;
    let now = Functions::of(file.language, code);
    // Whether a function raises, by its header.
    let mut raising: BTreeMap<usize, bool> = BTreeMap::new();
    let mut raises = |line: usize| {
        let body = now
            .around(line)
            .map_or(line..line + 1, |it| it.header..it.end);
        let known = raising.entry(body.start);
        let is_value = matches!(file.language, Go | Rust);
        let raise =
            |text: &String| RAISES.is_match(text) || (is_value && RAISES_VALUE.is_match(text));
        *known.or_insert_with(|| code[body].iter().any(raise))
    };
    // Python's errors that end the program, which are rarely kept to be raised later.
    let loses_all = |line: usize| {
        static ALL: Pattern = Pattern::new(r"\bexcept\b.*\bBaseException\b|\bexcept\s*:");
        let own = indentation(&code[line]);
        let below = code[line + 1..].iter().take(MAX_HANDLER);
        let mut block = below.take_while(|it| it.trim().is_empty() || indentation(it) > own);
        file.language == Python && ALL.is_match(&code[line]) && !block.any(|it| RAISES.is_match(it))
    };
    let mut loses = |line: &&usize| {
        let text = code[**line].as_str();
        !file.is_test_line(**line)
            && (own.loses.is_match(text)
                || loses_all(**line)
                || (own.catches.is_match(&file.new.text[**line]) && !raises(**line))
                || (LAST_BLOCK.is_match(text) && leaves_last_block(code, **line)))
    };
    let lost: Vec<usize> = added.iter().filter(|line| loses(line)).copied().collect();
    if lost.is_empty() || file.is_new() {
        return Vec::new();
    }
    let before = file.lines_before().collect::<Vec<_>>().join("\n");
    let before = SourceViews::of(file.language, &before);
    let callers = Functions::of(file.language, &before.code);
    let callers: BTreeSet<&str> = callers
        .iter()
        .filter(|it| calls_parameter(file.language, it, &before.code, own))
        .map(|it| it.name)
        .collect();
    let is_changed = |function: &&Function<'_>| {
        let next = added.partition_point(|line| *line < function.header);
        added.get(next).is_some_and(|line| *line < function.end)
    };
    let changed = now.iter().filter(is_changed);
    let changed: Vec<_> = changed.filter(|it| callers.contains(it.name)).collect();
    // Within such a function, or in a function or class that it names.
    let mut examined = 0;
    let concerns = |line: &usize| {
        examined += 1;
        if examined > MAX_LOST {
            return !changed.is_empty();
        }
        let above = std::iter::successors(Some(*line), |line| enclosing_line(code, *line));
        let headers: BTreeSet<&str> = if has_types(file.language) {
            let around = now.iter().filter(|it| (it.header..it.end).contains(line));
            let classes = above.filter_map(|line| name_of_class(&code[line]));
            around.map(|it| it.name).chain(classes).collect()
        } else {
            above.flat_map(|line| words(&code[line])).collect()
        };
        let is_named =
            |word: &str| word.len() > 2 && !KEYWORDS.contains(&word) && headers.contains(word);
        changed.iter().any(|function| {
            let mut body = code[function.header..function.end].iter();
            (function.header..function.end).contains(line)
                || body.any(|text| words(text).any(is_named))
        })
    };
    let what =
        "keeps errors of a caller's function from the caller, so an assertion in it fails unseen";
    let flag = |line: usize| {
        Flag::new(
            Some(line),
            FindingKind::RunnerPatched,
            FindingSeverity::Strong,
            what,
        )
    };
    lost.into_iter().filter(concerns).map(flag).collect()
}

/// Whether a function calls what it was given, and catches nothing.
fn calls_parameter(
    language: SourceLanguage,
    function: &Function<'_>,
    code: &[String],
    own: &Swallowing,
) -> bool {
    let body = &code[function.header..function.end];
    let catches = |text: &String| own.catches.is_match(text) || own.loses.is_match(text);
    let calls = |text: &String| {
        let is_call = |name: &&str| {
            let call = match language {
                Ruby => format!("{name}.call"),
                Php => format!("${name}("),
                _ => (*name).to_owned(),
            };
            let mut found = text.match_indices(&call);
            found.any(|(at, call)| {
                let rest = &text[at + call.len()..];
                !text[..at].ends_with(|it: char| it.is_alphanumeric() || "_.$".contains(it))
                    && (matches!(language, Ruby | Php) || is_call_of(language, rest))
            })
        };
        let yields = language == Ruby
            && text
                .split(|it: char| !it.is_alphanumeric())
                .any(|it| it == "yield");
        let passes_block = language == Ruby
            && function
                .parameters
                .iter()
                .any(|name| text.contains(&format!("(&{name})")));
        let mut parameters = function.parameters.iter();
        yields || passes_block || parameters.any(|it| !KEYWORDS.contains(it) && is_call(it))
    };
    let mut rest = body.iter().skip(1);
    // A body on the line of the header is one as well.
    let first = body.first().and_then(|it| it.split_once([':', '{', ';']));
    let is_called = rest.any(calls) || first.is_some_and(|(_, body)| calls(&body.to_owned()));
    is_called && !body.iter().any(catches)
}

/// Whether headers of functions contain names of types, which are no names of what contains a line.
fn has_types(language: SourceLanguage) -> bool {
    matches!(language, C | Curly | Go | Rust)
}

fn name_of_class(header: &str) -> Option<&str> {
    static CLASS: Pattern = Pattern::new(
        r"\b(?:class|struct|interface|object|enum|record|impl)\b(?:.*\bfor\b)?\s*(?:<[^>]*>\s*)?(\w+)",
    );
    Some(CLASS.regex()?.captures(header)?.get(1)?.as_str())
}

/// Whether this follows the name of a function that is called.
fn is_call_of(language: SourceLanguage, rest: &str) -> bool {
    static INTERFACE: Pattern = Pattern::new(
        r"^\??\.(?:run|accept|apply(?:As\w+)?|call|get(?:As\w+)?|test|execute|invoke|Invoke)\s*\(",
    );
    match language {
        Curly => rest.starts_with('(') || INTERFACE.is_match(rest),
        C => rest.starts_with('(') || rest.starts_with(")("),
        _ => rest.starts_with('('),
    }
}

/// Whether a last block leaves its function or loop.
fn leaves_last_block(code: &[String], line: usize) -> bool {
    let own = indentation(&code[line]);
    let below = code[line + 1..].iter().take(MAX_HANDLER);
    let mut body = below.filter(|text| !text.trim().is_empty());
    body.next()
        .is_some_and(|text| indentation(text) >= own && LEAVES.is_match(text))
}

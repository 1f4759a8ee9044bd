//! Tests inside of sources: merges the tests of one version of a source into another version.
//!
//! Rust keeps tests next to the code: items under `#[cfg(test)]`, functions under `#[test]`, and examples in
//! documentation. They are found in the token stream, without parsing expressions, so that macros and deep nesting do
//! not matter. What a version added under `#[cfg(test)]` within a function or type is left out.

mod edits;
mod moved_tests;
mod selected_tests;
mod statements;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::ops::Range;
use std::path::Path;

use edits::{Edit, removal, replace_example, replace_tests};
pub use moved_tests::{MovedExamples, MovedTests, SourceVersions, find_moved_tests};
pub use selected_tests::merge_selected_tests;
use statements::find_test_statements;

use crate::docstrings;
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// Maximum nesting of modules and blocks that is searched.
const MAX_DEPTH: usize = 32;
/// The largest source that is read, in bytes.
const MAX_BYTES: usize = 2 << 20;

/// A source with the tests of another version of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SplitTests {
    /// Both versions hold the same tests, or none.
    Same,
    /// The source with the other version's tests.
    Merged(Vec<u8>),
    /// Tests and code cannot be separated.
    Unreadable,
}

/// Merges the tests of `before` into the source `after`: tests in Rust sources, executed examples in Python
/// sources. `moved` holds examples of items that were in other files before.
pub fn split_tests(
    path: &str,
    before: Option<&[u8]>,
    after: Option<&[u8]>,
    moved: &MovedExamples,
) -> SplitTests {
    let ending = Path::new(path).extension().and_then(OsStr::to_str);
    let Some((after, ending)) = after.zip(ending) else {
        return SplitTests::Same;
    };
    let before = before.unwrap_or_default();
    let merged = match ending {
        "rs" => merge(before, after, moved),
        "py" => match decode_source(before).zip(decode_source(after)) {
            Some((before, after)) => docstrings::merge(before, after),
            None => return SplitTests::Same,
        },
        _ => return SplitTests::Same,
    };
    // Otherwise the texts of all files stay in memory for their spans.
    proc_macro2::extra::invalidate_current_thread_spans();
    match merged {
        None => SplitTests::Unreadable,
        Some(merged) if merged.as_bytes() == after => SplitTests::Same,
        Some(merged) => SplitTests::Merged(merged.into_bytes()),
    }
}

fn merge(before: &[u8], after: &[u8], moved: &MovedExamples) -> Option<String> {
    let (before, after) = (decode_source(before)?, decode_source(after)?);
    let old = SourceTests::parse(before)?;
    let new = SourceTests::parse(after)?;
    let statements: BTreeSet<&str> = old.statements_of(before).collect();
    let is_added = |range: &&Range<usize>| {
        after
            .get((*range).clone())
            .is_some_and(|text| !statements.contains(text))
    };
    let added: Vec<Range<usize>> = new.statements.iter().filter(is_added).cloned().collect();
    if added.is_empty()
        && old.tests_of(before) == new.tests_of(after)
        && old.examples == new.examples
    {
        return Some(after.to_owned());
    }
    let mut edits: Vec<Edit> = added.iter().map(|range| removal(after, range)).collect();
    for (path, module) in &new.modules {
        let original = old.modules.get(path);
        let texts = original.map_or_else(Vec::new, |original| original.texts(before));
        edits.extend(replace_tests(after, module, &texts));
    }
    let is_lost = |(path, module): (&String, &ModuleTests)| {
        !module.tests.is_empty() && !new.modules.contains_key(path)
    };
    if old.modules.iter().any(is_lost) {
        return None;
    }
    for (item, example) in &new.examples {
        let original = match old.examples.get(item) {
            Some(original) => Some(original.text.as_str()),
            None if old.items.contains(item) => None,
            None => moved.for_item(item),
        };
        if original.is_some_and(|original| original == example.text) {
            continue;
        }
        // An example of a new item, or of one that had no example, is an added test.
        edits.push(replace_example(after, &example.range, original)?);
    }
    let merged = apply_edits(after, edits)?;
    merged.parse::<TokenStream>().is_ok().then_some(merged)
}

fn decode_source(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    // The lexer skips the byte order mark, which shifts all positions.
    let has_mark = text.starts_with('\u{feff}');
    (text.len() <= MAX_BYTES && !has_mark).then_some(text)
}

/// Replaces ranges that do not overlap; the text for an empty range is inserted before the item that begins
/// there.
fn apply_edits(text: &str, mut edits: Vec<Edit>) -> Option<String> {
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let mut merged = String::with_capacity(text.len());
    let mut end = 0;
    for (range, with) in edits {
        if range.start < end {
            // The example is within a test that is replaced as a whole.
            continue;
        }
        merged += text.get(end..range.start)?;
        merged += &with;
        end = range.end;
    }
    merged += text.get(end..)?;
    Some(merged)
}

/// Positions of the tests in a source.
#[derive(Debug, Default)]
struct SourceTests {
    /// By the path of the module within the file.
    modules: BTreeMap<String, ModuleTests>,
    /// The paths of all items that are not tests.
    items: BTreeSet<String>,
    /// Documentation that holds examples, by the path of its item.
    examples: BTreeMap<String, DocExample>,
    /// Parts of functions and types that are compiled for tests only.
    statements: Vec<Range<usize>>,
}

#[derive(Debug, Default)]
struct ModuleTests {
    /// Items that are compiled for tests only.
    tests: Vec<Range<usize>>,
    /// Position where another item can be added.
    end: usize,
}

#[derive(Debug)]
struct DocExample {
    range: Range<usize>,
    text: String,
}

/// The position of an example is ignored.
impl PartialEq for DocExample {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl ModuleTests {
    fn texts<'t>(&self, source: &'t str) -> Vec<&'t str> {
        let texts = self
            .tests
            .iter()
            .filter_map(|range| source.get(range.clone()));
        texts.collect()
    }
}

impl SourceTests {
    fn parse(text: &str) -> Option<Self> {
        let stream: TokenStream = text.parse().ok()?;
        let mut source = Self::default();
        source.read_items(text, "", stream, text.len(), 0)?;
        Some(source)
    }

    fn tests_of<'t>(&self, text: &'t str) -> BTreeMap<&str, Vec<&'t str>> {
        let modules = self
            .modules
            .iter()
            .filter(|(_, module)| !module.tests.is_empty());
        modules
            .map(|(path, module)| (path.as_str(), module.texts(text)))
            .collect()
    }

    fn statements_of<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        let ranges = self.statements.iter();
        ranges.filter_map(|range| text.get(range.clone()))
    }

    fn read_items(
        &mut self,
        text: &str,
        path: &str,
        stream: TokenStream,
        end: usize,
        depth: usize,
    ) -> Option<()> {
        let mut module = ModuleTests {
            tests: Vec::new(),
            end,
        };
        let mut tokens = stream.into_iter().peekable();
        while tokens.peek().is_some() {
            let item = RustItem::parse(text, &mut tokens)?;
            if item.is_test {
                module.tests.push(item.range);
                continue;
            }
            let name = format!("{path}::{}", item.name);
            self.items.insert(name.clone());
            if let Some(range) = item.docs {
                let docs = text.get(range.clone())?;
                if docs.contains("```") {
                    let example = DocExample {
                        range,
                        text: docs.to_owned(),
                    };
                    self.examples.insert(name.clone(), example);
                }
            }
            if let Some(code) = item.code {
                find_test_statements(code.stream(), 0, &mut self.statements);
            }
            if let Some(body) = item.body.filter(|_| depth < MAX_DEPTH) {
                let end = body.span_close().byte_range().start;
                self.read_items(text, &name, body.stream(), end, depth + 1)?;
            }
        }
        self.modules.insert(path.to_owned(), module);
        Some(())
    }
}

/// One item of a module, or of an `impl` or `trait`.
struct RustItem {
    range: Range<usize>,
    /// Its head, without attributes.
    name: String,
    is_test: bool,
    /// Its documentation comments.
    docs: Option<Range<usize>>,
    /// The group that holds nested items.
    body: Option<Group>,
    /// The group that holds statements or fields.
    code: Option<Group>,
}

impl RustItem {
    fn parse(
        text: &str,
        tokens: &mut std::iter::Peekable<impl Iterator<Item = TokenTree>>,
    ) -> Option<Self> {
        let mut item = Self {
            range: 0..0,
            name: String::new(),
            is_test: false,
            docs: None,
            body: None,
            code: None,
        };
        let mut words: Vec<String> = Vec::new();
        let mut head: Option<Range<usize>> = None;
        let mut is_inner = false;
        while let Some(token) = tokens.next() {
            let span = token.span().byte_range();
            let is_first = item.range.is_empty();
            item.range = if is_first {
                span.start
            } else {
                item.range.start
            }..span.end;
            match token {
                TokenTree::Punct(punct) if punct.as_char() == '#' && words.is_empty() => {
                    is_inner = matches!(tokens.peek(), Some(TokenTree::Punct(mark)) if mark.as_char() == '!');
                    if is_inner {
                        tokens.next();
                    }
                    if let Some(TokenTree::Group(group)) = tokens.next() {
                        item.add_attribute(&group, span.start, is_inner);
                    }
                    if is_inner {
                        // The token belongs to the surrounding item.
                        "!".clone_into(&mut item.name);
                        return Some(item);
                    }
                }
                TokenTree::Punct(punct) if punct.as_char() == ';' => {
                    return Some(item.with_name(text, head));
                }
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                    let first = words
                        .iter()
                        .find(|word| !is_modifier(word))
                        .map_or("", String::as_str);
                    let is_value = matches!(first, "static" | "type" | "use" | "let")
                        || (first == "const" && !words.iter().any(|word| word == "fn"));
                    if is_value {
                        continue;
                    }
                    if matches!(first, "mod" | "impl" | "trait") {
                        item.body = Some(group);
                    } else if words.iter().any(|word| has_code(word)) {
                        item.code = Some(group);
                    }
                    return Some(item.with_name(text, head));
                }
                token => {
                    head = Some(head.map_or(span.start, |head| head.start)..span.end);
                    words.push(match token {
                        // Printing deeply nested tokens needs a deep stack.
                        TokenTree::Group(_) => String::from("()"),
                        token => token.to_string(),
                    });
                }
            }
        }
        // The rest after the last item: attributes without an item, or a macro's own syntax.
        Some(item.with_name(text, head)).filter(|_| !is_inner)
    }

    fn with_name(mut self, text: &str, head: Option<Range<usize>>) -> Self {
        let head = head.and_then(|head| text.get(head)).unwrap_or_default();
        self.name = head.split_whitespace().collect::<Vec<_>>().join(" ");
        self
    }

    fn add_attribute(&mut self, group: &Group, start: usize, is_inner: bool) {
        let end = group
            .span_close()
            .byte_range()
            .end
            .max(group.span().byte_range().end);
        self.range.end = self.range.end.max(end);
        let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
        let name = match tokens.first() {
            Some(TokenTree::Ident(name)) => name.to_string(),
            _ => return,
        };
        if name == "doc" {
            let range = self.docs.take().unwrap_or(start..end);
            self.docs = Some(range.start..end);
            return;
        }
        let last = tokens.iter().rev().find_map(|token| match token {
            TokenTree::Ident(name) => Some(name.to_string()),
            _ => None,
        });
        let is_cfg = is_test_cfg(&tokens);
        let is_test_function = matches!(
            name.as_str(),
            "test" | "bench" | "rstest" | "test_case" | "quickcheck"
        ) || (tokens.len() > 1
            && last.as_deref() == Some("test")
            && name != "cfg"
            && name != "cfg_attr");
        if !is_inner && (is_cfg || is_test_function) {
            self.is_test = true;
        }
    }
}

/// Whether an attribute is a `cfg` whose condition holds in tests.
fn is_test_cfg(attribute: &[TokenTree]) -> bool {
    let [TokenTree::Ident(name), TokenTree::Group(conditions), ..] = attribute else {
        return false;
    };
    name == "cfg" && is_test_condition(conditions.stream(), 0)
}

/// Whether a word of an item's head shows that its braces hold statements or fields.
fn has_code(word: &str) -> bool {
    matches!(word, "fn" | "struct" | "enum" | "union")
}

fn is_modifier(word: &str) -> bool {
    matches!(
        word,
        "pub" | "unsafe" | "async" | "extern" | "default" | "auto"
    ) || word.starts_with(['(', '"'])
}

/// Whether a `cfg` condition holds in tests: `test`, but not `not(test)`.
fn is_test_condition(conditions: TokenStream, depth: usize) -> bool {
    let mut is_negated = false;
    for token in conditions {
        match token {
            TokenTree::Ident(name) => {
                if name == "test" {
                    return true;
                }
                is_negated = name == "not";
            }
            TokenTree::Group(group)
                if !is_negated
                    && depth < MAX_DEPTH
                    && is_test_condition(group.stream(), depth + 1) =>
            {
                return true;
            }
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(before: &str, after: &str) -> String {
        match split_tests(
            "src/lib.rs",
            Some(before.as_bytes()),
            Some(after.as_bytes()),
            &MovedExamples::default(),
        ) {
            SplitTests::Same => "same".to_owned(),
            SplitTests::Unreadable => "unreadable".to_owned(),
            SplitTests::Merged(bytes) => String::from_utf8(bytes).unwrap(),
        }
    }

    #[test]
    fn split_leaves_code_alone() {
        let tests =
            "#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() { assert_eq!(f(), 1); }\n}\n";
        let before = format!("const A: [u8; 1] = {{ [0] }};\nfn f() -> u8 {{ 0 }}\n{tests}");
        let after = format!("use a::{{b, c}};\npub(crate) const fn f() -> u8 {{ 1 }}\n{tests}");
        assert_eq!(merged(&before, &after), "same");
    }

    #[test]
    fn split_takes_tests_from_the_other_version() {
        let before = "fn f() {}\n#[cfg(all(test, unix))]\nmod tests { fn a() {} }\nmod m { #[test] fn b() {} }\n";
        let after = "fn f() { 1 }\n#[cfg(test)]\nmod tests { fn weak() {} }\nmod m { fn n() {} }\n#[cfg(not(test))]\nfn h() {}\n";
        let result = merged(before, after);
        for kept in [
            "fn f() { 1 }",
            "mod tests { fn a() {} }",
            "#[test] fn b() {}",
            "fn n() {}",
            "fn h() {}",
        ] {
            assert!(result.contains(kept), "{kept}: {result}");
        }
        assert!(!result.contains("weak"), "{result}");
        // Removed tests are restored, and added ones are removed.
        let gone = merged("fn f() {}\n#[cfg(test)]\nmod t {}\n", "fn f() { 1 }\n");
        assert!(gone.contains("#[cfg(test)]\nmod t {}"), "{gone}");
        let added = merged("fn f() {}\n", "fn f() {}\n#[cfg(test)]\nmod t {}\n");
        assert!(!added.contains("mod t"), "{added}");
    }

    #[test]
    fn split_takes_examples_from_the_other_version() {
        let before = "/// Adds.\n///\n/// ```\n/// assert_eq!(add(1), 2);\n/// ```\npub fn add(n: u8) -> u8 { n }\n";
        let after = before.replace("2);", "1);").replace("{ n }", "{ n + 0 }");
        let expected = before.replace("{ n }", "{ n + 0 }");
        assert_eq!(merged(before, &after), expected);
        let within = |docs: &str| {
            format!(
                "impl A {{\n    /// ```\n    /// {docs}\n    /// ```\n    fn f(&self) {{}}\n}}\n"
            )
        };
        assert_eq!(merged(&within("a();"), &within("b();")), within("a();"));
        assert_eq!(
            merged("/// One.\nfn f() {}\n", "/// Two.\nfn f() {}\n"),
            "same"
        );
    }

    /// Merged sources are formatted as before, so that a check of the format passes.
    #[test]
    fn split_keeps_the_format() {
        let test = |name: &str| format!("#[test]\nfn {name}() {{\n    f();\n}}");
        let source = |code: &str, tests: &[&str]| {
            let tests = tests.iter().map(|name| format!("\n{}\n", test(name)));
            format!("fn f() {{\n    {code};\n}}\n{}", tests.collect::<String>())
        };
        for tests in [
            &["a", "other", "c", "d"][..],
            &["a"],
            &["new", "a", "b", "c"],
            &["c"],
            &[],
        ] {
            let before = source("old()", &["a", "b", "c"]);
            assert_eq!(
                merged(&before, &source("new()", tests)),
                source("new()", &["a", "b", "c"])
            );
        }
        assert_eq!(
            merged(&source("g()", &[]), &source("g()", &["a", "b"])),
            source("g()", &[])
        );
        let module = |tests: &str| format!("mod m {{\n    fn n() {{}}\n{tests}}}\n");
        let before = module("\n    #[test]\n    fn a() {}\n");
        assert_eq!(merged(&before, &module("")), before);
        let first = |tests: &str| format!("mod m {{\n{tests}    fn n() {{}}\n}}\n");
        let after = first("    #[test]\n    fn a() {}\n\n");
        assert_eq!(merged(&first(""), &after), first(""));
    }

    /// A crate may require documentation.
    #[test]
    fn split_leaves_documentation_of_added_examples() {
        let item = |docs: &str| format!("impl A {{\n{docs}    pub fn f(&self) {{}}\n}}\n");
        let prose = item("    /// Adds.\n    ///\n    /// More.\n");
        let example =
            item("    /// Adds.\n    ///\n    /// ```\n    /// f();\n    /// ```\n    /// More.\n");
        assert_eq!(merged(&prose, &example), prose);
        let only = item("    /// ```\n    /// f();\n    /// ```\n");
        assert_eq!(merged(&item(""), &only), item(""));
    }

    /// Code that only tests compile would be judged instead of what is published.
    #[test]
    fn split_leaves_out_statements_for_tests() {
        let before = "fn f(n: u8) -> u8 {\n    #[cfg(test)]\n    log(n);\n    n\n}\n";
        for added in [
            "#[cfg(test)] return 2;",
            "#[cfg(test)] if n == 1 { return 2; } else { log(n) }",
            "#[cfg(all(test, unix))] { return 2; }",
            "#[cfg(test)] let n = match n { 1 => 2, n => n };",
        ] {
            let after = before.replace("    n\n", &format!("    {added}\n    n\n"));
            assert_eq!(merged(before, &after), before, "{added}");
        }
        let fields = "struct A { a: u8, #[cfg(test)] calls: Vec<u8>, b: u8 }\nfn a() -> A { A { a: 0, #[cfg(test)] calls: vec![1], b: 1 } }\n";
        assert_eq!(
            merged("", fields),
            "struct A { a: u8, b: u8 }\nfn a() -> A { A { a: 0, b: 1 } }\n"
        );
        let arm = "fn f(n: u8) -> u8 { match n { #[cfg(test)] 1 => 2, n => n } }\n";
        assert_eq!(
            merged("", arm),
            "fn f(n: u8) -> u8 { match n { n => n } }\n"
        );
        let other = "fn f() { #[cfg(not(test))] run(); #[allow(unused)] let n = 1; }\n";
        assert_eq!(merged("", other), "same");
    }

    #[test]
    fn split_gives_up_where_a_module_is_gone() {
        assert_eq!(
            merged("mod m { #[test] fn b() {} }\n", "fn f() {}\n"),
            "unreadable"
        );
        assert_eq!(merged("fn f() {}\n", "fn f( {\n"), "unreadable");
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert_eq!(merged("", &format!("const A: u8 = {deep};")), "same");
    }
}

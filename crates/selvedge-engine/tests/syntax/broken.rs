//! Tests of broken files of every language, and of the reported positions.

use selvedge_engine::syntax::ParserVerdict;

use super::{ParserFixture, has_rustfmt};

/// Name, content and line; and the column, if the parser reports one.
const BROKEN: [(&str, &str, u32, Option<u32>); 38] = [
    ("a.json", "{\n  \"a\": 1,\n}\n", 3, Some(1)),
    ("b.json", "{\"a\": 1", 1, Some(7)),
    ("package.json", "{\n  // no\n}\n", 2, Some(3)),
    ("tsconfig.json", "{\n  \"a\" 1\n}", 2, Some(7)),
    ("a.jsonl", "{}\n{\"a\":}\n{}\n", 2, Some(6)),
    ("a.yaml", "a: 1\nb: [1, 2\nc: 3\n", 3, Some(2)),
    ("b.yml", "a:\n\t- 1\n", 2, Some(2)),
    ("c.yml", "ok: 1\n---\na: 'open\n", 3, None),
    ("a.toml", "a = 1\nb = \n", 2, Some(5)),
    ("b.toml", "a = 1\na = 2\n", 2, Some(1)),
    ("a.xml", "<a>\n  <b>\n</a>\n", 3, Some(1)),
    ("b.svg", "<svg><g></svg>", 1, None),
    ("c.xml", "<a x=1/>", 1, Some(1)),
    ("d.xml", "<a>\n", 1, Some(1)),
    ("a.csv", "a,b\n\"x\",\"y\"\n\"open,1\n2,3\n", 3, None),
    (
        "a.sql",
        "CREATE TABLE t (\n  a INT,\n  b INT,,\n);\n",
        3,
        Some(9),
    ),
    ("b.sql", "INSERT INTO t (a) VALUES (1, 2;\n", 1, None),
    ("a.py", "def f():\n    return (1\n\nx = 2\n", 2, Some(12)),
    ("b.py", "def f():\nreturn 1\n", 2, Some(1)),
    ("c.py", "print 'x'\n", 1, Some(1)),
    ("a.js", "function f() {\n  return 1 +;\n}\n", 2, Some(13)),
    ("b.mjs", "import { a from 'x';\n", 1, None),
    ("c.jsx", "const a = <div>\n  <b></div>;\n", 2, None),
    ("a.ts", "interface A {\n  x: ;\n}\n", 2, Some(6)),
    ("b.tsx", "const a = (\n  <ul>\n);\n", 2, None),
    ("c.ts", "const x: number = 1;\nfunction f( {\n", 3, None),
    ("a.rs", "fn main() {\n    let x = ;\n}\n", 2, Some(13)),
    ("b.rs", "fn f() {\n    g(1;\n}\n", 2, None),
    ("a.go", "package p\n\nfunc f() {\n\tx := \n}\n", 5, None),
    ("a.sh", "if true; then\n  echo x\n", 3, None),
    ("b.sh", "echo $(\nfor x in; do\n", 3, None),
    ("a.rb", "def f(\n  x = 1\n  y\nend\n", 3, None),
    ("a.php", "<?php\nfunction f() {\n  return 1\n}\n", 4, None),
    ("a.java", "class A {\n  void f() { int x = }\n}\n", 2, None),
    (
        "a.c",
        "#include <a.h>\nint f(void) {\n  return (1;\n}\n",
        4,
        Some(1),
    ),
    (
        "b.c",
        "#include <a.h>\nint f(void) {\n  if (1) {\n  return 1;\n}\n",
        2,
        None,
    ),
    (
        "c.h",
        "#ifndef A\n#include <a.h>\nint f(void);\n",
        1,
        Some(1),
    ),
    (
        "a.cpp",
        "#include <a>\nauto s = \"open;\nint x;\n",
        2,
        Some(10),
    ),
];

#[tokio::test]
async fn syntax_errors_have_their_place() {
    if !has_rustfmt() {
        return;
    }
    let files = BROKEN
        .iter()
        .map(|(name, text, ..)| (*name, text.as_bytes()));
    let fixture = ParserFixture::out(files);
    let mut wrong = Vec::new();
    for ((name, verdict), (_, _, line, column)) in fixture.verdicts().await.into_iter().zip(BROKEN)
    {
        match verdict {
            ParserVerdict::Broken(fault)
                if fault.line == line && (column.is_none() || fault.column == column) =>
            {
                assert!(!fault.message.is_empty(), "{name}");
            }
            ParserVerdict::Unknown(why) if why.starts_with("no parser is available for") => {}
            verdict => wrong.push(format!("{name}: {verdict:?}, not {line}:{column:?}")),
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

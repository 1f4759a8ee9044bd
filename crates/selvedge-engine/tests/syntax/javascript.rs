//! Tests of JavaScript and TypeScript, which are parsed by `node` and by the TypeScript that the project has installed.
//! Small packages stand in for the latter.

use std::path::Path;
use std::process::Command;

use selvedge_engine::syntax::ParserVerdict;
use selvedge_testkit::is_available;
use tempfile::TempDir;

use super::ParserFixture;

/// A parser that rejects question marks, and knows one element of JSX.
const PARSER: &str = "
exports.ScriptTarget = { Latest: 99 };
exports.ScriptKind = { JSX: 2, TS: 3, TSX: 4 };
exports.SyntaxKind = {};
exports.createSourceFile = (name, text) => {
  if (text.includes('exit')) process.exit();
  const start = text.indexOf('?');
  return { text, parseDiagnostics: start < 0 ? [] : [{ start, messageText: 'Unexpected mark.' }] };
};
exports.isTypeNode = exports.isJsxFragment = exports.isDecorator = () => false;
exports.isJsxOpeningLikeElement = (node) => node.text.includes('<b/>');
exports.forEachChild = () => undefined;
";

/// A command line that rejects question marks, and misses the libraries that its options leave out, as version 7 does.
const COMMAND_LINE: &str = "
for (const file of process.argv.filter((word) => word.endsWith('.ts'))) {
  if (require('fs').readFileSync(file, 'utf8').includes('?')) {
    console.log(`${file}(1,5): error TS1109: Unexpected mark.`);
    process.exitCode = 2;
  }
}
if (!process.exitCode) {
  console.log(`error TS2318: Cannot find global type 'Array'.`);
  process.exitCode = 1;
}
";

/// Returns a workspace with a package `typescript` of these files.
fn workspace_with_typescript(files: &[(&str, &str)]) -> TempDir {
    let workspace = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let file = workspace.path().join("node_modules/typescript").join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    workspace
}

async fn verdicts_in(workspace: &Path, files: &[(&str, &str)]) -> Vec<ParserVerdict> {
    let files = files.iter().map(|(name, text)| (*name, text.as_bytes()));
    let mut fixture = ParserFixture::out(files);
    fixture.workspace = workspace.to_owned();
    let verdicts = fixture.verdicts().await;
    verdicts.into_iter().map(|(_, verdict)| verdict).collect()
}

fn place(verdict: &ParserVerdict) -> Option<(u32, Option<u32>)> {
    match verdict {
        ParserVerdict::Broken(fault) => Some((fault.line, fault.column)),
        _ => None,
    }
}

fn has_node() -> bool {
    is_available("node", &Command::new("node").arg("--version").output())
}

#[tokio::test]
async fn node_accepts_scripts_and_modules_and_is_unsure_of_other_dialects() {
    if !has_node() {
        return;
    }
    let files = [
        ("script.js", "var let = 1; with (let) { 010 }\n"),
        ("body.js", "#!/usr/bin/env node\nreturn require('x');\n"),
        ("module.js", "import a from 'x';\nawait a;\n"),
        ("script_fault.js", "return 1;\nlet é = (;\n"),
        ("module_fault.js", "export const a = 1;\nconst b = (;\n"),
        ("flow.js", "// @flow\nconst a: ?string = 1;\n"),
        ("decorated.js", "@a class B {}\n"),
        ("element.jsx", "const a = <b/>;\n"),
        ("types.ts", "let a: string;\n"),
    ];
    let workspace = tempfile::tempdir().unwrap();
    let verdicts = verdicts_in(workspace.path(), &files).await;
    for (verdict, (name, _)) in verdicts.iter().zip(files) {
        let is_expected = match name {
            "script_fault.js" => place(verdict) == Some((2, Some(10))),
            "module_fault.js" => place(verdict) == Some((2, Some(12))),
            "flow.js" | "decorated.js" => matches!(verdict, ParserVerdict::Unsure(..)),
            "element.jsx" | "types.ts" => matches!(
                verdict,
                ParserVerdict::Unknown(why) if why.ends_with("the project has no TypeScript")
            ),
            _ => *verdict == ParserVerdict::Parses,
        };
        assert!(is_expected, "{name}: {verdict:?}");
    }
}

#[tokio::test]
async fn typescript_of_the_project_parses_its_files() {
    if !has_node() {
        return;
    }
    let workspace = workspace_with_typescript(&[("package.json", "{}"), ("index.js", PARSER)]);
    let files = [
        ("packages/app/a.ts", "let x;\nlet é = ?;\n"),
        ("packages/app/b.tsx", "let x;\n"),
        ("c.js", "const a = <b/>;\n"),
        ("d.js", "const a = <b/> ?;\n"),
        ("e.js", "const a = <b;\n"),
        ("f.ts", "exit\n"),
        ("g.ts", "let x;\n"),
        ("a\n../\tx/h.mts", "?"),
    ];
    let verdicts = verdicts_in(workspace.path(), &files).await;
    let places: Vec<_> = verdicts.iter().map(place).collect();
    assert_eq!(
        places,
        [
            Some((2, Some(9))),
            None,
            None,
            Some((1, Some(16))),
            Some((1, Some(11))),
            None,
            None,
            Some((1, Some(1))),
        ]
    );
    for index in [1, 2, 6] {
        assert_eq!(verdicts[index], ParserVerdict::Parses, "{:?}", files[index]);
    }
    assert!(matches!(&verdicts[5], ParserVerdict::Unknown(why) if why == "its parser failed"));
}

#[tokio::test]
async fn typescript_without_a_parser_is_run_by_its_command_line() {
    if !has_node() {
        return;
    }
    let workspace = workspace_with_typescript(&[
        ("package.json", "{}"),
        ("index.js", "exports.version = '7.0.2';"),
        ("bin/tsc", COMMAND_LINE),
    ]);
    let files = [("a.ts", "let ?;\n"), ("b.ts", "let x;\n")];
    let verdicts = verdicts_in(workspace.path(), &files).await;
    assert_eq!(place(&verdicts[0]), Some((1, Some(5))));
    assert_eq!(verdicts[1], ParserVerdict::Parses);
    let verdicts = verdicts_in(workspace.path(), &files[1..]).await;
    assert_eq!(verdicts, [ParserVerdict::Parses]);
}

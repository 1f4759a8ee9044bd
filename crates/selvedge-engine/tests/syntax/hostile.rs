//! Tests of files that are made to crash a parser, and of the files next to them.

use selvedge_engine::syntax::ParserVerdict;

use super::ParserFixture;

#[tokio::test]
async fn a_file_that_brings_its_parser_down_takes_no_other_with_it() {
    let deep = |open: &str| open.repeat(200_000);
    let bombs = [
        ("a.json", deep("[")),
        ("b.yaml", deep("[")),
        ("c.toml", format!("a = {}", deep("["))),
        ("d.xml", deep("<a>")),
        ("e.sql", format!("SELECT {}", deep("("))),
        ("f.js", deep("[")),
        ("g.ts", deep("!")),
        ("h.rs", format!("const A: u8 = {};", deep("-"))),
        ("i.c", deep("{")),
        ("j.py", deep("(")),
        ("k.rb", deep("[")),
        ("l.php", format!("<?php {}", deep("("))),
        ("m.go", format!("package p\nvar x = {}", deep("("))),
        ("n.sh", deep("( ")),
    ];
    let intact = [
        ("between.json", "{}"),
        ("end.toml", "a = 1"),
        ("end.js", "1;"),
    ];
    let files: Vec<_> = bombs
        .into_iter()
        .chain(intact.map(|(name, text)| (name, text.to_owned())))
        .collect();
    let fixture = ParserFixture::out(files.iter().map(|(name, text)| (*name, text.as_bytes())));
    for (name, verdict) in fixture.verdicts().await {
        let is_unchecked = matches!(
            &verdict,
            ParserVerdict::Unknown(why) if why.starts_with("no parser is available")
        );
        if !intact.iter().any(|(intact, _)| *intact == name) {
            assert_ne!(verdict, ParserVerdict::Parses, "{name}");
        } else if !is_unchecked {
            assert_eq!(verdict, ParserVerdict::Parses, "{name}");
        }
    }
}

#[tokio::test]
async fn no_bytes_are_taken_for_a_program() {
    let files: [(&str, &[u8]); 6] = [
        (
            "-rf\n; touch owned.py",
            b"open('owned', 'w')\nimport os; os.abort()\n",
        ),
        ("a\tb.sh", b"touch owned; kill $$\n"),
        ("b.rb", b"BEGIN { File.write('owned', '') }\nexit!\n"),
        ("c.php", b"<?php file_put_contents('owned', ''); exit;"),
        (
            "d.js",
            b"require('fs').writeFileSync('owned', ''); process.exit()",
        ),
        ("e.py", b"x = '\xff\x00'\n"),
    ];
    let fixture = ParserFixture::out(files);
    let verdicts = fixture.verdicts().await;
    assert!(!fixture.room.path().join("owned").exists());
    for (name, verdict) in &verdicts[..5] {
        assert!(
            matches!(verdict, ParserVerdict::Parses | ParserVerdict::Unknown(_)),
            "{name}: {verdict:?}"
        );
    }
    assert_ne!(
        verdicts[5].1,
        ParserVerdict::Parses,
        "it holds a byte that no source may"
    );
}

use super::*;

/// Files with their contents, which are also their texts.
fn files(list: &[(&str, &str)]) -> InstalledFiles {
    let file = |content: &str| InstalledFile {
        content: Some(content.to_owned()),
        text: Some(content.to_owned()),
    };
    let files = list.iter();
    files
        .map(|(path, content)| ((*path).to_owned(), file(content)))
        .collect()
}

fn unexplained(before: &[(&str, &str)], after: &[(&str, &str)]) -> Vec<String> {
    let is_program = |name: &str| name == "node";
    unexplained_files(&files(before), &files(after), is_program)
}

#[test]
fn packages_in_node_modules_are_those_from_before() {
    let before = [
        ("node_modules/mocha/package.json", "10"),
        ("node_modules/mocha/lib/runner.js", "runner"),
        ("node_modules/.bin/mocha", "../mocha/bin/mocha.js"),
    ];
    let runner = ["node_modules/mocha/lib/runner.js"];
    let patched = [before[0], (runner[0], "patched"), before[2]];
    assert_eq!(unexplained(&before, &patched), runner);
    assert!(unexplained(&before, &before).is_empty());
    assert_eq!(unexplained(&before, &before[..1]), runner);

    let moved = [
        ("node_modules/ms/node_modules/mocha/package.json", "10"),
        ("node_modules/ms/node_modules/mocha/lib/runner.js", "runner"),
        ("node_modules/.bin/mocha", "../mocha/bin/main.js"),
        ("node_modules/.bin/own", "../own/cli.js"),
        ("node_modules/own", "../packages/own"),
    ];
    assert_eq!(unexplained(&before, &moved), [""; 0]);
    let link = |target: &'static str| [("node_modules/own", target)];
    let moved = unexplained(&link("../packages/own"), &link("../own"));
    assert_eq!(moved, [""; 0]);
    let replaced = unexplained(&link("../node_modules/x"), &link("../own"));
    assert_eq!(replaced, ["node_modules/own"]);
    let planted = [("node_modules/other/index.js", "new")];
    assert_eq!(unexplained(&[], &planted), ["node_modules/other/index.js"]);
}

#[test]
fn commands_stay_those_of_their_packages() {
    let before = [
        ("node_modules/.bin/mocha", "../mocha/bin/mocha.js"),
        ("node_modules/mocha/package.json", "10"),
    ];
    for command in ["node_modules/.bin/mocha", "node_modules/.bin/node"] {
        let after = [(command, "../own/fake.js"), before[1]];
        assert_eq!(unexplained(&before, &after), [command]);
    }
    let script = "#!/bin/sh\nexec node \"$basedir/../own/node_modules/own/cli.js\" \"$@\"";
    let after = [before[0], before[1], ("node_modules/.bin/own", script)];
    assert_eq!(unexplained(&before, &after), [""; 0]);
}

#[test]
fn python_modules_are_those_from_before() {
    let site = ".venv/lib/python3.12/site-packages";
    let own = format!("{site}/own-1.dist-info/RECORD");
    let runner = format!("{site}/_pytest/runner.py");
    let hook = format!("{site}/_own.pth");
    let command = ".venv/bin/pytest";
    let before = [
        (own.as_str(), "_own.pth,,\n"),
        (hook.as_str(), "/srv/src\n"),
        (runner.as_str(), "runner"),
        (command, "pytest"),
    ];
    for (path, content, is_explained) in [
        (runner.as_str(), "patched", false),
        (command, "other", false),
        (hook.as_str(), "import own_hook\n", false),
        (".venv/bin/node", "new", false),
        (hook.as_str(), "/srv/lib\n", true),
        (own.as_str(), "_own.pth,,\nown.py,,\n", true),
        (".venv/bin/own", "new", true),
    ] {
        let mut after = before.to_vec();
        after.retain(|(other, _)| *other != path);
        after.push((path, content));
        let expected: &[&str] = if is_explained { &[] } else { &[path] };
        assert_eq!(unexplained(&before, &after), expected, "{path}");
    }
}

#[test]
fn dependency_files_contain_nothing_that_a_setup_executes() {
    let new = r#"{"name": "mocha", "dependencies": {"ms": "2"}}"#;
    let changes = [
        ("package-lock.json", Some("1"), Some("2")),
        ("yarn.lock", Some("1"), None),
        ("requirements/test.txt", None, Some("ms")),
        (
            "package.json",
            Some("{}"),
            Some(r#"{"scripts": {"install": "x"}}"#),
        ),
        ("packages/mocha/package.json", None, Some(new)),
        (
            "packages/own/package.json",
            None,
            Some(r#"{"bin": "x", "name": "own"}"#),
        ),
        ("old/package.json", Some("{}"), None),
        ("new/package.json", None, Some(r#"{"name": "moved"}"#)),
        ("broken/package.json", None, Some("{ \"scripts\": {},")),
        ("setup.py", Some("1"), Some("2")),
        (".npmrc", None, Some("node-options=x")),
        ("src/index.js", Some("1"), Some("2")),
    ];
    let changes = changes.map(|(path, before, after)| ChangedFile {
        path,
        before: before.map(str::as_bytes),
        after: after.map(str::as_bytes),
    });
    let installed = [
        ("node_modules/mocha/package.json", "10"),
        ("node_modules/moved", "../old"),
    ];
    let installed = files(&installed);
    let found = dependency_files(&changes, &installed);
    let found: Vec<_> = found
        .iter()
        .map(|(path, bytes)| {
            let text = bytes.as_deref().map(String::from_utf8_lossy);
            let text: String = text.unwrap_or("none".into()).split_whitespace().collect();
            (path.as_str(), text)
        })
        .collect();
    let expected = [
        ("new/package.json", "{\"name\":\"moved\"}"),
        ("old/package.json", "none"),
        ("package-lock.json", "2"),
        ("package.json", "{}"),
        ("packages/own/package.json", "{\"name\":\"own\"}"),
        ("requirements/test.txt", "ms"),
        ("yarn.lock", "none"),
    ];
    assert_eq!(found, expected.map(|(path, text)| (path, text.to_owned())));
}

#[test]
fn dependency_files_contain_programs_that_declare_dependencies() {
    let takes = |path: &str, before: &str, added: &str| {
        let after = format!("{before}{added}\n");
        let change = ChangedFile {
            path,
            before: Some(before.as_bytes()),
            after: Some(after.as_bytes()),
        };
        dependency_files(&[change], &InstalledFiles::new()).contains_key(path)
    };
    let gems = "source 'https://gems.example'\ngem 'rack'\n";
    for (line, is_taken) in [
        ("gem \"sinatra\", \"~> 4.0\", require: false  ", true),
        ("group :test do\n  gem 'rspec', '>= 3', '< 4'\nend", true),
        ("# for tests", true),
        ("gem 'own', path: 'own'", false),
        ("gem 'own', git: 'https://x.example'", false),
        ("gem 'a'; system('x')", false),
        ("gem \"a#{system('x')}\"", false),
        ("eval_gemfile 'other'", false),
    ] {
        assert_eq!(takes("Gemfile", gems, line), is_taken, "{line}");
    }
    let deps = "defp deps do\n[\n";
    assert!(takes(
        "mix.exs",
        deps,
        "{:jason, \"~> 1.4\", only: [:dev, :test]},"
    ));
    assert!(!takes("mix.exs", deps, "{:own, path: \"own\"},"));
}

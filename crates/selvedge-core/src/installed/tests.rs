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

fn unexplained(
    before: &[(&str, &str)],
    after: &[(&str, &str)],
    lock: Option<(&str, &str, &str)>,
) -> Vec<String> {
    let lock = lock.map(|(path, before, after)| LockChange {
        path,
        before: Some(before.as_bytes()),
        after: Some(after.as_bytes()),
    });
    let is_program = |name: &str| name == "node";
    let locks: Vec<_> = lock.into_iter().collect();
    unexplained_files(&files(before), &files(after), &locks, is_program)
}

const MOCHA_10: &str = r#"{"packages": {"node_modules/mocha": {"version": "10.0.0"}}}"#;
const MOCHA_11: &str = r#"{"packages": {"node_modules/mocha": {"version": "11.0.0"},
    "node_modules/ms": {"version": "2.0.0"}, "node_modules/own": {"link": true}}}"#;

#[test]
fn packages_in_node_modules_differ_only_as_locked() {
    let before = [
        ("node_modules/mocha/package.json", "10"),
        ("node_modules/mocha/lib/runner.js", "runner"),
        ("node_modules/.bin/mocha", "../mocha/bin/mocha.js"),
    ];
    let patched = [
        before[0],
        ("node_modules/mocha/lib/runner.js", "patched"),
        before[2],
    ];
    let runner = ["node_modules/mocha/lib/runner.js"];
    let same = Some(("package-lock.json", MOCHA_10, MOCHA_10));
    let upgraded = Some(("package-lock.json", MOCHA_10, MOCHA_11));
    assert_eq!(unexplained(&before, &patched, same), runner);
    assert_eq!(unexplained(&before, &patched, None), runner);
    assert!(unexplained(&before, &before, same).is_empty());
    assert_eq!(unexplained(&before, &before[..1], same), runner);

    let new = [
        ("node_modules/mocha/package.json", "11"),
        ("node_modules/ms/index.js", "new"),
        // Moved, because two versions are needed.
        ("node_modules/ms/node_modules/mocha/lib/runner.js", "runner"),
        ("node_modules/.bin/mocha", "../mocha/bin/main.js"),
        ("node_modules/.bin/own", "../own/cli.js"),
        ("node_modules/own", "../packages/own"),
    ];
    assert!(unexplained(&before, &new, upgraded).is_empty());
    let link = |target: &'static str| [("node_modules/own", target)];
    let moved = unexplained(&link("../packages/own"), &link("../own"), same);
    assert!(moved.is_empty(), "{moved:?}");
    let replaced = unexplained(&link("../node_modules/x"), &link("../own"), same);
    assert_eq!(replaced, ["node_modules/own"]);
    let planted = [("node_modules/other/index.js", "new")];
    assert_eq!(
        unexplained(&[], &planted, upgraded),
        ["node_modules/other/index.js"]
    );
}

#[test]
fn commands_stay_those_of_their_packages() {
    let before = [
        ("node_modules/.bin/mocha", "../mocha/bin/mocha.js"),
        ("node_modules/mocha/package.json", "10"),
    ];
    let lock = Some(("package-lock.json", MOCHA_10, MOCHA_11));
    for command in ["node_modules/.bin/mocha", "node_modules/.bin/node"] {
        let after = [(command, "../own/fake.js"), before[1]];
        assert_eq!(unexplained(&before, &after, lock), [command]);
    }
    let script = "#!/bin/sh\nexec node \"$basedir/../own/node_modules/own/cli.js\" \"$@\"";
    let after = [before[0], before[1], ("node_modules/.bin/own", script)];
    assert!(unexplained(&before, &after, lock).is_empty());
}

#[test]
fn python_modules_differ_only_as_locked() {
    let site = ".venv/lib/python3.12/site-packages";
    let own = format!("{site}/own-1.dist-info/RECORD");
    let tool = format!("{site}/pytest-8.dist-info/RECORD");
    let runner = format!("{site}/_pytest/runner.py");
    let hook = format!("{site}/_own.pth");
    let command = ".venv/bin/pytest";
    let pytest_files = "_pytest/runner.py,sha256=x,1\n../../../bin/pytest,,\n";
    let before = [
        (own.as_str(), "_own.pth,,\n"),
        (hook.as_str(), "/srv/src\n"),
        (tool.as_str(), pytest_files),
        (runner.as_str(), "runner"),
        (command, "pytest"),
    ];
    let lock = |version: &str| {
        format!(
            "[[package]]\nname = \"own\"\nversion = \"{version}\"\nsource = {{ editable = \".\" }}\n\
             [[package]]\nname = \"pytest\"\nversion = \"{version}\"\nsource = {{ registry = \"r\" }}\n"
        )
    };
    let (eight, nine) = (lock("8"), lock("9"));
    let same = Some(("uv.lock", eight.as_str(), eight.as_str()));
    let upgraded = Some(("uv.lock", eight.as_str(), nine.as_str()));

    let changed = |path: &str, content: &'static str| {
        let mut files = before.to_vec();
        files.retain(|(other, _)| *other != path);
        let path: &'static str = path.to_owned().leak();
        files.push((path, content));
        files
    };
    for (path, content) in [
        (runner.as_str(), "patched"),
        (command, "other"),
        (hook.as_str(), "import own_hook\n"),
        (".venv/bin/node", "new"),
    ] {
        let after = changed(path, content);
        assert_eq!(unexplained(&before, &after, same), [path], "{path}");
    }
    assert!(unexplained(&before, &changed(&runner, "patched"), upgraded).is_empty());
    for (path, content) in [
        (hook.as_str(), "/srv/lib\n"),
        (own.as_str(), "_own.pth,,\nown.py,,\n"),
        (".venv/bin/own", "new"),
    ] {
        let after = changed(path, content);
        assert!(unexplained(&before, &after, same).is_empty(), "{path}");
    }
}

#[test]
fn lock_files_name_what_changed() {
    let cases = [
        (
            "pnpm-lock.yaml",
            "packages:\n\n  a@1.0.0:\n    resolution: {integrity: x}\n  '@s/b@1.0.0':\n    resolution: {integrity: y}\n",
            "packages:\n\n  a@1.0.0:\n    resolution: {integrity: x}\n  '@s/b@2.0.0':\n    resolution: {integrity: z}\n  \
             c@1.0.0(patch_hash=1):\n    resolution: {integrity: z}\n",
            "@s/b",
        ),
        (
            "yarn.lock",
            "a@^1.0.0:\n  version \"1.0.0\"\n\nb@^1, b@^2:\n  version \"2.0.0\"\n",
            "a@^1.0.0:\n  version \"1.0.1\"\n\nb@^1, b@^2:\n  version \"2.0.0\"\n",
            "a",
        ),
        (
            "Gemfile.lock",
            "GEM\n  specs:\n    rake (13.0)\n    rspec (3.0)\n      rake (>= 1)\n",
            "GEM\n  specs:\n    rake (13.0)\n    rspec (3.1)\n      rake (>= 2)\n",
            "rspec",
        ),
        (
            "requirements.txt",
            "pytest==8\nPy_Yaml==1\n-e .\n",
            "pytest==8\nPy_Yaml==2\n-e ./other\n",
            "py-yaml",
        ),
        (
            "package.json",
            r#"{"devDependencies": {"a": "^1", "b": "^1"}, "dependencies": {"c": "^1"}}"#,
            r#"{"devDependencies": {"a": "^2", "b": "^1"}, "dependencies": {"c": "file:c"}}"#,
            "a",
        ),
        (
            "pyproject.toml",
            "[project]\ndependencies = [\"a>1\"]\n[dependency-groups]\ndev = [\"b\"]\n",
            "[project]\ndependencies = [\"a>1\"]\n[dependency-groups]\ndev = [\"b>2\", {include-group = \"x\"}]\n",
            "b",
        ),
        (
            "Pipfile.lock",
            r#"{"develop": {"pytest": {"version": "==8"}}}"#,
            r#"{"develop": {"pytest": {"version": "==9"}}}"#,
            "pytest",
        ),
        (
            "composer.lock",
            r#"{"packages-dev": [{"name": "v/p", "version": "1"}]}"#,
            r#"{"packages-dev": [{"name": "v/p", "version": "2"}]}"#,
            "v/p",
        ),
        (
            "bun.lock",
            "    \"a\": [\"a@1.0.0\", \"\", {}, \"x\"],\n",
            "    \"a\": [\"a@2.0.0\", \"\", {}, \"y\"],\n",
            "a",
        ),
    ];
    for (path, before, after, changed) in cases {
        let lock = LockChange {
            path,
            before: Some(before.as_bytes()),
            after: Some(after.as_bytes()),
        };
        let names = BTreeSet::from([changed.to_owned()]);
        let is_complete = !matches!(path, "requirements.txt" | "package.json" | "pyproject.toml");
        let expected = ChangedPackages { names, is_complete };
        assert_eq!(changed_packages(&[lock]), expected, "{path}");
    }
}

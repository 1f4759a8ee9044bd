//! Builds the command that runs only the failed tests, from a test runner's command and their ids.
//!
//! Ids are untrusted text: each becomes one word of the command, or part of a pattern in which special characters are
//! escaped, and an id that a runner could parse as an option selects nothing. The resulting command can only show that
//! tests fail again; if they do not, the whole check is run.

/// Maximum number of selected tests: a check fails again if one of them does.
const MAX_SELECTED: usize = 20;
/// Maximum total length of the selected ids, in bytes.
const MAX_SELECTED_BYTES: usize = 8 << 10;

/// A runner that can run selected tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestRunner {
    /// `pytest`
    Pytest,
    /// `python -m unittest`
    Unittest,
    /// `cargo test`
    CargoTest,
    /// `cargo nextest run`
    Nextest,
    /// `jest`
    Jest,
    /// `vitest run`
    Vitest,
    /// `mocha`
    Mocha,
    /// `node --test`
    NodeTest,
    /// `go test`
    GoTest,
    /// `rspec`
    Rspec,
    /// `phpunit`
    Phpunit,
}

/// The command that runs only the first of these tests, if everything known about the runner permits it. `options_at`
/// is the position in the command where the runner's own options begin.
pub fn select_tests(
    runner: TestRunner,
    argv: &[String],
    options_at: usize,
    ids: &[String],
) -> Option<Vec<String>> {
    let ids: Vec<&str> = ids.iter().take(MAX_SELECTED).map(String::as_str).collect();
    let is_odd = |id: &&str| {
        id.trim().is_empty() || id.starts_with(['-', '@']) || id.chars().any(char::is_control)
    };
    let size: usize = ids.iter().map(|id| id.len()).sum();
    if ids.is_empty() || size > MAX_SELECTED_BYTES || ids.iter().any(is_odd) {
        return None;
    }
    let command = RunnerCommand {
        call: argv.get(..options_at)?,
        options: argv.get(options_at..)?,
    };
    match runner {
        TestRunner::Pytest => command.pytest(&ids),
        TestRunner::Unittest => command.unittest(&ids),
        TestRunner::CargoTest => Some(command.cargo_test(&ids)),
        TestRunner::Nextest => command.nextest(&ids),
        TestRunner::Jest => command.by_script_names(&ids, &["-t", "--testNamePattern"], escape),
        TestRunner::Vitest => {
            command.by_script_names(&ids, &["-t", "--testNamePattern"], str::to_owned)
        }
        TestRunner::Mocha => command.mocha(&ids),
        TestRunner::NodeTest => command.node_test(&ids),
        TestRunner::GoTest => command.go_test(&ids),
        TestRunner::Rspec => command.rspec(&ids),
        TestRunner::Phpunit => command.phpunit(&ids),
    }
}

/// A command split in two parts.
#[derive(Debug, Clone, Copy)]
struct RunnerCommand<'a> {
    /// The words that invoke the runner.
    call: &'a [String],
    options: &'a [String],
}

impl RunnerCommand<'_> {
    fn build(self, first: &[String], last: &[String]) -> Vec<String> {
        [self.call, first, self.options, last].concat()
    }

    fn has(self, names: &[&str]) -> bool {
        self.options.iter().any(|word| {
            let name = word.split('=').next().unwrap_or(word);
            names.contains(&name)
        })
    }

    /// Replaces folders and files by the ids of tests in them.
    fn pytest(self, ids: &[&str]) -> Option<Vec<String>> {
        let is_id = |id: &&str| id.contains("::") || id.rsplit('.').next() == Some("py");
        if !ids.iter().all(is_id) || self.has(&["--", "--pyargs"]) {
            return None;
        }
        let holds_one = |word: &str| {
            let word = word
                .strip_prefix("./")
                .unwrap_or(word)
                .trim_end_matches('/');
            let is_in = |id: &&str| {
                let rest = id.strip_prefix(word);
                rest.is_some_and(|it| it.is_empty() || it.starts_with('/') || it.starts_with("::"))
            };
            word == "." || !word.is_empty() && ids.iter().any(is_in)
        };
        let options = self.options.iter();
        let kept = options.filter(|word| word.starts_with('-') || !holds_one(word));
        let mut words = self.call.to_vec();
        words.extend(kept.cloned());
        words.extend(ids.iter().map(|&id| id.to_owned()));
        Some(words)
    }

    fn unittest(self, ids: &[&str]) -> Option<Vec<String>> {
        let mut words = Vec::new();
        for id in ids {
            // Parameters of a subtest follow its name.
            let name = id.split(' ').next().unwrap_or(id);
            if name.contains(['*', '?', '[']) {
                return None;
            }
            words.extend(["-k".to_owned(), name.to_owned()]);
        }
        Some(self.build(&[], &words))
    }

    fn cargo_test(self, ids: &[&str]) -> Vec<String> {
        let mut words = Vec::new();
        if !self.has(&["--"]) {
            words.push("--".to_owned());
        }
        words.push("--exact".to_owned());
        words.extend(ids.iter().map(|&id| id.to_owned()));
        self.build(&[], &words)
    }

    fn nextest(self, ids: &[&str]) -> Option<Vec<String>> {
        if self.has(&["-E", "--filterset", "--filter-expr"]) {
            return None;
        }
        // The test's binary precedes its name.
        let names = ids.iter().map(|id| id.rsplit(' ').next().unwrap_or(id));
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':');
        let filters: Option<Vec<String>> = names
            .map(|name| name.chars().all(is_plain).then(|| format!("test(={name})")))
            .collect();
        Some(self.build(&["-E".to_owned(), filters?.join(" | ")], &[]))
    }

    /// Files, and a pattern of the tests' full names.
    fn by_script_names(
        self,
        ids: &[&str],
        options: &[&str],
        file_pattern: impl Fn(&str) -> String,
    ) -> Option<Vec<String>> {
        if self.has(options) || self.has(&["--"]) {
            return None;
        }
        let mut files = Vec::new();
        for file in ids.iter().filter_map(|id| script_and_names(id).0) {
            let file = file_pattern(file);
            if !files.contains(&file) {
                files.push(file);
            }
        }
        let pattern = whole_names(ids)?;
        Some(self.build(&files, &["-t".to_owned(), pattern]))
    }

    fn mocha(self, ids: &[&str]) -> Option<Vec<String>> {
        let filters = ["-g", "--grep", "-f", "--fgrep", "-i", "--invert"];
        let pattern = whole_names(ids).filter(|_| !self.has(&filters))?;
        Some(self.build(&["--grep".to_owned(), pattern], &[]))
    }

    /// Only the name: whether it includes the names of suites depends on the version.
    fn node_test(self, ids: &[&str]) -> Option<Vec<String>> {
        if self.has(&["--test-name-pattern", "--test-skip-pattern"]) {
            return None;
        }
        let patterns: Option<Vec<String>> = ids
            .iter()
            .map(|id| {
                let names = script_and_names(id).1;
                let name = names.last()?;
                Some(format!("--test-name-pattern={}$", escape(name)))
            })
            .collect();
        Some(self.build(&patterns?, &[]))
    }

    fn go_test(self, ids: &[&str]) -> Option<Vec<String>> {
        if self.has(&["-run", "--run", "-test.run", "-bench", "-fuzz"]) {
            return None;
        }
        let names: Option<Vec<&str>> = ids.iter().map(|id| go_function(id)).collect();
        let pattern = format!("^({})$", names?.join("|"));
        Some(self.build(&["-run".to_owned(), pattern], &[]))
    }

    /// The full description of each; its file may precede it.
    fn rspec(self, ids: &[&str]) -> Option<Vec<String>> {
        if self.has(&["-e", "--example", "-E", "--example-matches"]) {
            return None;
        }
        let mut words = Vec::new();
        for &id in ids {
            let (file, name) = id.split_once(" > ").unwrap_or(("", id));
            let name = if file.ends_with("_spec.rb") { name } else { id };
            if name.starts_with(['-', '.']) {
                return None;
            }
            words.extend(["-e".to_owned(), name.to_owned()]);
        }
        Some(self.build(&words, &[]))
    }

    fn phpunit(self, ids: &[&str]) -> Option<Vec<String>> {
        if self.has(&["--filter"]) {
            return None;
        }
        let names: Option<Vec<&str>> = ids
            .iter()
            .map(|id| {
                let (_, name) = id.rsplit_once("::")?;
                let name = name.split(' ').next()?;
                is_word(name).then_some(name)
            })
            .collect();
        let pattern = format!("/::({})( with data set .*)?$/", names?.join("|"));
        Some(self.build(&["--filter".to_owned(), pattern], &[]))
    }
}

/// `a.test.js > cart > adds`: the file, if it comes first, and the names of suites and test.
fn script_and_names(id: &str) -> (Option<&str>, Vec<&str>) {
    const SCRIPTS: [&str; 8] = [".js", ".ts", ".jsx", ".tsx", ".mjs", ".cjs", ".mts", ".cts"];
    let parts = id.split(" > ").flat_map(|part| part.split(" › "));
    let mut parts: Vec<&str> = parts.collect();
    let first = parts.first().copied().unwrap_or_default();
    let is_file = parts.len() > 1 && SCRIPTS.iter().any(|ending| first.ends_with(ending));
    if !is_file {
        return (None, parts);
    }
    parts.remove(0);
    (Some(first), parts)
}

/// A pattern that matches the full names of tests; `None` if an id is that of a file.
fn whole_names(ids: &[&str]) -> Option<String> {
    let names: Option<Vec<String>> = ids
        .iter()
        .map(|id| {
            let names = script_and_names(id).1.join(" ");
            (!names.is_empty()).then(|| escape(&names))
        })
        .collect();
    Some(format!("^({})$", names?.join("|")))
}

/// Escapes literal text for a regular expression.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if ".*+?^${}()|[]\\/".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// `example.com/shop.TestTotal/of_none`: the function.
fn go_function(id: &str) -> Option<&str> {
    let after_package = id.match_indices(['.', ' ']).map(|(at, _)| at + 1);
    let mut starts = std::iter::once(0).chain(after_package);
    starts.find_map(|at| {
        let name = id.get(at..)?.split('/').next()?;
        let is_test = ["Test", "Example", "Fuzz"]
            .iter()
            .any(|kind| name.starts_with(kind));
        (is_test && is_word(name)).then_some(name)
    })
}

fn is_word(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use TestRunner::{
        CargoTest, GoTest, Jest, Mocha, Nextest, NodeTest, Phpunit, Pytest, Rspec, Unittest, Vitest,
    };

    fn selected(runner: TestRunner, command: &str, at: usize, ids: &[&str]) -> Option<Vec<String>> {
        let argv: Vec<String> = command.split(' ').map(str::to_owned).collect();
        let ids: Vec<String> = ids.iter().map(|&id| id.to_owned()).collect();
        select_tests(runner, &argv, at, &ids)
    }

    #[test]
    fn select_failed_tests_by_runner() {
        /// Runner, command, position of its options, failed tests, and the command for these.
        type Row<'a> = (TestRunner, &'a str, usize, &'a [&'a str], &'a [&'a str]);
        let cart = "test/cart.test.js > cart > adds (all)";
        let rows: [Row<'_>; 13] = [
            (
                Pytest,
                "pytest -q -n 4 tests/ other",
                1,
                &["tests/a.py::T::test_x[a b;$(c)]"],
                &[
                    "pytest",
                    "-q",
                    "-n",
                    "4",
                    "other",
                    "tests/a.py::T::test_x[a b;$(c)]",
                ],
            ),
            (
                Pytest,
                "python -m pytest tests/a.py::T test",
                3,
                &["tests/a.py::T::x", "tests/b.py::y"],
                &[
                    "python",
                    "-m",
                    "pytest",
                    "test",
                    "tests/a.py::T::x",
                    "tests/b.py::y",
                ],
            ),
            (
                Unittest,
                "python -m unittest discover",
                3,
                &["test_a.A.test_x (i=1)"],
                &[
                    "python",
                    "-m",
                    "unittest",
                    "discover",
                    "-k",
                    "test_a.A.test_x",
                ],
            ),
            (
                CargoTest,
                "cargo test --locked",
                2,
                &["a::b", "src/lib.rs - c (line 3)"],
                &[
                    "cargo",
                    "test",
                    "--locked",
                    "--",
                    "--exact",
                    "a::b",
                    "src/lib.rs - c (line 3)",
                ],
            ),
            (
                CargoTest,
                "cargo test -- --nocapture",
                2,
                &["a::b"],
                &["cargo", "test", "--", "--nocapture", "--exact", "a::b"],
            ),
            (
                Nextest,
                "cargo nextest run --locked",
                3,
                &["shop::till a::b", "shop c"],
                &[
                    "cargo",
                    "nextest",
                    "run",
                    "-E",
                    "test(=a::b) | test(=c)",
                    "--locked",
                ],
            ),
            (
                Jest,
                "npx jest --ci",
                2,
                &[cart],
                &[
                    "npx",
                    "jest",
                    "test\\/cart\\.test\\.js",
                    "--ci",
                    "-t",
                    "^(cart adds \\(all\\))$",
                ],
            ),
            (
                Vitest,
                "vitest run",
                2,
                &[cart],
                &[
                    "vitest",
                    "run",
                    "test/cart.test.js",
                    "-t",
                    "^(cart adds \\(all\\))$",
                ],
            ),
            (
                Mocha,
                "mocha spec",
                1,
                &["a.spec.js > cart > adds", "subtracts"],
                &["mocha", "--grep", "^(cart adds|subtracts)$", "spec"],
            ),
            (
                NodeTest,
                "node --test",
                1,
                &[cart],
                &["node", "--test-name-pattern=adds \\(all\\)$", "--test"],
            ),
            (
                GoTest,
                "go test ./... -args -x",
                2,
                &["example.com/shop.TestTotal/of none", "TestTax"],
                &[
                    "go",
                    "test",
                    "-run",
                    "^(TestTotal|TestTax)$",
                    "./...",
                    "-args",
                    "-x",
                ],
            ),
            (
                Rspec,
                "bundle exec rspec",
                3,
                &["spec/cart_spec.rb > Cart.total sums"],
                &["bundle", "exec", "rspec", "-e", "Cart.total sums"],
            ),
            (
                Phpunit,
                "vendor/bin/phpunit tests",
                1,
                &[
                    "App\\CartTest::testTotal with data set #0",
                    "CartTest::testTax",
                ],
                &[
                    "vendor/bin/phpunit",
                    "--filter",
                    "/::(testTotal|testTax)( with data set .*)?$/",
                    "tests",
                ],
            ),
        ];
        for (runner, command, at, ids, expected) in rows {
            assert_eq!(selected(runner, command, at, ids).unwrap(), expected);
        }
    }

    #[test]
    fn select_ambiguous_id_selects_nothing() {
        let all = [
            Pytest, Unittest, CargoTest, Nextest, Jest, Vitest, Mocha, NodeTest, GoTest, Rspec,
            Phpunit,
        ];
        for runner in all {
            for id in [
                "",
                " ",
                "--help",
                "-x::a",
                "@file::a",
                "a.py::b\nc",
                "a.py::b\0",
            ] {
                assert_eq!(selected(runner, "run", 1, &[id]), None, "{runner:?} {id:?}");
            }
            assert_eq!(selected(runner, "run", 1, &[]), None);
        }
        assert_eq!(selected(Nextest, "run", 1, &["a) | all("]), None);
        assert_eq!(selected(GoTest, "run", 1, &["TestA|.*"]), None);
        assert_eq!(selected(Phpunit, "run", 1, &["A::b|c/e"]), None);
        assert_eq!(selected(Unittest, "run", 1, &["a.*"]), None);
    }

    #[test]
    fn select_keeps_selection_of_command() {
        for (runner, command, id) in [
            (Pytest, "pytest -- tests", "a.py::b"),
            (Nextest, "nextest -E all()", "a b"),
            (Jest, "jest -t adds", "a.js > b"),
            (Mocha, "mocha --grep=adds", "a"),
            (GoTest, "go -run=A", "TestB"),
            (Rspec, "rspec --example a", "b"),
            (Phpunit, "phpunit --filter a", "A::b"),
        ] {
            assert_eq!(selected(runner, command, 1, &[id]), None, "{command}");
        }
    }

    #[test]
    fn select_samples_many_failures() {
        let ids: Vec<String> = (0..500).map(|n| format!("a::t{n}")).collect();
        let argv = ["cargo".to_owned(), "test".to_owned()];
        let words = select_tests(CargoTest, &argv, 2, &ids).unwrap();
        assert_eq!(words.len(), 2 + 2 + MAX_SELECTED);
    }
}

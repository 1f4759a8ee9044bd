//! The test runners that write a report for machines, one row each: the words that call one, what
//! is added to them, and where the report is then found. Data alone; [`super`] reads it.
//!
//! A runner that is missing here is read by what it prints: `cargo test`, whose reports are not
//! stable, and all that hides behind a script such as `npm test`.

/// Where a runner leaves its report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::checks) enum Place {
    /// In the file that it was told.
    File,
    /// In files that it names itself, which end so, in the folder that it was told.
    Folder(&'static str),
    /// It is the runner's output: `go test` can do no other.
    Output,
    /// In folders of these names below the project, by default and without being asked.
    Below {
        /// Names of folders, the nearest to the files last.
        folders: &'static [&'static [&'static str]],
        /// Without its old reports it runs tests that it would call up to date.
        cleared: bool,
    },
}

/// One runner.
#[derive(Debug)]
pub(in crate::checks) struct Row {
    /// What people call it.
    pub(in crate::checks) runner: &'static str,
    /// The words that call it, each way of them; paths and version numbers apart.
    pub(super) called: &'static [&'static [&'static str]],
    /// It is only meant with this argument.
    pub(super) with: Option<&'static str>,
    /// It is left alone with one of these arguments: a report is asked for already, or no tests are.
    pub(super) unless: &'static [&'static str],
    /// So many of the words that call it, the last ones, give way to these. `{aid}` is a path.
    pub(super) instead: Option<(usize, &'static [&'static str])>,
    /// What stands right behind the words that call it. `{report}`, `{folder}` and `{aid}` are paths.
    pub(super) adds: &'static [&'static str],
    /// What else it takes for the usual output to stay as it is, unless one of the first was given.
    pub(super) usual: Option<(&'static [&'static str], &'static [&'static str])>,
    /// The variable by which it finds the folder that the report is written to, if it must.
    pub(in crate::checks) search: Option<&'static str>,
    /// A file that it needs for that: its name, and its text, in which `{report}` is a string.
    pub(in crate::checks) aid: Option<(&'static str, &'static str)>,
    /// What a version that does not know the options names when it says so.
    pub(in crate::checks) refusal: &'static [&'static str],
    /// The project's own configuration may have the report go elsewhere: that is no trick.
    pub(in crate::checks) overruled: bool,
    /// Where the report is.
    pub(in crate::checks) place: Place,
}

impl Row {
    /// A runner that is told a file, of which nothing is known yet.
    const fn new(runner: &'static str, called: &'static [&'static [&'static str]]) -> Self {
        Self {
            runner,
            called,
            with: None,
            unless: &[],
            instead: None,
            adds: &[],
            usual: None,
            search: None,
            aid: None,
            refusal: &[],
            overruled: false,
            place: Place::File,
        }
    }
}

pub(super) static TABLE: &[Row] = &[
    Row {
        // The older family says which file a test stands in.
        adds: &[
            "-p",
            "selvedge_canary",
            "-o",
            "junit_family=xunit1",
            "--junitxml={report}",
        ],
        search: Some("PYTHONPATH"),
        aid: Some((
            "selvedge_canary.py",
            include_str!("aids/selvedge_canary.py"),
        )),
        unless: &["--junitxml", "--junit-xml"],
        refusal: &["--junitxml", "selvedge_canary"],
        ..Row::new(
            "pytest",
            &[&["pytest"], &["py.test"], &["python", "-m", "pytest"]],
        )
    },
    Row {
        // No option of its own has it tell machines anything, so ours stands in its place.
        instead: Some((2, &["{aid}"])),
        aid: Some((
            "selvedge_unittest.py",
            include_str!("aids/selvedge_unittest.py"),
        )),
        refusal: &["selvedge_unittest.py"],
        ..Row::new("unittest", &[&["python", "-m", "unittest"]])
    },
    Row {
        adds: &["--tool-config-file", "selvedge:{aid}"],
        unless: &["--tool-config-file", "--no-run"],
        aid: Some(("nextest.toml", "[profile.default.junit]\npath = {report}\n")),
        refusal: &["--tool-config-file"],
        overruled: true,
        ..Row::new("nextest", &[&["cargo", "nextest", "run"]])
    },
    Row {
        adds: &["--json", "--outputFile={report}"],
        unless: &["--json", "--outputFile", "--listTests", "--showConfig"],
        refusal: &["outputFile"],
        ..Row::new("jest", &[&["jest"]])
    },
    Row {
        adds: &["--reporter=json", "--outputFile.json={report}"],
        unless: &["--outputFile", "--watch"],
        usual: Some((&["--reporter"], &["--reporter=default"])),
        refusal: &["outputFile"],
        ..Row::new("vitest", &[&["vitest", "run"]])
    },
    Row {
        adds: &["--reporter", "{aid}"],
        unless: &[
            "--reporter",
            "-R",
            "--reporter-option",
            "--reporter-options",
            "-O",
        ],
        aid: Some(("reporter.cjs", include_str!("aids/mocha.cjs"))),
        refusal: &["reporter.cjs"],
        ..Row::new("mocha", &[&["mocha"]])
    },
    Row {
        // Its own reports do not say which file a test stands in.
        adds: &[
            "--test-reporter=spec",
            "--test-reporter-destination=stdout",
            "--test-reporter={aid}",
            "--test-reporter-destination={report}",
        ],
        with: Some("--test"),
        unless: &["--test-reporter", "--test-reporter-destination", "--watch"],
        aid: Some(("node.mjs", include_str!("aids/node.mjs"))),
        refusal: &["--test-reporter"],
        ..Row::new("node:test", &[&["node"]])
    },
    Row {
        adds: &["-json"],
        unless: &["-json", "--json"],
        place: Place::Output,
        ..Row::new("go test", &[&["go", "test"]])
    },
    Row {
        adds: &["--format", "json", "--out", "{report}"],
        unless: &["--out", "-o"],
        usual: Some((&["--format", "-f"], &["--format", "progress"])),
        refusal: &["--out"],
        ..Row::new("rspec", &[&["rspec"]])
    },
    Row {
        adds: &["--log-junit", "{report}"],
        unless: &["--log-junit"],
        refusal: &["--log-junit"],
        ..Row::new("phpunit", &[&["phpunit"]])
    },
    Row {
        // Its formatter must be there before mix is.
        instead: Some((2, &["elixir", "-r", "{aid}", "-S", "mix", "test"])),
        adds: &["--formatter", "Selvedge.Formatter"],
        usual: Some((&["--formatter"], &["--formatter", "ExUnit.CLIFormatter"])),
        aid: Some(("selvedge.exs", include_str!("aids/selvedge.exs"))),
        refusal: &["--formatter", "selvedge.exs"],
        overruled: true,
        ..Row::new("mix test", &[&["mix", "test"]])
    },
    Row {
        adds: &["--logger", "trx", "--results-directory", "{folder}"],
        unless: &["--results-directory", "-r", "--list-tests", "-t"],
        refusal: &["--logger", "--results-directory"],
        overruled: true,
        place: Place::Folder(".trx"),
        ..Row::new("dotnet test", &[&["dotnet", "test"]])
    },
    Row {
        place: Place::Below {
            folders: &[
                &["target", "surefire-reports"],
                &["target", "failsafe-reports"],
            ],
            cleared: false,
        },
        ..Row::new("maven", &[&["mvn"], &["mvnw"]])
    },
    Row {
        place: Place::Below {
            folders: &[&["build", "test-results"]],
            cleared: true,
        },
        ..Row::new("gradle", &[&["gradle"], &["gradlew"]])
    },
];

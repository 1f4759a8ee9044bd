//! The test runners that write a report for machines, one row each: the words that call one, what
//! is added to them, and where the report is then found. Data alone; [`super`] reads it.
//!
//! Behind a wrapper (`npm test`, `make test`, a script) no words can be added: there [`WRAPPER`] asks by variables.
//! A runner that neither reaches is read by what it prints: `cargo test`, whose reports are not stable.

/// Where a runner leaves its report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::checks) enum Place {
    /// In the file that it was told.
    File,
    /// In files that it names itself, which end so, in the folder that it was told.
    Folder(&'static str),
    /// In files that begin with `report-`, one for each that begins with `started-`: any number of runners may have
    /// been started.
    Started,
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

/// How a variable of ours is joined with what the environment has already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::checks) enum Join {
    /// In front, with this between.
    Before(char),
    /// Behind, with this between.
    After(char),
    /// Not at all: what is there stays.
    Unless,
}

/// A variable that a runner is started with: its name, and its value, in which `{folder}` is a path.
#[derive(Debug, Clone, Copy)]
pub(in crate::checks) struct Variable {
    pub(in crate::checks) name: &'static str,
    pub(in crate::checks) value: &'static str,
    pub(in crate::checks) join: Join,
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
    /// What it is started with, so that it finds our files.
    pub(in crate::checks) variables: &'static [Variable],
    /// Files that it needs: the name of each, and its text, in which `{report}` is a string and `{folder}` a path. The
    /// first is `{aid}`.
    pub(in crate::checks) aids: &'static [(&'static str, &'static str)],
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
            variables: &[],
            aids: &[],
            refusal: &[],
            overruled: false,
            place: Place::File,
        }
    }
}

/// Puts our modules where Python finds them.
const PYTHON: Variable = Variable {
    name: "PYTHONPATH",
    value: "{folder}",
    join: Join::Before(':'),
};
/// Has each process of Node load our canary.
const NODE: Variable = Variable {
    name: "NODE_OPTIONS",
    value: "--require \"{folder}/selvedge_node.cjs\"",
    join: Join::After(' '),
};
/// Has CTest print what its failed tests have printed.
const CTEST: Variable = Variable {
    name: "CTEST_OUTPUT_ON_FAILURE",
    value: "1",
    join: Join::Unless,
};

/// Has each process of PHP load our canary.
const PHP: Variable = Variable {
    name: "PHP_INI_SCAN_DIR",
    value: ":{folder}",
    join: Join::Unless,
};

const PROBES_PY: (&str, &str) = (
    "selvedge_probes.py",
    include_str!("aids/selvedge_probes.py"),
);
const CANARY_PY: (&str, &str) = (
    "selvedge_canary.py",
    include_str!("aids/selvedge_canary.py"),
);
const CANARY_NODE: (&str, &str) = ("selvedge_node.cjs", include_str!("aids/selvedge_node.cjs"));
const CANARY_RSPEC: (&str, &str) = ("selvedge_rspec.rb", include_str!("aids/selvedge_rspec.rb"));
const CANARY_RUBY: (&str, &str) = ("selvedge_ruby.rb", include_str!("aids/selvedge_ruby.rb"));
const CANARY_PHP: (&str, &str) = ("selvedge_php.php", include_str!("aids/selvedge_php.php"));
const SETTINGS_PHP: (&str, &str) = ("selvedge.ini", include_str!("aids/selvedge.ini"));
const NODE_TEST: (&str, &str) = ("node.mjs", include_str!("aids/node.mjs"));
const MOCHA: (&str, &str) = ("mocha.cjs", include_str!("aids/mocha.cjs"));

/// What asks any runner that is started by another program, and takes options from its environment.
pub(super) static WRAPPER: Row = Row {
    variables: &[
        PYTHON,
        Variable {
            name: "PYTEST_ADDOPTS",
            value: "-pselvedge_canary",
            join: Join::After(' '),
        },
        // tox passes on what it is told to, and appends to what its configuration says.
        Variable {
            name: "TOX_OVERRIDE",
            value: "testenv.pass_env+=PYTHONPATH,PYTEST_ADDOPTS,SELVEDGE_REPORTS",
            join: Join::Unless,
        },
        NODE,
        Variable {
            name: "SPEC_OPTS",
            value: "--require \"{folder}/selvedge_rspec.rb\"",
            join: Join::After(' '),
        },
        Variable {
            name: "RUBYLIB",
            value: "{folder}",
            join: Join::Before(':'),
        },
        Variable {
            name: "RUBYOPT",
            value: "-rselvedge_ruby",
            join: Join::After(' '),
        },
        PHP,
        CTEST,
        Variable {
            name: "SELVEDGE_REPORTS",
            value: "{folder}",
            join: Join::Unless,
        },
    ],
    aids: &[
        CANARY_PY,
        PROBES_PY,
        CANARY_NODE,
        NODE_TEST,
        MOCHA,
        CANARY_RSPEC,
        CANARY_RUBY,
        CANARY_PHP,
        SETTINGS_PHP,
    ],
    refusal: &[
        "selvedge_canary",
        "selvedge_node",
        "selvedge_rspec",
        "selvedge_ruby",
        "selvedge_php",
    ],
    overruled: true,
    place: Place::Started,
    ..Row::new("a test runner", &[])
};

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
        variables: &[PYTHON],
        aids: &[CANARY_PY, PROBES_PY],
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
        aids: &[
            (
                "selvedge_unittest.py",
                include_str!("aids/selvedge_unittest.py"),
            ),
            PROBES_PY,
        ],
        refusal: &["selvedge_unittest.py"],
        ..Row::new("unittest", &[&["python", "-m", "unittest"]])
    },
    Row {
        adds: &["--tool-config-file", "selvedge:{aid}"],
        unless: &["--tool-config-file", "--no-run"],
        aids: &[("nextest.toml", "[profile.default.junit]\npath = {report}\n")],
        refusal: &["--tool-config-file"],
        overruled: true,
        ..Row::new("nextest", &[&["cargo", "nextest", "run"]])
    },
    Row {
        adds: &["--json", "--outputFile={report}"],
        unless: &["--json", "--outputFile", "--listTests", "--showConfig"],
        refusal: &["outputFile"],
        variables: &[NODE],
        aids: &[CANARY_NODE],
        ..Row::new("jest", &[&["jest"]])
    },
    Row {
        adds: &["--reporter=json", "--outputFile.json={report}"],
        unless: &["--outputFile", "--watch"],
        usual: Some((&["--reporter"], &["--reporter=default"])),
        refusal: &["outputFile"],
        variables: &[NODE],
        aids: &[CANARY_NODE],
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
        aids: &[MOCHA, CANARY_NODE],
        refusal: &["mocha.cjs"],
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
        variables: &[NODE],
        aids: &[NODE_TEST, CANARY_NODE],
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
        adds: &[
            "--require",
            "{aid}",
            "--format",
            "json",
            "--out",
            "{report}",
        ],
        aids: &[CANARY_RSPEC],
        unless: &["--out", "-o"],
        usual: Some((&["--format", "-f"], &["--format", "progress"])),
        refusal: &["--out", "selvedge_rspec"],
        ..Row::new("rspec", &[&["rspec"]])
    },
    Row {
        adds: &["--log-junit", "{report}"],
        unless: &["--log-junit"],
        variables: &[PHP],
        aids: &[CANARY_PHP, SETTINGS_PHP],
        refusal: &["--log-junit", "selvedge_php"],
        ..Row::new("phpunit", &[&["phpunit"]])
    },
    Row {
        // Its formatter must be there before mix is.
        instead: Some((2, &["elixir", "-r", "{aid}", "-S", "mix", "test"])),
        adds: &["--formatter", "Selvedge.Formatter"],
        usual: Some((&["--formatter"], &["--formatter", "ExUnit.CLIFormatter"])),
        aids: &[("selvedge.exs", include_str!("aids/selvedge.exs"))],
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
        adds: &["--output-junit", "{report}"],
        unless: &[
            "--output-junit",
            "-N",
            "--show-only",
            "-D",
            "-S",
            "-T",
            "-M",
            "--build-and-test",
        ],
        variables: &[CTEST],
        overruled: true,
        ..Row::new("ctest", &[&["ctest"]])
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

//! The test runners that write a report for machines, one row each: the words that call one, what
//! is added to them, and where the report is then found. Data alone; [`super`] reads it.
//!
//! Behind a wrapper (`npm test`, `make test`, a script) no words can be added: there [`WRAPPER`] asks by variables.
//! A runner that neither reaches is read by what it prints: `cargo test`, whose reports are not stable.

/// Where a runner leaves its report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::checks) enum ReportLocation {
    /// In the file that it was told.
    ReportFile,
    /// In files that it names itself, which end so, in the folder that it was told.
    ReportFolder(&'static str),
    /// In files that begin with `report-`, one for each that begins with `started-`: any number of runners may have
    /// been started.
    PerProcess,
    /// It is the runner's output: `go test` can do no other.
    StandardOutput,
    /// In folders of these names below the project, by default and without being asked.
    InProject {
        /// Names of folders, the nearest to the files last.
        folders: &'static [&'static [&'static str]],
        /// Without its old reports it runs tests that it would call up to date.
        cleared: bool,
    },
}

/// How a variable of ours is joined with what the environment has already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::checks) enum VariableJoin {
    /// In front, with this between.
    Prepend(char),
    /// Behind, with this between.
    Append(char),
    /// Not at all: what is there stays.
    KeepExisting,
}

/// A variable that a runner is started with: its name, and its value, in which `{folder}` is a path.
#[derive(Debug, Clone, Copy)]
pub(in crate::checks) struct RunnerVariable {
    pub(in crate::checks) name: &'static str,
    pub(in crate::checks) value: &'static str,
    pub(in crate::checks) join: VariableJoin,
}

/// One runner.
#[derive(Debug)]
pub(in crate::checks) struct RunnerSpec {
    /// What people call it.
    pub(in crate::checks) name: &'static str,
    /// The words that call it, each way of them; paths and version numbers apart.
    pub(super) invocations: &'static [&'static [&'static str]],
    /// It is only meant with this argument.
    pub(super) required_argument: Option<&'static str>,
    /// It is left alone with one of these arguments: a report is asked for already, or no tests are.
    pub(super) excluding_arguments: &'static [&'static str],
    /// So many of the words that call it, the last ones, give way to these. `{aid}` is a path.
    pub(super) replacement: Option<(usize, &'static [&'static str])>,
    /// What stands right behind the words that call it. `{report}`, `{folder}` and `{aid}` are paths.
    pub(super) added_arguments: &'static [&'static str],
    /// What else it takes for the usual output to stay as it is, unless one of the first was given.
    pub(super) default_arguments: Option<(&'static [&'static str], &'static [&'static str])>,
    /// What it is started with, so that it finds our files.
    pub(in crate::checks) variables: &'static [RunnerVariable],
    /// Files that it needs: the name of each, and its text, in which `{report}` is a string and `{folder}` a path. The
    /// first is `{aid}`.
    pub(in crate::checks) helper_files: &'static [(&'static str, &'static str)],
    /// What a version that does not know the options names when it says so.
    pub(in crate::checks) rejection_markers: &'static [&'static str],
    /// The project's own configuration may have the report go elsewhere: that is no trick.
    pub(in crate::checks) may_be_overridden: bool,
    /// Where the report is.
    pub(in crate::checks) location: ReportLocation,
}

impl RunnerSpec {
    /// A runner that is told a file, of which nothing is known yet.
    const fn new(runner: &'static str, called: &'static [&'static [&'static str]]) -> Self {
        Self {
            name: runner,
            invocations: called,
            required_argument: None,
            excluding_arguments: &[],
            replacement: None,
            added_arguments: &[],
            default_arguments: None,
            variables: &[],
            helper_files: &[],
            rejection_markers: &[],
            may_be_overridden: false,
            location: ReportLocation::ReportFile,
        }
    }
}

/// Puts our modules where Python finds them.
const PYTHON: RunnerVariable = RunnerVariable {
    name: "PYTHONPATH",
    value: "{folder}",
    join: VariableJoin::Prepend(':'),
};
/// Has each process of Node load our canary.
const NODE: RunnerVariable = RunnerVariable {
    name: "NODE_OPTIONS",
    value: "--require \"{folder}/selvedge_node.cjs\"",
    join: VariableJoin::Append(' '),
};
/// Has CTest print what its failed tests have printed.
const CTEST: RunnerVariable = RunnerVariable {
    name: "CTEST_OUTPUT_ON_FAILURE",
    value: "1",
    join: VariableJoin::KeepExisting,
};

/// Has each process of PHP load our canary.
const PHP: RunnerVariable = RunnerVariable {
    name: "PHP_INI_SCAN_DIR",
    value: ":{folder}",
    join: VariableJoin::KeepExisting,
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
pub(super) static WRAPPER: RunnerSpec = RunnerSpec {
    variables: &[
        PYTHON,
        RunnerVariable {
            name: "PYTEST_ADDOPTS",
            value: "-pselvedge_canary",
            join: VariableJoin::Append(' '),
        },
        // tox passes on what it is told to, and appends to what its configuration says.
        RunnerVariable {
            name: "TOX_OVERRIDE",
            value: "testenv.pass_env+=PYTHONPATH,PYTEST_ADDOPTS,SELVEDGE_REPORTS",
            join: VariableJoin::KeepExisting,
        },
        NODE,
        RunnerVariable {
            name: "SPEC_OPTS",
            value: "--require \"{folder}/selvedge_rspec.rb\"",
            join: VariableJoin::Append(' '),
        },
        RunnerVariable {
            name: "RUBYLIB",
            value: "{folder}",
            join: VariableJoin::Prepend(':'),
        },
        RunnerVariable {
            name: "RUBYOPT",
            value: "-rselvedge_ruby",
            join: VariableJoin::Append(' '),
        },
        PHP,
        CTEST,
        RunnerVariable {
            name: "SELVEDGE_REPORTS",
            value: "{folder}",
            join: VariableJoin::KeepExisting,
        },
    ],
    helper_files: &[
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
    rejection_markers: &[
        "selvedge_canary",
        "selvedge_node",
        "selvedge_rspec",
        "selvedge_ruby",
        "selvedge_php",
    ],
    may_be_overridden: true,
    location: ReportLocation::PerProcess,
    ..RunnerSpec::new("a test runner", &[])
};

pub(super) static TABLE: &[RunnerSpec] = &[
    RunnerSpec {
        // The older family says which file a test stands in.
        added_arguments: &[
            "-p",
            "selvedge_canary",
            "-o",
            "junit_family=xunit1",
            "--junitxml={report}",
        ],
        variables: &[PYTHON],
        helper_files: &[CANARY_PY, PROBES_PY],
        excluding_arguments: &["--junitxml", "--junit-xml"],
        rejection_markers: &["--junitxml", "selvedge_canary"],
        ..RunnerSpec::new(
            "pytest",
            &[&["pytest"], &["py.test"], &["python", "-m", "pytest"]],
        )
    },
    RunnerSpec {
        // No option of its own has it tell machines anything, so ours stands in its place.
        replacement: Some((2, &["{aid}"])),
        helper_files: &[
            (
                "selvedge_unittest.py",
                include_str!("aids/selvedge_unittest.py"),
            ),
            PROBES_PY,
        ],
        rejection_markers: &["selvedge_unittest.py"],
        ..RunnerSpec::new("unittest", &[&["python", "-m", "unittest"]])
    },
    RunnerSpec {
        added_arguments: &["--tool-config-file", "selvedge:{aid}"],
        excluding_arguments: &["--tool-config-file", "--no-run"],
        helper_files: &[("nextest.toml", "[profile.default.junit]\npath = {report}\n")],
        rejection_markers: &["--tool-config-file"],
        may_be_overridden: true,
        ..RunnerSpec::new("nextest", &[&["cargo", "nextest", "run"]])
    },
    RunnerSpec {
        added_arguments: &["--json", "--outputFile={report}"],
        excluding_arguments: &["--json", "--outputFile", "--listTests", "--showConfig"],
        rejection_markers: &["outputFile"],
        variables: &[NODE],
        helper_files: &[CANARY_NODE],
        ..RunnerSpec::new("jest", &[&["jest"]])
    },
    RunnerSpec {
        added_arguments: &["--reporter=json", "--outputFile.json={report}"],
        excluding_arguments: &["--outputFile", "--watch"],
        default_arguments: Some((&["--reporter"], &["--reporter=default"])),
        rejection_markers: &["outputFile"],
        variables: &[NODE],
        helper_files: &[CANARY_NODE],
        ..RunnerSpec::new("vitest", &[&["vitest", "run"]])
    },
    RunnerSpec {
        added_arguments: &["--reporter", "{aid}"],
        excluding_arguments: &[
            "--reporter",
            "-R",
            "--reporter-option",
            "--reporter-options",
            "-O",
        ],
        helper_files: &[MOCHA, CANARY_NODE],
        rejection_markers: &["mocha.cjs"],
        ..RunnerSpec::new("mocha", &[&["mocha"]])
    },
    RunnerSpec {
        // Its own reports do not say which file a test stands in.
        added_arguments: &[
            "--test-reporter=spec",
            "--test-reporter-destination=stdout",
            "--test-reporter={aid}",
            "--test-reporter-destination={report}",
        ],
        required_argument: Some("--test"),
        excluding_arguments: &["--test-reporter", "--test-reporter-destination", "--watch"],
        variables: &[NODE],
        helper_files: &[NODE_TEST, CANARY_NODE],
        rejection_markers: &["--test-reporter"],
        ..RunnerSpec::new("node:test", &[&["node"]])
    },
    RunnerSpec {
        added_arguments: &["-json"],
        excluding_arguments: &["-json", "--json"],
        location: ReportLocation::StandardOutput,
        ..RunnerSpec::new("go test", &[&["go", "test"]])
    },
    RunnerSpec {
        added_arguments: &[
            "--require",
            "{aid}",
            "--format",
            "json",
            "--out",
            "{report}",
        ],
        helper_files: &[CANARY_RSPEC],
        excluding_arguments: &["--out", "-o"],
        default_arguments: Some((&["--format", "-f"], &["--format", "progress"])),
        rejection_markers: &["--out", "selvedge_rspec"],
        ..RunnerSpec::new("rspec", &[&["rspec"]])
    },
    RunnerSpec {
        added_arguments: &["--log-junit", "{report}"],
        excluding_arguments: &["--log-junit"],
        variables: &[PHP],
        helper_files: &[CANARY_PHP, SETTINGS_PHP],
        rejection_markers: &["--log-junit", "selvedge_php"],
        ..RunnerSpec::new("phpunit", &[&["phpunit"]])
    },
    RunnerSpec {
        // Its formatter must be there before mix is.
        replacement: Some((2, &["elixir", "-r", "{aid}", "-S", "mix", "test"])),
        added_arguments: &["--formatter", "Selvedge.Formatter"],
        default_arguments: Some((&["--formatter"], &["--formatter", "ExUnit.CLIFormatter"])),
        helper_files: &[("selvedge.exs", include_str!("aids/selvedge.exs"))],
        rejection_markers: &["--formatter", "selvedge.exs"],
        may_be_overridden: true,
        ..RunnerSpec::new("mix test", &[&["mix", "test"]])
    },
    RunnerSpec {
        added_arguments: &["--logger", "trx", "--results-directory", "{folder}"],
        excluding_arguments: &["--results-directory", "-r", "--list-tests", "-t"],
        rejection_markers: &["--logger", "--results-directory"],
        may_be_overridden: true,
        location: ReportLocation::ReportFolder(".trx"),
        ..RunnerSpec::new("dotnet test", &[&["dotnet", "test"]])
    },
    RunnerSpec {
        added_arguments: &["--output-junit", "{report}"],
        excluding_arguments: &[
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
        may_be_overridden: true,
        ..RunnerSpec::new("ctest", &[&["ctest"]])
    },
    RunnerSpec {
        location: ReportLocation::InProject {
            folders: &[
                &["target", "surefire-reports"],
                &["target", "failsafe-reports"],
            ],
            cleared: false,
        },
        ..RunnerSpec::new("maven", &[&["mvn"], &["mvnw"]])
    },
    RunnerSpec {
        location: ReportLocation::InProject {
            folders: &[&["build", "test-results"]],
            cleared: true,
        },
        ..RunnerSpec::new("gradle", &[&["gradle"], &["gradlew"]])
    },
];

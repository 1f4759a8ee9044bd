//! The test runners that write machine-readable reports, one row each: the words of its command, the added arguments,
//! and the location of the report. This file has data only; [`super`] interprets it.
//!
//! Behind a wrapper (`npm test`, `make test`, a script), arguments cannot be added; [`WRAPPER`] requests reports by
//! variables instead. The results of any other runner are read from its output, such as `cargo test`, whose
//! machine-readable reports are not stable.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::checks) enum ReportLocation {
    /// In the file that was named in the arguments.
    ReportFile,
    /// In files with this suffix and any name, in the folder that was named in the arguments.
    ReportFolder(&'static str),
    /// In files that begin with `report-`, one for each file that begins with `started-`, because any number of runners
    /// may have been started.
    PerProcess,
    /// In the standard output: the only choice of `go test`.
    StandardOutput,
    /// In folders of these names below the project, which the runner writes by default.
    InProject {
        /// Path suffixes of the folders.
        folders: &'static [&'static [&'static str]],
        /// Whether old reports have to be removed, because the runner would otherwise skip tests that are up to date.
        cleared: bool,
    },
}

/// How Selvedge's value of a variable is joined with an existing value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::checks) enum VariableJoin {
    /// Before the existing value, with this separator.
    Prepend(char),
    /// After the existing value, with this separator.
    Append(char),
    /// The existing value is not changed.
    KeepExisting,
}

/// A variable that a runner is started with; `{folder}` in its value is replaced by a path.
#[derive(Debug, Clone, Copy)]
pub(in crate::checks) struct RunnerVariable {
    pub(in crate::checks) name: &'static str,
    pub(in crate::checks) value: &'static str,
    pub(in crate::checks) join: VariableJoin,
}

#[derive(Debug)]
pub(in crate::checks) struct RunnerSpec {
    /// Name in messages.
    pub(in crate::checks) name: &'static str,
    /// The words of its command, all variants, without paths and version numbers.
    pub(super) invocations: &'static [&'static [&'static str]],
    /// The runner is only recognized with this argument.
    pub(super) required_argument: Option<&'static str>,
    /// The runner is not changed if it has one of these arguments, because it already writes a report or runs no tests.
    pub(super) excluding_arguments: &'static [&'static str],
    /// Number of the last words of the command that are replaced, and their replacement; `{aid}` is a path.
    pub(super) replacement: Option<(usize, &'static [&'static str])>,
    /// Arguments added right after the words of the command; `{report}`, `{folder}` and `{aid}` are paths.
    pub(super) added_arguments: &'static [&'static str],
    /// Arguments that preserve the usual output, added unless one of the first list is present.
    pub(super) default_arguments: Option<(&'static [&'static str], &'static [&'static str])>,
    /// Variables by which the runner finds Selvedge's files.
    pub(in crate::checks) variables: &'static [RunnerVariable],
    /// Names and texts of files that the runner needs; in a text, `{report}` is a string and `{folder}` a path. The
    /// first file is `{aid}`.
    pub(in crate::checks) helper_files: &'static [(&'static str, &'static str)],
    /// Texts in the error output of a version that does not support the options.
    pub(in crate::checks) rejection_markers: &'static [&'static str],
    /// Whether the project's configuration may legitimately write the report elsewhere.
    pub(in crate::checks) may_be_overridden: bool,
    /// Where the report is written.
    pub(in crate::checks) location: ReportLocation,
}

impl RunnerSpec {
    /// Creates a runner that writes a report file, without any options.
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

/// Makes Python find Selvedge's modules.
const PYTHON: RunnerVariable = RunnerVariable {
    name: "PYTHONPATH",
    value: "{folder}",
    join: VariableJoin::Prepend(':'),
};
/// Makes each Node process load the canary.
const NODE: RunnerVariable = RunnerVariable {
    name: "NODE_OPTIONS",
    value: "--require \"{folder}/selvedge_node.cjs\"",
    join: VariableJoin::Append(' '),
};
/// Makes CTest print the output of failed tests.
const CTEST: RunnerVariable = RunnerVariable {
    name: "CTEST_OUTPUT_ON_FAILURE",
    value: "1",
    join: VariableJoin::KeepExisting,
};

/// Makes each PHP process load the canary.
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

/// Requests reports from any runner that is started by another program and takes options from its environment.
pub(super) static WRAPPER: RunnerSpec = RunnerSpec {
    variables: &[
        PYTHON,
        RunnerVariable {
            name: "PYTEST_ADDOPTS",
            value: "-pselvedge_canary",
            join: VariableJoin::Append(' '),
        },
        // tox passes only the listed variables on, and appends these to those in its configuration.
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
        // The older family records the file of each test.
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
        // unittest cannot write a machine-readable report, so Selvedge's runner replaces it.
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
        // Node's own reporters omit the file of a test.
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
        // The formatter must be loaded before mix.
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

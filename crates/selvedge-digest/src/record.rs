//! The records of a log: failures, test counts and test ids.
//!
//! They are wire types (serde, JSON Schema), shared by reports, events and the digest, so fields are only
//! ever added. Reading is lenient: unknown fields are ignored, missing ones get their default, an unknown
//! [`FailureKind`] keeps its name. This module parses no logs.

#[cfg(feature = "schema")]
use std::borrow::Cow;

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The longest [`Failure::summary`], in characters.
pub const SUMMARY_CHARS: usize = 100;

/// One failure, as precisely as the tool reported it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case", default)]
pub struct Failure {
    /// Kind of the failure.
    pub kind: FailureKind,
    /// Id of the failed test as its runner writes it, so that it can be run alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The file, as the tool wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in `file`, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column in `line`, counted as the tool counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The tool's own code or rule: `E0308`, `TS2322`, `no-unused-vars`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// One line of at most [`SUMMARY_CHARS`] characters.
    pub summary: String,
    /// The tool's message, if it contains more than the summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The lines of the log that explain the failure: source, diff, frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
    /// The tool that reported it: `rustc`, `pytest`, `tsc`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Number of times that the same failure was reported.
    pub count: u32,
    /// The kind of source that the record was read from.
    pub source: FailureSource,
}

/// The kind of a [`Failure`]; written as a snake-case string, read leniently.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FailureKind {
    /// The code does not build. `build` is read as an alias.
    Compile,
    /// A test failed.
    Test,
    /// A linter or formatter reported a problem.
    Lint,
    /// A type checker reported a problem.
    Type,
    /// A program ended with an error of its own.
    Runtime,
    /// A timeout was reached.
    Timeout,
    /// The environment failed: network, disk, a missing program.
    Infra,
    /// A failure that fits none of the others.
    #[default]
    Custom,
    /// A kind that this version does not know, kept as it was written.
    Unknown(String),
}

impl FailureKind {
    /// The kinds that this version writes.
    pub const KNOWN: [Self; 8] = [
        Self::Compile,
        Self::Test,
        Self::Lint,
        Self::Type,
        Self::Runtime,
        Self::Timeout,
        Self::Infra,
        Self::Custom,
    ];

    /// The name on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Compile => "compile",
            Self::Test => "test",
            Self::Lint => "lint",
            Self::Type => "type",
            Self::Runtime => "runtime",
            Self::Timeout => "timeout",
            Self::Infra => "infra",
            Self::Custom => "custom",
            Self::Unknown(name) => name,
        }
    }
}

impl From<&str> for FailureKind {
    fn from(name: &str) -> Self {
        match name {
            "build" => Self::Compile,
            name => Self::KNOWN
                .into_iter()
                .find(|kind| kind.as_str() == name)
                .unwrap_or_else(|| Self::Unknown(name.to_owned())),
        }
    }
}

impl Serialize for FailureKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for FailureKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|name| Self::from(name.as_str()))
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for FailureKind {
    fn schema_name() -> Cow<'static, str> {
        "FailureKind".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let known: Vec<&str> = Self::KNOWN.iter().map(Self::as_str).collect();
        json_schema!({
            "description": "The sort of a failure; readers accept other names, and `build` for `compile`",
            "type": "string",
            "examples": known,
        })
    }
}

/// The kind of source of a [`Failure`], most reliable first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FailureSource {
    /// A machine format: JSON, JUnit XML, SARIF, TAP.
    Structured,
    /// The text of a tool whose format is known.
    Text,
    /// General signals in the output of an unknown tool.
    #[default]
    #[serde(other)]
    Fallback,
}

/// The results of the test runners in a log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case", default)]
pub struct TestSummary {
    /// Tests with a result: passed or failed.
    pub executed: u64,
    /// Tests that passed.
    pub passed: u64,
    /// Failed tests, including errors in their setup.
    pub failed: u64,
    /// Tests that were skipped, ignored, or marked as to do.
    pub skipped: u64,
    /// Whether every runner that started also wrote its closing summary. Otherwise the counts cover only the
    /// output before its end.
    pub complete: bool,
    /// Passed tests are only reported by package, without names or counts. Failed tests are named.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_package: bool,
    /// Ids of failed tests.
    pub failed_ids: TestIds,
    /// Ids of passed tests, where the runner prints them.
    pub passed_ids: TestIds,
    /// Ids of skipped tests, where the runner prints them.
    pub skipped_ids: TestIds,
    /// The runners of these tests, sorted by name, and how completely each one's tests are named. Empty if
    /// the summary was not read from a runner's output or report.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub readers: Vec<TestReader>,
}

impl TestSummary {
    /// Whether ids can be compared with those of another run: the same readers read both, in the same mode.
    pub fn has_same_readers(&self, other: &Self) -> bool {
        let names = |summary: &Self| {
            let readers = summary.readers.iter();
            readers
                .map(|reader| (reader.name.clone(), reader.mode.clone()))
                .collect::<Vec<_>>()
        };
        names(self) == names(other)
    }

    /// Whether `failed_ids` holds every failed test, according to the runners' closing lines.
    pub fn names_failed(&self) -> bool {
        self.failed_ids.has_exactly(self.failed)
            && self.readers.iter().all(|reader| reader.names_failed)
    }

    /// Whether the lists hold every executed test, according to the runners' closing lines.
    pub fn names_executed(&self) -> bool {
        let passed = self.readers.iter().all(|reader| reader.names_passed);
        passed && self.passed_ids.has_exactly(self.passed) && self.names_failed()
    }

    /// Whether the lists hold every test, including skipped ones, according to the runners' closing lines.
    pub fn names_all(&self) -> bool {
        let skipped = self.readers.iter().all(|reader| reader.names_skipped);
        skipped && self.skipped_ids.has_exactly(self.skipped) && self.names_executed()
    }
}

/// A runner whose tests were read, and how completely they are named. Ids of two runs are comparable only if
/// the same readers read them in the same mode, and if there are as many as the runner's closing line states.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case", default)]
pub struct TestReader {
    /// The runner: `pytest`, `node:test`, `junit`.
    pub name: String,
    /// The output mode that ids were read from: `text`, `verbose`, `summary`, `report`.
    pub mode: String,
    /// As many passed tests are named as the closing line states.
    pub names_passed: bool,
    /// As many failed tests are named as the closing line states.
    pub names_failed: bool,
    /// As many skipped tests are named as the closing line states.
    pub names_skipped: bool,
}

/// A bounded list of test ids, with the number of omitted ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case", default)]
pub struct TestIds {
    /// The ids in the order of the log, each as its runner writes it. If that is not unique and a
    /// machine-readable report names the test's file or package, the id begins with it.
    pub ids: Vec<String>,
    /// Number of ids that did not fit into the list.
    pub omitted: u64,
}

impl TestIds {
    /// Maximum size of the ids in one list, in bytes.
    pub const MAX_BYTES: usize = 2 << 20;

    /// Whether every id is listed.
    pub fn is_complete(&self) -> bool {
        self.omitted == 0
    }

    /// Whether the list is complete and holds this many ids.
    fn has_exactly(&self, count: u64) -> bool {
        self.is_complete() && u64::try_from(self.ids.len()).is_ok_and(|listed| listed == count)
    }
}

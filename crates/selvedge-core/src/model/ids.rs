//! Identifiers: UUIDv7 for tasks and runs, a content hash for trees.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Text that is not an identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid identifier `{0}`: expected a UUID")]
pub struct ParseIdError(String);

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// Wraps an existing UUID: this crate does not create any.
            pub const fn new(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// The UUID.
            pub const fn uuid(self) -> Uuid {
                self.0
            }

            /// The last eight hexadecimal digits: the random end of a UUIDv7, short enough to read aloud. Accepted
            /// wherever a run is named, if it is unambiguous.
            pub fn short(&self) -> String {
                let full = self.0.simple().to_string();
                full.get(24..).unwrap_or(&full).to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::parse_str(text).map(Self).map_err(|_| ParseIdError(text.to_owned()))
            }
        }
    };
}

uuid_id! {
    /// A task.
    TaskId
}

uuid_id! {
    /// A run: a task carried to one outcome.
    RunId
}

/// On a hub a task has one run, which has the task's own id.
impl From<TaskId> for RunId {
    fn from(task: TaskId) -> Self {
        Self(task.0)
    }
}

/// The content hash of a snapshot's tree, as used by the shadow git directory.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct TreeId(String);

impl TreeId {
    /// Wraps the hexadecimal name of a tree.
    pub fn new(hex: impl Into<String>) -> Self {
        Self(hex.into())
    }

    /// The hexadecimal name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TreeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

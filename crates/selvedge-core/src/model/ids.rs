//! Identifiers: UUIDv7 for tasks and runs, a content hash for trees.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
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

/// Text that is not the id of a tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid snapshot id {0:?}; use the 64 hexadecimal digits that were reported")]
pub struct ParseTreeIdError(String);

/// The content hash of a snapshot's tree, as used by the shadow git directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct TreeId(String);

impl TreeId {
    const HEX_DIGITS: usize = 64;

    /// The 64 hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// An id for tests: the bytes of a name of at most 32 bytes.
    #[cfg(test)]
    pub(crate) fn of_name(name: &str) -> Self {
        Self(format!("{:0>64}", crate::format::hex(name.as_bytes())))
    }
}

impl fmt::Display for TreeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for TreeId {
    type Error = ParseTreeIdError;

    // Invariant: a tree id is hexadecimal, so it cannot be taken for an option in an argument list.
    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_hex = text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if is_hex && text.len() == Self::HEX_DIGITS {
            Ok(Self(text))
        } else {
            Err(ParseTreeIdError(text))
        }
    }
}

impl FromStr for TreeId {
    type Err = ParseTreeIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.to_owned().try_into()
    }
}

impl<'de> Deserialize<'de> for TreeId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.try_into().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tree_id_is_never_an_option() {
        for text in [
            "",
            "--output=/etc/passwd",
            "HEAD",
            &"A".repeat(64),
            &"a".repeat(63),
        ] {
            assert!(
                text.parse::<TreeId>().is_err(),
                "{text:?} was taken for a tree id"
            );
            let json = serde_json::json!(text);
            assert!(serde_json::from_value::<TreeId>(json).is_err(), "{text:?}");
        }
        assert!("0123456789abcdef".repeat(4).parse::<TreeId>().is_ok());
    }
}

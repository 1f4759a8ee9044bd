//! One source of settings, parsed but not yet validated.

use std::path::PathBuf;
use std::sync::Arc;

use super::diagnostic::{ConfigError, Diagnostic};
use super::source::{ConfigSource, FileOwner};
use super::tree::ConfigNode;

/// One source of settings.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigLayer {
    pub(super) tree: ConfigNode,
    pub(super) warnings: Vec<Diagnostic>,
}

impl ConfigLayer {
    /// The embedded `default.toml`.
    pub(super) fn built_in() -> Result<Self, ConfigError> {
        ConfigNode::parse(&Arc::new(ConfigSource::BuiltIn)).map(Self::from)
    }

    /// Parses the text of a file. Fails if it is not valid TOML; [`resolve`](super::resolve) checks its keys.
    pub fn file(
        owner: FileOwner,
        path: impl Into<PathBuf>,
        text: String,
    ) -> Result<Self, ConfigError> {
        ConfigNode::parse(&Arc::new(ConfigSource::File {
            owner,
            path: path.into(),
            text,
        }))
        .map(Self::from)
    }
}

impl From<ConfigNode> for ConfigLayer {
    fn from(tree: ConfigNode) -> Self {
        Self {
            tree,
            warnings: Vec::new(),
        }
    }
}

//! One source of settings, read but not yet judged.

use std::path::PathBuf;
use std::sync::Arc;

use super::diagnostic::{ConfigError, Diagnostic};
use super::place::{FileOwner, Source};
use super::tree::Node;

/// One source of settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    pub(super) tree: Node,
    pub(super) warnings: Vec<Diagnostic>,
}

impl Layer {
    /// The embedded `default.toml`.
    pub(super) fn built_in() -> Result<Self, ConfigError> {
        Node::parse(&Arc::new(Source::BuiltIn)).map(Self::from)
    }

    /// A file's text. Fails when it is no TOML; what its keys are is looked at by
    /// [`resolve`](super::resolve).
    pub fn file(
        owner: FileOwner,
        path: impl Into<PathBuf>,
        text: String,
    ) -> Result<Self, ConfigError> {
        Node::parse(&Arc::new(Source::File {
            owner,
            path: path.into(),
            text,
        }))
        .map(Self::from)
    }
}

impl From<Node> for Layer {
    fn from(tree: Node) -> Self {
        Self {
            tree,
            warnings: Vec::new(),
        }
    }
}

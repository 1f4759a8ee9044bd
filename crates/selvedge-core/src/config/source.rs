//! The position of a value: its layer and, for files, its byte range in the text.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use super::DEFAULT_TOML;

/// The owner of a file. A person's own file may set more than a repository's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOwner {
    /// `~/.config/selvedge/config.toml`.
    Person,
    /// `selvedge.toml`.
    Repository,
}

/// The source of a layer.
#[derive(Debug, PartialEq, Eq)]
pub enum ConfigSource {
    /// The embedded defaults.
    BuiltIn,
    /// A file.
    File {
        /// Its owner.
        owner: FileOwner,
        /// Path as displayed.
        path: PathBuf,
        /// Its content.
        text: String,
    },
    /// An environment variable, by name.
    Environment(String),
    /// A flag of the command line, with its dashes.
    Flag(&'static str),
}

impl ConfigSource {
    /// Returns the text that spans refer to, if there is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::BuiltIn => Some(DEFAULT_TOML),
            Self::File { text, .. } => Some(text),
            Self::Environment(_) | Self::Flag(_) => None,
        }
    }

    /// Whether it is a repository's file: written by the author of the code, who is not trusted.
    pub fn is_repository(&self) -> bool {
        matches!(
            self,
            Self::File {
                owner: FileOwner::Repository,
                ..
            }
        )
    }
}

/// A byte range of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceSpan {
    /// The source.
    pub source: Arc<ConfigSource>,
    /// Byte range in its text; empty if there is no text.
    pub span: Range<usize>,
}

impl SourceSpan {
    /// Creates a span of the whole source.
    pub(super) fn whole(source: &Arc<ConfigSource>) -> Self {
        Self {
            source: Arc::clone(source),
            span: 0..0,
        }
    }

    /// Line and column, counted from 1, columns in characters.
    pub fn line_and_column(&self) -> Option<(usize, usize)> {
        let before = self.source.text()?.get(..self.span.start)?;
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.matches('\n').count() + 1;
        Some((line, before[line_start..].chars().count() + 1))
    }

    /// Returns the origin in the form that is displayed.
    pub fn origin(&self) -> Origin {
        match &*self.source {
            ConfigSource::BuiltIn => Origin::Default,
            ConfigSource::File { path, .. } => {
                let line = self.line_and_column().map_or(1, |(line, _)| line);
                Origin::File {
                    path: path.clone(),
                    line,
                }
            }
            ConfigSource::Environment(name) => Origin::Environment { name: name.clone() },
            ConfigSource::Flag(name) => Origin::Flag { name },
        }
    }
}

impl fmt::Display for SourceSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&*self.source, self.line_and_column()) {
            (ConfigSource::File { path, .. }, Some((line, column))) => {
                write!(f, "{}:{line}:{column}", path.display())
            }
            (ConfigSource::File { path, .. }, None) => write!(f, "{}", path.display()),
            (ConfigSource::BuiltIn, _) => f.write_str("the built-in defaults"),
            (ConfigSource::Environment(name), _) => f.write_str(name),
            (ConfigSource::Flag(name), _) => f.write_str(name),
        }
    }
}

/// The origin of an effective value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "from")]
pub enum Origin {
    /// The built-in default.
    Default,
    /// A file.
    File {
        /// Path as displayed.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
    },
    /// An environment variable.
    Environment {
        /// Its name.
        name: String,
    },
    /// A flag.
    Flag {
        /// With its dashes.
        name: &'static str,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |path: &Path| path.display().to_string();
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", shown(path)),
            Self::Environment { name } => write!(f, "env {name}"),
            Self::Flag { name } => write!(f, "flag {name}"),
        }
    }
}

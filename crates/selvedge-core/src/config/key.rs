//! The path of a setting, as it is written: `verification.timeout`, `checks[1].run`.

use std::fmt;

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum KeySegment {
    /// A key of a table.
    Name(String),
    /// An element of a list, counted from 0.
    Index(usize),
}

/// A path from the root of the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct SettingKey(pub(super) Vec<KeySegment>);

impl SettingKey {
    /// Parses a dotted path of plain names.
    pub(super) fn dotted(path: &str) -> Self {
        Self(
            path.split('.')
                .map(|name| KeySegment::Name(name.to_owned()))
                .collect(),
        )
    }

    /// Returns the path of a key in this table.
    pub(super) fn name(&self, name: &str) -> Self {
        self.then(KeySegment::Name(name.to_owned()))
    }

    /// Returns the path of an element of this list.
    pub(super) fn index(&self, index: usize) -> Self {
        self.then(KeySegment::Index(index))
    }

    /// Splits off the last segment: returns the parent, and the last segment's name if it has one.
    pub(super) fn split_last(&self) -> (Self, Option<&str>) {
        match self.0.split_last() {
            Some((KeySegment::Name(name), parents)) => (Self(parents.to_vec()), Some(name)),
            Some((KeySegment::Index(_), parents)) => (Self(parents.to_vec()), None),
            None => (Self::default(), None),
        }
    }

    fn then(&self, segment: KeySegment) -> Self {
        let mut segments = self.0.clone();
        segments.push(segment);
        Self(segments)
    }
}

impl fmt::Display for SettingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, segment) in self.0.iter().enumerate() {
            match segment {
                KeySegment::Index(index) => write!(f, "[{index}]")?,
                KeySegment::Name(name) => {
                    if position > 0 {
                        f.write_str(".")?;
                    }
                    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
                    if !name.is_empty() && name.chars().all(bare) {
                        f.write_str(name)?;
                    } else {
                        write!(f, "{name:?}")?;
                    }
                }
            }
        }
        Ok(())
    }
}

impl From<&serde_ignored::Path<'_>> for SettingKey {
    fn from(path: &serde_ignored::Path<'_>) -> Self {
        use serde_ignored::Path;
        match path {
            Path::Root => Self::default(),
            Path::Seq { parent, index } => Self::from(*parent).index(*index),
            Path::Map { parent, key } => Self::from(*parent).name(key),
            Path::Some { parent }
            | Path::NewtypeStruct { parent }
            | Path::NewtypeVariant { parent } => Self::from(*parent),
        }
    }
}

impl From<&serde_path_to_error::Path> for SettingKey {
    fn from(path: &serde_path_to_error::Path) -> Self {
        use serde_path_to_error::Segment as Step;
        let step = |step: &Step| match step {
            Step::Seq { index } => Some(KeySegment::Index(*index)),
            Step::Map { key } => Some(KeySegment::Name(key.clone())),
            Step::Enum { .. } | Step::Unknown => None,
        };
        Self(path.iter().filter_map(step).collect())
    }
}

//! The path of a setting, as people write it: `verification.timeout`, `checks[1].run`.

use std::fmt;

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum KeySegment {
    /// A key of a table.
    Name(String),
    /// An element of a list, counted from zero.
    Index(usize),
}

/// A path from the top of the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct SettingKey(pub(super) Vec<KeySegment>);

impl SettingKey {
    /// From a dotted path of plain names.
    pub(super) fn dotted(path: &str) -> Self {
        Self(
            path.split('.')
                .map(|name| KeySegment::Name(name.to_owned()))
                .collect(),
        )
    }

    /// The path one table further down.
    pub(super) fn name(&self, name: &str) -> Self {
        self.then(KeySegment::Name(name.to_owned()))
    }

    /// The path of an element.
    pub(super) fn index(&self, index: usize) -> Self {
        self.then(KeySegment::Index(index))
    }

    /// What holds the last step, and the last step's name where it has one.
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

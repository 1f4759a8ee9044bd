//! Values that know their origin, and how one layer is overlaid on another.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::diagnostic::{ConfigError, Diagnostic};
use super::key::{KeySegment, SettingKey};
use super::source::{ConfigSource, SourceSpan};

/// A value, its position, and the position of its key.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ConfigNode {
    pub(super) span: SourceSpan,
    pub(super) key_span: SourceSpan,
    pub(super) value: ConfigValue,
}

/// The three kinds of values that layering distinguishes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ConfigValue {
    /// Text, number, boolean or date.
    Scalar(toml::Value),
    /// Replaced as a whole by a later layer.
    List(Vec<ConfigNode>),
    /// Overlaid key by key.
    Table(BTreeMap<String, ConfigNode>),
}

impl ConfigNode {
    /// Creates a node for a value that has no source text (environment, flags).
    pub(super) fn new(source: &Arc<ConfigSource>, value: ConfigValue) -> Self {
        Self {
            span: SourceSpan::whole(source),
            key_span: SourceSpan::whole(source),
            value,
        }
    }

    /// Creates an empty table.
    pub(super) fn empty(source: &Arc<ConfigSource>) -> Self {
        Self::new(source, ConfigValue::Table(BTreeMap::new()))
    }

    /// Parses TOML text without checking its keys.
    pub(super) fn parse(source: &Arc<ConfigSource>) -> Result<Self, ConfigError> {
        let failed = |error: &toml::de::Error| {
            let place = SourceSpan {
                source: Arc::clone(source),
                span: error.span().unwrap_or(0..0),
            };
            ConfigError::from(Diagnostic::new(place, error.message()))
        };
        let table = DeTable::parse(source.text().unwrap_or_default()).map_err(|e| failed(&e))?;
        let span = table.span();
        let whole = Spanned::new(span.clone(), DeValue::Table(table.into_inner()));
        Self::from_spanned(source, &Spanned::new(span, ""), whole).map_err(|e| failed(&e))
    }

    fn from_spanned<K>(
        source: &Arc<ConfigSource>,
        key: &Spanned<K>,
        value: Spanned<DeValue<'_>>,
    ) -> Result<Self, toml::de::Error> {
        let span = value.span();
        let at = |span| SourceSpan {
            source: Arc::clone(source),
            span,
        };
        let (place, key_place) = (at(span.clone()), at(key.span()));
        let value = match value.into_inner() {
            DeValue::Array(elements) => {
                let element = |element: Spanned<DeValue<'_>>| {
                    Self::from_spanned(source, &Spanned::new(element.span(), ""), element)
                };
                ConfigValue::List(
                    elements
                        .into_iter()
                        .map(element)
                        .collect::<Result<_, _>>()?,
                )
            }
            DeValue::Table(entries) => {
                let entry = |(key, value): (Spanned<_>, _)| {
                    let node = Self::from_spanned(source, &key, value)?;
                    Ok((String::from(key.into_inner()), node))
                };
                ConfigValue::Table(entries.into_iter().map(entry).collect::<Result<_, _>>()?)
            }
            scalar => {
                let scalar = ValueDeserializer::from(Spanned::new(span, scalar));
                ConfigValue::Scalar(toml::Value::deserialize(scalar)?)
            }
        };
        Ok(Self {
            span: place,
            key_span: key_place,
            value,
        })
    }

    /// Overlays `over`: tables key by key, other values replaced.
    pub(super) fn overlay(self, over: Self) -> Self {
        match (self.value, over.value) {
            (ConfigValue::Table(mut entries), ConfigValue::Table(later)) => {
                for (key, node) in later {
                    let merged = match entries.remove(&key) {
                        Some(below) => below.overlay(node),
                        None => node,
                    };
                    entries.insert(key, merged);
                }
                Self {
                    value: ConfigValue::Table(entries),
                    ..over
                }
            }
            (_, value) => Self { value, ..over },
        }
    }

    /// Sets the value at a dotted path of plain names, creating tables as needed.
    pub(super) fn set(&mut self, key: &SettingKey, node: Self) {
        let source = Arc::clone(&node.span.source);
        let mut node = node;
        for segment in key.0.iter().rev() {
            if let KeySegment::Name(name) = segment {
                let table = BTreeMap::from([(name.clone(), node)]);
                node = Self::new(&source, ConfigValue::Table(table));
            }
        }
        let below = std::mem::replace(self, Self::empty(&source));
        *self = below.overlay(node);
    }

    /// The node at a path.
    pub(super) fn at(&self, key: &SettingKey) -> Option<&Self> {
        key.0
            .iter()
            .try_fold(self, |node, segment| match (segment, &node.value) {
                (KeySegment::Name(name), ConfigValue::Table(entries)) => entries.get(name),
                (KeySegment::Index(index), ConfigValue::List(elements)) => elements.get(*index),
                _ => None,
            })
    }

    /// The node at a path, or its nearest existing ancestor, so that a message always has a position.
    pub(super) fn nearest(&self, key: &SettingKey) -> &Self {
        (0..=key.0.len())
            .rev()
            .find_map(|length| self.at(&SettingKey(key.0[..length].to_vec())))
            .unwrap_or(self)
    }

    /// Removes a node.
    pub(super) fn remove(&mut self, key: &SettingKey) -> Option<Self> {
        let (last, parents) = key.0.split_last()?;
        let parent =
            parents
                .iter()
                .try_fold(self, |node, segment| match (segment, &mut node.value) {
                    (KeySegment::Name(name), ConfigValue::Table(entries)) => entries.get_mut(name),
                    (KeySegment::Index(index), ConfigValue::List(elements)) => {
                        elements.get_mut(*index)
                    }
                    _ => None,
                })?;
        match (last, &mut parent.value) {
            (KeySegment::Name(name), ConfigValue::Table(entries)) => entries.remove(name),
            _ => None,
        }
    }

    /// All values below a path that are not tables, with their paths; a list counts as a value.
    pub(super) fn leaves(&self, at: &SettingKey) -> Vec<(SettingKey, &Self)> {
        match &self.value {
            ConfigValue::Table(entries) => entries
                .iter()
                .flat_map(|(name, node)| node.leaves(&at.name(name)))
                .collect(),
            ConfigValue::Scalar(_) | ConfigValue::List(_) => vec![(at.clone(), self)],
        }
    }

    /// Returns the plain value.
    pub(super) fn to_toml(&self) -> toml::Value {
        match &self.value {
            ConfigValue::Scalar(value) => value.clone(),
            ConfigValue::List(elements) => {
                toml::Value::Array(elements.iter().map(Self::to_toml).collect())
            }
            ConfigValue::Table(entries) => toml::Value::Table(
                entries
                    .iter()
                    .map(|(key, node)| (key.clone(), node.to_toml()))
                    .collect(),
            ),
        }
    }
}

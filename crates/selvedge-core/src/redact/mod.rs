//! Secrets taken out of what is kept, shown and sent: values that are known, in every encoding that
//! they are usually met in, and whatever has the form of a well-known kind of key. Pure: who knows
//! which values are secret, and where a flow is cleaned, is said elsewhere.
//!
//! Two scans look for short *keys*: the prefixes of the formats, and the first bytes of each form of a
//! value. What stands behind a key decides. So neither depends on how long the secrets are, and text
//! without a key costs little more than reading it.

mod formats;
mod forms;
mod json;
mod known;
mod sieve;
mod stream;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, LazyLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};

use self::formats::{FORMATS, Format, Run};
use self::forms::{Form, forms};
pub use self::json::Unredactable;
pub use self::known::{is_secret_name, is_worth_redacting};
use self::sieve::{KEY, Sieve};
pub use self::stream::Stream;

/// Values shorter than this are never taken for secrets, in bytes: `1` would be redacted everywhere.
pub const SHORTEST: usize = 8;

/// A value that must not be shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    /// What stands in its place: `[redacted:NAME]`.
    pub name: String,
    /// The value itself.
    pub value: Vec<u8>,
}

impl Secret {
    /// A value, and the name that stands in its place.
    pub fn new(name: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Secret({})", self.name)
    }
}

/// Finds secrets. Cheap to clone.
#[derive(Clone)]
pub struct Redactor {
    compiled: Arc<Compiled>,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Redactor({} forms)", self.compiled.needles.len())
    }
}

impl Default for Redactor {
    /// Knows no value, only the well-known formats.
    fn default() -> Self {
        static FORMATS_ALONE: LazyLock<Redactor> = LazyLock::new(|| Redactor::new(&[]));
        FORMATS_ALONE.clone()
    }
}

/// A form of a value, and what it is called.
struct Needle {
    name: Arc<str>,
    form: Form,
}

struct Compiled {
    sieve: Sieve,
    needles: Vec<Needle>,
    /// For each key of the sieve, the needles that begin with it.
    behind: Vec<Vec<usize>>,
    /// All keys, sorted: those of values and of formats.
    keys: Vec<Vec<u8>>,
}

/// The prefixes of the formats.
struct Prefixes {
    /// Reads past what holds none quickly, and takes long to begin. Building it fails only where the
    /// prefixes have no end, which they have.
    far: Option<AhoCorasick>,
    /// The other way round.
    near: Option<AhoCorasick>,
    /// Bytes of the longest.
    longest: usize,
    /// For each format, those whose prefix begins its own, itself among them.
    within: Vec<Vec<usize>>,
}

/// How far behind a prefix the next one is looked for as if it were near.
const NEAR: usize = 128;

impl Prefixes {
    /// The first prefix from a place on, and whose it is. Where one stood just before, as in output full of
    /// links, the next is seldom far.
    fn find(&self, text: &[u8], from: usize, is_first: bool) -> Option<(usize, usize)> {
        let mut from = from;
        if !is_first {
            let end = text.len().min(from + NEAR + self.longest);
            let hit = self.near.as_ref()?.find(Input::new(text).range(from..end));
            // One that begins behind may be cut off.
            if let Some(hit) = hit.filter(|hit| hit.start() < from + NEAR) {
                return Some((hit.start(), hit.pattern().as_usize()));
            }
            from = text.len().min(from + NEAR);
        }
        let hit = self.far.as_ref()?.find(Input::new(text).range(from..))?;
        Some((hit.start(), hit.pattern().as_usize()))
    }
}

static PREFIXES: LazyLock<Prefixes> = LazyLock::new(|| {
    let mut automaton = AhoCorasick::builder();
    automaton.match_kind(MatchKind::LeftmostLongest);
    let prefixes = || FORMATS.iter().map(|it| it.prefix);
    let within = |one: &Format| {
        let begins = |(_, other): &(usize, &Format)| one.prefix.starts_with(other.prefix);
        let all = FORMATS.iter().enumerate().filter(begins);
        all.map(|(index, _)| index).collect()
    };
    Prefixes {
        far: automaton.build(prefixes()).ok(),
        near: automaton
            .prefilter(false)
            .kind(Some(AhoCorasickKind::DFA))
            .build(prefixes())
            .ok(),
        longest: prefixes().map(str::len).max().unwrap_or(0),
        within: FORMATS.iter().map(within).collect(),
    }
});

/// What a needle makes of the text that begins at one of its keys.
enum Reach {
    /// It does not stand there.
    No,
    /// More text decides.
    Unsure,
    /// It stands there.
    Yes {
        /// The first byte that is secret, counted from the key.
        from: usize,
        /// The first byte that is not; behind it `on` goes on.
        to: usize,
        /// What else belongs to it, byte by byte.
        on: Option<Run>,
    },
}

impl Redactor {
    /// Looks for these values and for all well-known formats. Values shorter than [`SHORTEST`] are
    /// passed over.
    pub fn new(secrets: &[Secret]) -> Self {
        let mut needles = Vec::new();
        let mut seen = BTreeSet::new();
        for secret in secrets.iter().filter(|it| it.value.len() >= SHORTEST) {
            let name: Arc<str> = told_name(&secret.name).into();
            for form in forms(&secret.value) {
                if seen.insert(form.clone()) {
                    let name = Arc::clone(&name);
                    needles.push(Needle { name, form });
                }
            }
        }
        Self {
            compiled: Arc::new(Compiled::new(needles)),
        }
    }

    /// Redacts a whole text.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(bytes) => Cow::Owned(
                String::from_utf8(bytes)
                    .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
            ),
        }
    }

    /// Redacts a whole text.
    pub fn bytes<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        let mut stream = self.stream();
        let mut kept = Vec::new();
        let mut room = Vec::new();
        kept.extend_from_slice(stream.push(text, &mut room));
        stream.finish(&mut kept);
        if kept == text {
            Cow::Borrowed(text)
        } else {
            Cow::Owned(kept)
        }
    }

    /// Whether there is anything to redact in a whole text.
    pub fn finds(&self, text: &str) -> bool {
        matches!(self.bytes(text.as_bytes()), Cow::Owned(_))
    }

    /// The name of a known value that stands in a whole text, in any form.
    pub fn value_in(&self, text: &str) -> Option<String> {
        self.stream().value_in(text.as_bytes())
    }

    /// A stream to redact piece by piece.
    pub fn stream(&self) -> Stream {
        Stream::new(Arc::clone(&self.compiled))
    }
}

impl Compiled {
    fn new(needles: Vec<Needle>) -> Self {
        let mut by_key: BTreeMap<[u8; KEY], Vec<usize>> = BTreeMap::new();
        for (index, needle) in needles.iter().enumerate() {
            // A form is no shorter than the value.
            if let Some(key) = needle.form.key() {
                by_key.entry(key).or_default().push(index);
            }
        }
        let prefixes = FORMATS.iter().map(|it| it.prefix.as_bytes().to_vec());
        let mut keys: Vec<Vec<u8>> = by_key.keys().map(|key| key.to_vec()).collect();
        keys.extend(prefixes);
        keys.sort_unstable();
        Self {
            sieve: Sieve::new(by_key.keys().copied().collect()),
            behind: by_key.into_values().collect(),
            needles,
            keys,
        }
    }

    /// The first place near the end of a text from which on a key may have begun.
    fn undecided(&self, text: &[u8]) -> usize {
        let from = text.len().saturating_sub(PREFIXES.longest.max(KEY) - 1);
        let begins = |at: &usize| {
            let rest = text.get(*at..).unwrap_or_default();
            let next = self.keys.partition_point(|key| key.as_slice() <= rest);
            self.keys.get(next).is_some_and(|key| key.starts_with(rest))
        };
        (from..text.len()).find(begins).unwrap_or(text.len())
    }
}

/// A name that may stand anywhere: in JSON, in markup, in a log.
fn told_name(name: &str) -> String {
    let harmless = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ');
    let told: String = name.chars().filter(|c| harmless(*c)).take(64).collect();
    if told.is_empty() {
        return "secret".to_owned();
    }
    told
}

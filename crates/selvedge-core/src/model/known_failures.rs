//! Known failures: a list of tests that may fail.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// Tests that are known to fail, by the ids that their runner prints; checks without test ids by their labels. A test
/// is excused only if it fails as in the baseline, and neither the task nor the change concerns it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct KnownFailures(Vec<String>);

impl KnownFailures {
    /// Creates it from ids and labels.
    pub fn new(ids: impl IntoIterator<Item = String>) -> Self {
        let mut known: Vec<String> = Vec::new();
        for id in ids {
            let id = id.trim();
            if !id.is_empty() && !known.iter().any(|it| it == id) {
                known.push(id.to_owned());
            }
        }
        Self(known)
    }

    /// Parses a file: one id or label per line; blank lines and lines that begin with `#` are ignored.
    pub fn parse(text: &str) -> Self {
        let lines = text.lines().map(str::trim);
        Self::new(
            lines
                .filter(|line| !line.starts_with('#'))
                .map(str::to_owned),
        )
    }

    /// The ids and labels, without duplicates.
    pub fn ids(&self) -> &[String] {
        &self.0
    }

    /// Whether a test or a check is listed.
    pub fn contains(&self, id: &str) -> bool {
        self.0.iter().any(|known| known == id)
    }

    /// Removes the ids that a text names, and returns them separately: a task about a test is never verified while that
    /// test fails.
    pub fn without_named_in(self, text: &str) -> (Self, Vec<String>) {
        let words = split_words(text);
        let (named, others) = self.0.into_iter().partition(|id| is_named(&words, id));
        (Self(others), named)
    }
}

/// Earlier releases wrote one of two words. A journal or task with `tolerate` excuses nothing.
impl<'de> Deserialize<'de> for KnownFailures {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "snake_case")]
        enum LegacyFailurePolicy {
            Block,
            Tolerate,
        }
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum KnownFailuresInput {
            Ids(Vec<String>),
            Word(LegacyFailurePolicy),
        }
        Ok(match KnownFailuresInput::deserialize(deserializer)? {
            KnownFailuresInput::Ids(ids) => Self::new(ids),
            KnownFailuresInput::Word(
                LegacyFailurePolicy::Block | LegacyFailurePolicy::Tolerate,
            ) => Self::default(),
        })
    }
}

/// Whether a text names a test: verbatim, or by all words of its name in any place. The name of a file counts for all
/// its tests.
fn is_named(text: &[String], id: &str) -> bool {
    let (file, name) = file_and_name(id);
    let words = |part: &str| {
        let mut words = split_words(part);
        words.retain(|word| word != "test" && word != "tests");
        words
    };
    let has_all = |words: &[String]| {
        !words.is_empty() && words.iter().all(|word| text.iter().any(|it| it == word))
    };
    let has_run = |words: &[String]| {
        !words.is_empty() && text.windows(words.len()).any(|window| window == words)
    };
    let file_name = file.map(|file| file.rsplit('/').next().unwrap_or(file));
    has_all(&words(name)) || file_name.is_some_and(|file| has_run(&split_words(file)))
}

/// The file at the start of an id, if there is one, and the name of the test itself, without parameters.
fn file_and_name(id: &str) -> (Option<&str>, &str) {
    const WITHIN: [&str; 3] = ["::", " > ", " › "];
    let plain = match id.find('[') {
        Some(at) if at > 0 => &id[..at],
        _ => id,
    };
    let cut = WITHIN.iter().filter_map(|within| plain.find(within)).min();
    let head = cut.map_or(plain, |at| &plain[..at]);
    let name_at = WITHIN
        .iter()
        .filter_map(|within| plain.rfind(within).map(|at| at + within.len()))
        .max();
    if let Some(at) = name_at {
        let is_file = head.contains(['/', '.']);
        return (Some(head).filter(|_| is_file), &plain[at..]);
    }
    // A file that is itself a test, or a qualified name: `example.com/shop.TestTotal`.
    let is_extension = |end: &str| end.len() <= 4 && end.chars().all(|c| c.is_ascii_lowercase());
    match plain.rsplit_once('.') {
        Some((_, end)) if plain.contains('/') && is_extension(end) => (Some(plain), plain),
        Some((_, name)) if !plain.contains(' ') => (None, name),
        _ => (None, plain),
    }
}

/// The words of a text in lower case: `testTotal_of` has three.
fn split_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut was_lower = false;
    for c in text.chars() {
        let begins = !c.is_alphanumeric() || c.is_uppercase() && was_lower;
        if begins && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase() || c.is_numeric();
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(task: &str, id: &str) -> bool {
        let known = KnownFailures::new([id.to_owned()]);
        known.without_named_in(task).1 == [id]
    }

    #[test]
    fn task_names_test_by_id_name_or_file() {
        let id = "tests/test_cart.py::TestCart::test_total_of_empty[eur]";
        for task in [
            "Make tests/test_cart.py pass",
            "test_total_of_empty fails",
            "the total of an empty cart is wrong",
            "fix `tests/test_cart.py::TestCart::test_total_of_empty[eur]`",
        ] {
            assert!(named(task, id), "{task}");
        }
        for task in ["the total is wrong", "add logging to the cart", ""] {
            assert!(!named(task, id), "{task}");
        }
        assert!(named("TestTotal fails", "example.com/shop.TestTotal"));
        assert!(named("subtract is wrong", "math.test.js › math › subtract"));
        assert!(named("fix math.test.js", "src/math.test.js › adds"));
        assert!(named("repair the parser", "cart::tests::parser"));
        assert!(!named("rewrite the cart", "cart::tests::parser"));
    }

    #[test]
    fn known_failures_file_is_read_by_line() {
        let known = KnownFailures::parse("# why\n\n  a::b \na::b\n src/x.test.js > adds [1]\n");
        assert_eq!(known.ids(), ["a::b", "src/x.test.js > adds [1]"]);
    }

    #[test]
    fn known_failures_of_earlier_releases_excuse_nothing() {
        for word in ["\"tolerate\"", "\"block\"", "[]"] {
            let known: KnownFailures = serde_json::from_str(word).unwrap();
            assert_eq!(known, KnownFailures::default());
        }
        assert!(serde_json::from_str::<KnownFailures>("\"all\"").is_err());
        let known = KnownFailures::new(["a".to_owned()]);
        assert_eq!(serde_json::to_string(&known).unwrap(), "[\"a\"]");
    }
}

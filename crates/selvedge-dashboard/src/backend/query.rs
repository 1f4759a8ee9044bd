//! Which tasks a list shows: the part of it that stands in the page's address, so that it survives
//! a reload and can be sent to somebody.

use std::fmt::Write as _;

use serde::Deserialize;

/// In which order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TaskQueryOrder {
    /// The newest first.
    #[default]
    Newest,
    /// The oldest first.
    Oldest,
    /// Those first where something happened lately.
    RecentlyUpdated,
    /// The dearest first.
    MostExpensive,
    /// Those with the most tokens first.
    Tokens,
    /// Those with the most attempts first.
    Attempts,
}

impl TaskQueryOrder {
    /// All, with the word in the address and the one for people.
    pub const ALL: [(Self, &'static str, &'static str); 6] = [
        (Self::Newest, "newest", "newest first"),
        (Self::Oldest, "oldest", "oldest first"),
        (Self::RecentlyUpdated, "lately", "latest news first"),
        (Self::MostExpensive, "cost", "dearest first"),
        (Self::Tokens, "tokens", "most tokens first"),
        (Self::Attempts, "attempts", "most attempts first"),
    ];

    fn from_word(word: &str) -> Self {
        let known = Self::ALL.iter().find(|(_, known, _)| *known == word);
        known.map_or_else(Self::default, |(order, ..)| *order)
    }

    /// As it stands in the address.
    pub fn word(self) -> &'static str {
        let known = Self::ALL.iter().find(|(order, ..)| *order == self);
        known.map_or("newest", |(_, word, _)| word)
    }
}

/// Which tasks a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskQuery {
    /// Only those that stand so; empty for all.
    pub group: String,
    /// Only those of this agent; empty for all.
    pub agent: String,
    /// Only those that this text is found in; empty for all.
    pub text: String,
    /// In which order.
    pub order: TaskQueryOrder,
    /// Which page, from 1.
    pub page: usize,
}

/// As it stands in the address: nothing of it is needed, nothing else is refused.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct TaskQueryParams {
    state: String,
    agent: String,
    q: String,
    sort: String,
    page: String,
}

impl From<TaskQueryParams> for TaskQuery {
    fn from(raw: TaskQueryParams) -> Self {
        let cut = |text: String| text.trim().chars().take(Self::MAX_TEXT_CHARS).collect();
        Self {
            group: cut(raw.state),
            agent: cut(raw.agent),
            text: cut(raw.q),
            order: TaskQueryOrder::from_word(&raw.sort),
            page: raw.page.parse().unwrap_or(1).clamp(1, Self::MAX_PAGE),
        }
    }
}

impl TaskQuery {
    /// Tasks on a page.
    pub const PER_PAGE: usize = 40;
    const MAX_TEXT_CHARS: usize = 200;
    const MAX_PAGE: usize = 1_000_000;

    /// How many stand on the pages before.
    pub fn offset(&self) -> usize {
        self.page.saturating_sub(1).saturating_mul(Self::PER_PAGE)
    }

    /// Whether it leaves anything out.
    pub fn is_filtered(&self) -> bool {
        !(self.group.is_empty() && self.agent.is_empty() && self.text.is_empty())
    }

    /// The same on another page.
    #[must_use]
    pub fn with_page(&self, page: usize) -> Self {
        Self {
            page,
            ..self.clone()
        }
    }

    /// The same for another group, from its first page.
    #[must_use]
    pub fn with_group(&self, group: &str) -> Self {
        Self {
            group: group.to_owned(),
            page: 1,
            ..self.clone()
        }
    }

    /// The address of the page: `/?state=failed&q=login`.
    pub fn address(&self) -> String {
        let page = self.page.max(1).to_string();
        let parts = [
            ("state", self.group.as_str(), ""),
            ("agent", &self.agent, ""),
            ("q", &self.text, ""),
            ("sort", self.order.word(), "newest"),
            ("page", &page, "1"),
        ];
        let mut address = "/".to_owned();
        for (name, value, default) in parts {
            if value != default {
                address.push(if address.len() == 1 { '?' } else { '&' });
                address.push_str(name);
                address.push('=');
                encode(value, &mut address);
            }
        }
        address
    }
}

/// Percent-encodes what may not stand in a query.
fn encode(value: &str, into: &mut String) {
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            into.push(char::from(byte));
        } else {
            // Writing into a string cannot fail.
            let _ = write!(into, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_all_that_is_not_as_usual() {
        assert_eq!(TaskQuery::default().address(), "/");
        let query = TaskQuery {
            group: "failed".into(),
            text: "a&b=\"ü".into(),
            order: TaskQueryOrder::MostExpensive,
            page: 3,
            ..TaskQuery::default()
        };
        assert_eq!(
            query.address(),
            "/?state=failed&q=a%26b%3D%22%C3%BC&sort=cost&page=3"
        );
    }
}

//! Filter, order and page of the task list. They are part of the URL, so that a list survives a reload and
//! can be shared.

use selvedge_core::format::percent_encode;
use serde::Deserialize;

/// Order of the list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TaskQueryOrder {
    /// Newest first.
    #[default]
    Newest,
    /// Oldest first.
    Oldest,
    /// Most recently updated first.
    RecentlyUpdated,
    /// Most expensive first.
    MostExpensive,
    /// Most tokens first.
    Tokens,
    /// Most attempts first.
    Attempts,
}

impl TaskQueryOrder {
    /// All orders, each with its value in the URL and its label.
    pub const ALL: [(Self, &'static str, &'static str); 6] = [
        (Self::Newest, "newest", "newest first"),
        (Self::Oldest, "oldest", "oldest first"),
        (Self::RecentlyUpdated, "lately", "recently updated first"),
        (Self::MostExpensive, "cost", "most expensive first"),
        (Self::Tokens, "tokens", "most tokens first"),
        (Self::Attempts, "attempts", "most attempts first"),
    ];

    fn from_word(word: &str) -> Self {
        let known = Self::ALL.iter().find(|(_, known, _)| *known == word);
        known.map_or_else(Self::default, |(order, ..)| *order)
    }

    /// The value in the URL.
    pub fn word(self) -> &'static str {
        let known = Self::ALL.iter().find(|(order, ..)| *order == self);
        known.map_or("newest", |(_, word, _)| word)
    }
}

/// Filter, order and page of the task list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskQuery {
    /// Only tasks in this status group; empty for all.
    pub group: String,
    /// Only tasks of this agent; empty for all.
    pub agent: String,
    /// Only tasks that contain this text; empty for all.
    pub text: String,
    /// Order of the tasks.
    pub order: TaskQueryOrder,
    /// Page number, counted from 1.
    pub page: usize,
}

/// The query as it is in the URL: every field is optional, and invalid values fall back to defaults.
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
    /// Number of tasks on a page.
    pub const PER_PAGE: usize = 40;
    const MAX_TEXT_CHARS: usize = 200;
    const MAX_PAGE: usize = 1_000_000;

    /// Number of tasks on the pages before this one.
    pub fn offset(&self) -> usize {
        self.page.saturating_sub(1).saturating_mul(Self::PER_PAGE)
    }

    /// The same query for another page.
    #[must_use]
    pub fn with_page(&self, page: usize) -> Self {
        Self {
            page,
            ..self.clone()
        }
    }

    /// The same query for another group, from its first page.
    #[must_use]
    pub fn with_group(&self, group: &str) -> Self {
        Self {
            group: group.to_owned(),
            page: 1,
            ..self.clone()
        }
    }

    /// The URL of the page: `/?state=failed&q=login`.
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
                address.push_str(&percent_encode(value, b"-._~"));
            }
        }
        address
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_query_url_contains_only_non_defaults() {
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

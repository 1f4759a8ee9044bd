//! Filter, order and page of the task list. They are part of the URL, so that a list survives a reload and
//! can be shared.

use jiff::Timestamp;
use selvedge_core::format::percent_encode;
use serde::Deserialize;

use crate::stats::StatsPeriod;

/// What the list is sorted by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TaskQueryOrder {
    /// When it was created.
    #[default]
    Created,
    /// When it was last updated.
    Updated,
    /// Cost.
    Cost,
    /// Tokens.
    Tokens,
    /// Attempts.
    Attempts,
    /// Time between creation and last update.
    Duration,
}

impl TaskQueryOrder {
    /// All orders, each with its value in the URL.
    const ALL: [(Self, &'static str); 6] = [
        (Self::Created, "created"),
        (Self::Updated, "updated"),
        (Self::Cost, "cost"),
        (Self::Tokens, "tokens"),
        (Self::Attempts, "attempts"),
        (Self::Duration, "duration"),
    ];

    fn from_word(word: &str) -> Self {
        let known = Self::ALL.iter().find(|(_, known)| *known == word);
        known.map_or_else(Self::default, |(order, _)| *order)
    }

    /// The value in the URL.
    pub fn word(self) -> &'static str {
        let known = Self::ALL.iter().find(|(order, _)| *order == self);
        known.map_or("created", |(_, word)| word)
    }
}

/// Filter, order and page of the task list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskQuery {
    /// Only tasks in this status group, or with this state or outcome; empty for all.
    pub group: String,
    /// Only tasks of this agent; empty for all.
    pub agent: String,
    /// Only tasks in this workspace or repository; empty for all.
    pub place: String,
    /// Only tasks of this worker; empty for all.
    pub worker: String,
    /// Only tasks that this model answered; empty for all.
    pub model: String,
    /// Only tasks that were submitted by this person; empty for all.
    pub person: String,
    /// Only tasks that require this label; empty for all.
    pub label: String,
    /// Only tasks of the last days; `None` for all.
    pub days: Option<u32>,
    /// Start of that period.
    pub since: Option<Timestamp>,
    /// Only tasks that contain these words; empty for all.
    pub text: String,
    /// What the tasks are sorted by.
    pub order: TaskQueryOrder,
    /// Whether the order is ascending.
    pub ascending: bool,
    /// Page number, counted from 1.
    pub page: usize,
}

/// The query as it is in the URL: every field is optional, and invalid values fall back to defaults.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct TaskQueryParams {
    state: String,
    agent: String,
    repo: String,
    worker: String,
    model: String,
    by: String,
    label: String,
    days: String,
    q: String,
    sort: String,
    dir: String,
    page: String,
}

impl TaskQueryParams {
    pub(crate) fn query(self, now: Timestamp) -> TaskQuery {
        let cut = |text: String| {
            let text = text.trim().chars();
            text.take(TaskQuery::MAX_TEXT_CHARS).collect()
        };
        let days = self.days.parse().ok().filter(|days| *days <= 36_500);
        TaskQuery {
            group: cut(self.state),
            agent: cut(self.agent),
            place: cut(self.repo),
            worker: cut(self.worker),
            model: cut(self.model),
            person: cut(self.by),
            label: cut(self.label),
            days,
            since: StatsPeriod::last_days(days, now).0,
            text: cut(self.q),
            order: TaskQueryOrder::from_word(&self.sort),
            ascending: self.dir == "asc",
            page: self.page.parse().unwrap_or(1).clamp(1, TaskQuery::MAX_PAGE),
        }
    }
}

impl TaskQuery {
    /// Number of tasks on a page.
    pub const PER_PAGE: usize = 50;
    const MAX_TEXT_CHARS: usize = 200;
    const MAX_PAGE: usize = 1_000_000;

    /// Number of tasks on the pages before this one.
    pub fn offset(&self) -> usize {
        self.page.saturating_sub(1).saturating_mul(Self::PER_PAGE)
    }

    /// The words that all have to occur.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.text.split_whitespace()
    }

    /// The same query; beyond the end of the list, for its last page.
    #[must_use]
    pub fn on_last_page(&self, matching: usize) -> Self {
        let last = matching.div_ceil(Self::PER_PAGE).max(1);
        self.with_page(self.page.clamp(1, last))
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

    /// The same query in another order, from its first page: descending first, the current order reversed.
    #[must_use]
    pub fn sorted_by(&self, order: TaskQueryOrder) -> Self {
        Self {
            order,
            ascending: self.order == order && !self.ascending,
            page: 1,
            ..self.clone()
        }
    }

    /// Whether anything but order and page differs from the whole list.
    pub fn is_filtered(&self) -> bool {
        let whole = Self {
            order: self.order,
            ascending: self.ascending,
            page: self.page,
            ..Self::default()
        };
        *self != whole
    }

    /// The URL of the page: `/?state=failed&q=login`.
    pub fn address(&self) -> String {
        let page = self.page.max(1).to_string();
        let days = self.days.map_or_else(String::new, |days| days.to_string());
        let parts = [
            ("state", self.group.as_str(), ""),
            ("agent", &self.agent, ""),
            ("repo", &self.place, ""),
            ("worker", &self.worker, ""),
            ("model", &self.model, ""),
            ("by", &self.person, ""),
            ("label", &self.label, ""),
            ("days", &days, ""),
            ("q", &self.text, ""),
            ("sort", self.order.word(), "created"),
            ("dir", if self.ascending { "asc" } else { "" }, ""),
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
            order: TaskQueryOrder::Cost,
            page: 3,
            ..TaskQuery::default()
        };
        assert_eq!(
            query.address(),
            "/?state=failed&q=a%26b%3D%22%C3%BC&sort=cost&page=3"
        );
        let reversed = query.sorted_by(TaskQueryOrder::Cost);
        assert!(reversed.ascending && reversed.page == 1);
        assert!(!reversed.sorted_by(TaskQueryOrder::Tokens).ascending);
        assert_eq!(query.on_last_page(60).page, 2, "a page past the end");
    }
}

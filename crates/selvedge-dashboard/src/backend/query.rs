//! Filter, order and page of the task list. They are part of the URL, so that a list survives a reload and
//! can be shared.

use jiff::civil::{Date, ISOWeekDate, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use selvedge_core::format::percent_encode;
use serde::Deserialize;

use crate::stats::{RunCategory, RunStats, StatsPeriod, kind_name};

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

/// What the retries of a task achieved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultFilter {
    /// The run ended in this way.
    Category(RunCategory),
    /// An attempt passed its own tests but not the original ones.
    CaughtByOriginalTests,
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
    /// Only tasks that begin from this branch or other revision; empty for all.
    pub branch: String,
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
    /// Only tasks of this day or ISO week (`2026-11-26`, `2026-W48`); empty for all.
    pub day: String,
    /// Start of these periods.
    pub since: Option<Timestamp>,
    /// End of the day or week.
    pub until: Option<Timestamp>,
    /// Only tasks with this result of the retries, one of [`Self::RESULTS`]; empty for all.
    pub result: String,
    /// Only tasks with this check; empty for all.
    pub check: String,
    /// Only tasks in which the guard found this kind of change; empty for all.
    pub finding: String,
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
    branch: String,
    worker: String,
    model: String,
    by: String,
    label: String,
    days: String,
    day: String,
    result: String,
    check: String,
    finding: String,
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
        let since = StatsPeriod::last_days(days, now).0;
        let day = day_range(&self.day, &TimeZone::system());
        let is_result = |(name, ..): &(&str, &str, _)| *name == self.result;
        let result = TaskQuery::RESULTS.iter().find(|it| is_result(it));
        TaskQuery {
            group: cut(self.state),
            agent: cut(self.agent),
            place: cut(self.repo),
            branch: cut(self.branch),
            worker: cut(self.worker),
            model: cut(self.model),
            person: cut(self.by),
            label: cut(self.label),
            days,
            since: since.max(day.map(|(from, _)| from)),
            until: day.map(|(_, to)| to),
            day: day.map_or_else(String::new, |_| self.day.clone()),
            result: result.map_or_else(String::new, |(name, ..)| (*name).to_owned()),
            check: cut(self.check),
            finding: cut(self.finding),
            text: cut(self.q),
            order: TaskQueryOrder::from_word(&self.sort),
            ascending: self.dir == "asc",
            page: self.page.parse().unwrap_or(1).clamp(1, TaskQuery::MAX_PAGE),
        }
    }
}

/// Start and end of a day or an ISO week.
fn day_range(name: &str, zone: &TimeZone) -> Option<(Timestamp, Timestamp)> {
    let (first, days) = match name.split_once("-W") {
        Some((year, week)) => {
            let monday = ISOWeekDate::new(year.parse().ok()?, week.parse().ok()?, Weekday::Monday);
            (monday.ok()?.date(), 7)
        }
        None => (name.parse::<Date>().ok()?, 1),
    };
    let start = |date: Date| Some(date.to_zoned(zone.clone()).ok()?.timestamp());
    let next = first.checked_add(days.days()).ok()?;
    Some((start(first)?, start(next)?))
}

impl TaskQuery {
    /// Results of the retries: their names in URLs, and their labels.
    pub const RESULTS: [(&'static str, &'static str, ResultFilter); 7] = [
        (
            "first_attempt",
            "verified at the first attempt",
            ResultFilter::Category(RunCategory::FirstAttempt),
        ),
        (
            "recovered",
            "recovered by a retry",
            ResultFilter::Category(RunCategory::Recovered),
        ),
        (
            "not_recovered",
            "not recovered",
            ResultFilter::Category(RunCategory::NotRecovered),
        ),
        (
            "reviewed",
            "reviewed, or awaiting review",
            ResultFilter::Category(RunCategory::ByAPerson),
        ),
        (
            "unchecked",
            "unchecked",
            ResultFilter::Category(RunCategory::Unchecked),
        ),
        (
            "not_judged",
            "not judged",
            ResultFilter::Category(RunCategory::NotJudged),
        ),
        (
            "caught",
            "caught by the original tests",
            ResultFilter::CaughtByOriginalTests,
        ),
    ];

    /// The requested result.
    fn wanted_result(&self) -> Option<ResultFilter> {
        let mut all = Self::RESULTS.iter();
        let found = all.find(|(name, ..)| *name == self.result);
        found.map(|(.., filter)| *filter)
    }

    /// The parts of the statistics of a run, as JSON without spaces, that all have to occur.
    pub fn stats_parts(&self) -> Vec<String> {
        let json = |text: &str| serde_json::Value::from(text).to_string();
        let mut parts = Vec::new();
        if !self.model.is_empty() {
            parts.push(format!("\"model\":{}", json(&self.model)));
        }
        match self.wanted_result() {
            None => {}
            Some(ResultFilter::CaughtByOriginalTests) => {
                parts.push("\"caught_by_original_tests\":true".to_owned());
            }
            Some(ResultFilter::Category(category)) => {
                let category = serde_json::to_string(&category).unwrap_or_default();
                parts.push(format!("\"ending\":{category}"));
            }
        }
        if !self.check.is_empty() {
            parts.push(format!("{}:{{\"runs\":", json(&self.check)));
        }
        if !self.finding.is_empty() {
            parts.push(format!("[{},", json(&self.finding)));
        }
        parts
    }

    /// Whether the statistics of a run match what they are filtered by.
    pub(super) fn matches_stats(&self, stats: Option<&RunStats>) -> bool {
        if self.result.is_empty() && self.check.is_empty() && self.finding.is_empty() {
            return true;
        }
        let Some(stats) = stats else {
            return false;
        };
        let has_result = match self.wanted_result() {
            None => true,
            Some(ResultFilter::CaughtByOriginalTests) => stats.caught_by_original_tests,
            Some(ResultFilter::Category(category)) => stats.ending == category,
        };
        let has_finding = |wanted: &str| {
            stats
                .guard
                .iter()
                .any(|(kind, _)| kind_name(*kind) == wanted)
        };
        has_result
            && (self.check.is_empty() || stats.checks.contains_key(&self.check))
            && (self.finding.is_empty() || has_finding(&self.finding))
    }

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
            ("branch", &self.branch, ""),
            ("worker", &self.worker, ""),
            ("model", &self.model, ""),
            ("by", &self.person, ""),
            ("label", &self.label, ""),
            ("days", &days, ""),
            ("day", &self.day, ""),
            ("result", &self.result, ""),
            ("check", &self.check, ""),
            ("finding", &self.finding, ""),
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
    use selvedge_core::model::{FindingKind, FindingSeverity};

    use super::*;
    use crate::stats::CheckStats;

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

    #[test]
    fn task_query_period_is_a_day_or_a_week() {
        let range = |name: &str| {
            let range = day_range(name, &TimeZone::UTC);
            range.map(|(from, to)| format!("{from} {to}"))
        };
        let day = "2026-11-26T00:00:00Z 2026-11-27T00:00:00Z";
        assert_eq!(range("2026-11-26").as_deref(), Some(day));
        let week = "2026-11-23T00:00:00Z 2026-11-30T00:00:00Z";
        assert_eq!(range("2026-W48").as_deref(), Some(week));
        for invalid in ["", "2026-W60", "2026-13-01", "-W", "9999-12-31"] {
            assert_eq!(range(invalid), None, "{invalid}");
        }
    }

    #[test]
    fn task_query_finds_parts_of_saved_statistics() {
        let run = RunStats {
            model: Some("o\"pus".to_owned()),
            ending: RunCategory::Recovered,
            checks: [("make test".to_owned(), CheckStats::default())].into(),
            guard: vec![(FindingKind::EarlyExit, FindingSeverity::Strong)],
            ..RunStats::sample()
        };
        let saved = serde_json::to_string(&run).unwrap();
        let query = TaskQuery {
            model: "o\"pus".to_owned(),
            result: "recovered".to_owned(),
            check: "make test".to_owned(),
            finding: "early_exit".to_owned(),
            ..TaskQuery::default()
        };
        assert_eq!(query.stats_parts().len(), 4);
        for part in query.stats_parts() {
            assert!(saved.contains(&part), "{part} in {saved}");
        }
        assert!(query.matches_stats(Some(&run)) && !query.matches_stats(None));
        assert!(!query.matches_stats(Some(&RunStats::sample())));
    }
}

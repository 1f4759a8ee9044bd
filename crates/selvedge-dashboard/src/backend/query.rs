//! Filter, order and page of the task list. They are part of the URL, so that a list survives a reload and
//! can be shared.

use jiff::civil::{Date, ISOWeekDate, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use selvedge_core::format::{duration, percent_encode};
use serde::Deserialize;

use super::stats_filter::{
    CheckFilter, CheckNumber, FindingFilter, ModelFilter, ResultFilter, StatsFilter,
};
use crate::stats::{NO_MODEL, RunCategory, StatsPeriod};

/// Sort key of the list.
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
    /// Status.
    State,
    /// Description, regardless of the case of ASCII letters.
    Description,
    /// Agent.
    Agent,
    /// Workspace or repository.
    Place,
}

impl TaskQueryOrder {
    /// All orders, each with its value in the URL.
    const ALL: [(Self, &'static str); 10] = [
        (Self::Created, "created"),
        (Self::Updated, "updated"),
        (Self::Cost, "cost"),
        (Self::Tokens, "tokens"),
        (Self::Attempts, "attempts"),
        (Self::Duration, "duration"),
        (Self::State, "state"),
        (Self::Description, "task"),
        (Self::Agent, "agent"),
        (Self::Place, "repo"),
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

    /// Whether it sorts texts, which readers expect in ascending order first.
    const fn is_text(self) -> bool {
        matches!(
            self,
            Self::State | Self::Description | Self::Agent | Self::Place
        )
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
    /// Only tasks that begin from this branch or other revision; empty for all.
    pub branch: String,
    /// Only tasks of this worker; empty for all.
    pub worker: String,
    /// Only tasks that this model answered, or [`NO_MODEL`]; empty for all.
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
    /// Only tasks in which the check had this result, one of [`Self::CHECK_RESULTS`]; empty for all.
    pub check_result: String,
    /// Only tasks in which one execution of the check took at least so many milliseconds.
    pub check_ms: Option<u64>,
    /// Only tasks in which the guard found this kind of change; empty for all.
    pub finding: String,
    /// Only tasks in which such a finding has this severity, one of [`Self::SEVERITIES`]; empty for all.
    pub severity: String,
    /// Only tasks that contain these words; empty for all.
    pub text: String,
    /// Sort key.
    pub order: TaskQueryOrder,
    /// Whether the order is ascending.
    pub ascending: bool,
    /// Page number, counted from 1.
    pub page: usize,
}

/// The query in the form of the URL: every field is optional, and invalid values are replaced by defaults.
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
    check_result: String,
    check_ms: String,
    finding: String,
    severity: String,
    q: String,
    sort: String,
    dir: String,
    page: String,
}

impl TaskQueryParams {
    pub(crate) fn query(self, now: Timestamp) -> TaskQuery {
        let cut = |text: String| -> String {
            let text = text.trim().chars();
            text.take(TaskQuery::MAX_TEXT_CHARS).collect()
        };
        let days = self.days.parse().ok().filter(|days| *days <= 36_500);
        let since = StatsPeriod::last_days(days, now).0;
        let day = day_range(&self.day, &TimeZone::system());
        let result = find_named(&TaskQuery::RESULTS, &self.result);
        let check = cut(self.check);
        let finding = cut(self.finding);
        // The result of a check or the severity of a finding filters only together with its name.
        let check_result = find_named(&TaskQuery::CHECK_RESULTS, &self.check_result);
        let check_result = check_result.filter(|_| !check.is_empty());
        let check_ms = self.check_ms.parse::<u64>().ok();
        let check_ms = check_ms.filter(|_| !check.is_empty() && check_result.is_none());
        let severity = find_named(&TaskQuery::SEVERITIES, &self.severity);
        let severity = severity.filter(|_| !finding.is_empty());
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
            check,
            check_result: check_result.map_or_else(String::new, |(name, ..)| (*name).to_owned()),
            check_ms,
            finding,
            severity: severity.map_or_else(String::new, |(name, ..)| (*name).to_owned()),
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

/// The entry of a table of names, labels and filters.
fn find_named<'a, T>(
    table: &'a [(&'static str, &'static str, T)],
    wanted: &str,
) -> Option<&'a (&'static str, &'static str, T)> {
    table.iter().find(|(name, ..)| *name == wanted)
}

impl TaskQuery {
    /// Results of the retries: their names in URLs, and their labels. The first three are those of judged tasks.
    pub const RESULTS: [(&'static str, &'static str, ResultFilter); 9] = [
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
            "not_finished",
            "not finished",
            ResultFilter::Category(RunCategory::Open),
        ),
        (
            "caught",
            "caught by the original tests",
            ResultFilter::CaughtByOriginalTests,
        ),
        (Self::STARTED, "started", ResultFilter::Started),
    ];

    /// The result of every task that has statistics.
    pub const STARTED: &'static str = "started";

    /// Results of a check: their names in URLs, their labels, and the number that is not zero.
    pub const CHECK_RESULTS: [(&'static str, &'static str, CheckNumber); 3] = [
        ("failed", "failed", CheckNumber::Failures),
        ("flaky", "flaky", CheckNumber::Flaky),
        ("fixed", "failed and then passed", CheckNumber::Fixed),
    ];

    /// Severities of findings: their names in URLs, their labels, and whether they are violations.
    pub const SEVERITIES: [(&'static str, &'static str, bool); 2] = [
        ("violation", "violation", true),
        ("review", "for review", false),
    ];

    /// The conditions on the statistics of a task's run, if there are any.
    pub fn stats_filter(&self) -> Option<StatsFilter> {
        let named = |name: &String| Some(name.clone()).filter(|name| !name.is_empty());
        let number = match find_named(&Self::CHECK_RESULTS, &self.check_result) {
            Some((.., number)) => (*number, 1),
            None => (CheckNumber::SlowestMs, self.check_ms.unwrap_or(0)),
        };
        let severity = find_named(&Self::SEVERITIES, &self.severity);
        let filter = StatsFilter {
            result: find_named(&Self::RESULTS, &self.result).map(|(.., result)| *result),
            model: named(&self.model).map(|model| match model.as_str() {
                NO_MODEL => ModelFilter::NotReported,
                _ => ModelFilter::Named(model),
            }),
            check: named(&self.check).map(|name| CheckFilter { name, number }),
            finding: named(&self.finding).map(|kind| FindingFilter {
                kind,
                is_violation: severity.map(|(.., is_violation)| *is_violation),
            }),
        };
        (filter != StatsFilter::default()).then_some(filter)
    }

    /// Whether a name can be a filter: longer names, or names with spaces around them, are changed in the URL.
    pub(crate) fn is_filterable(name: &str) -> bool {
        !name.is_empty() && name.trim() == name && name.chars().count() <= Self::MAX_TEXT_CHARS
    }

    /// The label of the result of the check: "failed", "took at least 2m 30s".
    pub(crate) fn check_result_label(&self) -> Option<String> {
        match (
            find_named(&Self::CHECK_RESULTS, &self.check_result),
            self.check_ms,
        ) {
            (Some((_, label, _)), _) => Some((*label).to_owned()),
            (None, Some(ms)) => Some(format!("took at least {}", duration(ms))),
            (None, None) => None,
        }
    }

    /// Number of tasks on a page.
    pub const PER_PAGE: usize = 50;
    /// Maximum length of a filter.
    pub(crate) const MAX_TEXT_CHARS: usize = 1_000;
    const MAX_PAGE: usize = 1_000_000;

    /// Number of tasks on the pages before this one.
    pub fn offset(&self) -> usize {
        self.page.saturating_sub(1).saturating_mul(Self::PER_PAGE)
    }

    /// The words that all have to occur.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.text.split_whitespace()
    }

    /// The same query, or for the last page if it is beyond the end of the list.
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

    /// The same query in another order, from its first page: texts ascending first, numbers and times descending, the current order
    /// reversed.
    #[must_use]
    pub fn sorted_by(&self, order: TaskQueryOrder) -> Self {
        Self {
            order,
            ascending: if self.order == order {
                !self.ascending
            } else {
                order.is_text()
            },
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
        let check_ms = self.check_ms.map_or_else(String::new, |ms| ms.to_string());
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
            ("check_result", &self.check_result, ""),
            ("check_ms", &check_ms, ""),
            ("finding", &self.finding, ""),
            ("severity", &self.severity, ""),
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
        for (order, word) in TaskQueryOrder::ALL {
            let first = TaskQuery::default().sorted_by(order);
            for query in [first.sorted_by(order), first] {
                let address = query.address();
                let params: TaskQueryParams =
                    serde_json::from_value(fields_of(&address)).expect("text fields");
                assert_eq!(
                    params.query(Timestamp::UNIX_EPOCH),
                    query,
                    "{word}: {address}"
                );
            }
        }
        assert_eq!(query.on_last_page(60).page, 2, "a page past the end");
    }

    /// The fields of an address.
    fn fields_of(address: &str) -> serde_json::Value {
        let query = address.split_once('?').map_or("", |(_, query)| query);
        let fields = query.split('&').filter_map(|field| field.split_once('='));
        fields
            .map(|(name, value)| (name.to_owned(), serde_json::Value::from(value)))
            .collect::<serde_json::Map<_, _>>()
            .into()
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
    fn task_query_survives_its_url() {
        let query = TaskQuery {
            model: NO_MODEL.to_owned(),
            days: Some(7),
            result: TaskQuery::STARTED.to_owned(),
            check: "make \"test\" && a+b=ü".to_owned(),
            check_result: "flaky".to_owned(),
            finding: "early_exit".to_owned(),
            severity: "violation".to_owned(),
            page: 1,
            ..TaskQuery::default()
        };
        let now = Timestamp::from_second(777_600_000).unwrap();
        let read = |query: &TaskQuery| {
            let url: axum::http::Uri = query.address().parse().unwrap();
            let params = axum::extract::Query::<TaskQueryParams>::try_from_uri(&url);
            params.unwrap().0.query(now)
        };
        let since = StatsPeriod::last_days(Some(7), now).0;
        assert_eq!(
            read(&query),
            TaskQuery {
                since,
                ..query.clone()
            }
        );
        let slow = TaskQuery {
            check_result: String::new(),
            check_ms: Some(1_234),
            since,
            ..query.clone()
        };
        assert_eq!(read(&slow), slow);
        // A result or severity without a name filters nothing.
        let nameless = TaskQuery {
            check: String::new(),
            finding: String::new(),
            ..query
        };
        let read = read(&nameless);
        assert_eq!(
            (read.check_result, read.severity),
            (String::new(), String::new())
        );
        assert_eq!(read.check_ms, None);
    }
}

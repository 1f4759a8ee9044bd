//! The list of tasks.

use askama::Template;
use jiff::Timestamp;
use selvedge_core::format::{counted, duration};

use super::frame::{PageFrame, StatusBadge, TimeLabel, cost_so_far, short_count};
use super::insights::source_address;
use crate::backend::{DisplayStatus, TaskList, TaskListItem, TaskQuery, TaskQueryOrder};
use crate::text::{make_visible, single_line};

/// The page.
#[derive(Template)]
#[template(path = "tasks.html")]
pub(crate) struct TaskListPage {
    frame: PageFrame,
    heading: String,
    rows: Vec<TaskRowView>,
    groups: Vec<FilterOption>,
    views: Vec<FilterOption>,
    outcomes: Vec<FilterOption>,
    agents: Vec<FilterOption>,
    places: Vec<FilterOption>,
    periods: Vec<FilterOption>,
    results: Vec<FilterOption>,
    /// Fields of less frequent filters.
    more: Vec<FilterField>,
    more_open: bool,
    check_results: Vec<FilterOption>,
    /// Filters that are shown with a link that removes them.
    removable: Vec<RemovableFilter>,
    /// Filters without a field in the form: name and value.
    hidden: Vec<(&'static str, String)>,
    heads: Vec<ColumnHead>,
    text: String,
    order: &'static str,
    ascending: bool,
    is_filtered: bool,
    none_at_all: bool,
    can_select: bool,
    can_submit: bool,
    /// Address of this list.
    here: String,
    range: String,
    previous: Option<String>,
    next: Option<String>,
}

/// An option of a filter.
struct FilterOption {
    value: String,
    label: String,
    address: String,
    count: usize,
    chosen: bool,
}

/// A text field of a filter.
struct FilterField {
    name: &'static str,
    label: &'static str,
    value: String,
}

/// A filter with the address of the list without it.
struct RemovableFilter {
    label: &'static str,
    value: String,
    address: String,
}

/// The head of a column, with the address of the list sorted by it.
struct ColumnHead {
    label: &'static str,
    class: &'static str,
    address: String,
    /// `ascending` or `descending`, if the list is sorted by it.
    sorted: &'static str,
}

/// A task of a list.
pub(crate) struct TaskRowView {
    pub(crate) id: String,
    pub(crate) short: String,
    pub(crate) description: String,
    pub(crate) agent: String,
    pub(crate) place: String,
    pub(crate) place_name: String,
    /// Page of the repository.
    pub(crate) place_address: String,
    pub(crate) branch: Option<String>,
    pub(crate) badge: StatusBadge,
    pub(crate) reason: String,
    pub(crate) attempts: String,
    pub(crate) pips: Vec<&'static str>,
    pub(crate) took: String,
    pub(crate) cost: String,
    pub(crate) tokens: String,
    pub(crate) updated: TimeLabel,
    pub(crate) created: TimeLabel,
    pub(crate) worker: Option<String>,
    pub(crate) part_of: Option<String>,
}

/// Maximum number of dots drawn for attempts.
const MAX_PIPS: u32 = 6;

impl TaskListPage {
    pub(crate) fn new(
        frame: PageFrame,
        query: &TaskQuery,
        tasks: &TaskList,
        can_act: bool,
        now: Timestamp,
    ) -> Self {
        let query = &query.on_last_page(tasks.matching);
        let number = |group: &str| tasks.groups.get(group).copied().unwrap_or(0);
        let (to_review, running) = (number("review"), number("running"));
        // Tabs show the state.
        let frame = PageFrame {
            title: match to_review {
                0 => frame.title,
                to_review => format!("({to_review} to review) {}", frame.title),
            },
            icon: match (to_review, running) {
                (0, 0) => "icon",
                (0, _) => "icon-live",
                _ => "icon-warn",
            },
            ..frame
        };
        let first = query.offset();
        let last = first + tasks.rows.len();
        let range = if tasks.matching > tasks.rows.len() {
            format!("{}–{last} of {}", first + 1, tasks.matching)
        } else {
            String::new()
        };
        Self {
            heading: counted(tasks.matching as u64, "task"),
            rows: tasks
                .rows
                .iter()
                .map(|row| TaskRowView::new(row, now))
                .collect(),
            groups: group_options(query, tasks),
            views: view_options(query),
            outcomes: outcome_options(query, tasks),
            agents: name_options(&tasks.agents, &query.agent, |name| single_line(name, 40)),
            places: name_options(&tasks.places, &query.place, place_name),
            periods: period_options(query),
            results: options_of(&TaskQuery::RESULTS, &query.result),
            more: more_fields(query, frame.has_fleet),
            more_open: more_fields(query, true)
                .iter()
                .any(|it| !it.value.is_empty())
                || !matches!(query.result.as_str(), "" | TaskQuery::STARTED)
                || !query.check_result.is_empty(),
            check_results: options_of(&TaskQuery::CHECK_RESULTS, &query.check_result),
            removable: removable_filters(query),
            hidden: hidden_filters(query, frame.has_fleet),
            heads: heads(query),
            text: query.text.clone(),
            order: query.order.word(),
            ascending: query.ascending,
            is_filtered: query.is_filtered(),
            none_at_all: tasks.all == 0,
            can_select: can_act && !tasks.rows.is_empty(),
            can_submit: can_act,
            here: query.address(),
            previous: (query.page > 1).then(|| query.with_page(query.page - 1).address()),
            next: (last < tasks.matching).then(|| query.with_page(query.page + 1).address()),
            range,
            frame,
        }
    }
}

fn group_options(query: &TaskQuery, tasks: &TaskList) -> Vec<FilterOption> {
    let all = FilterOption {
        value: String::new(),
        label: "all".to_owned(),
        address: query.with_group("").address(),
        count: tasks.groups.values().sum(),
        chosen: query.group.is_empty(),
    };
    let each = DisplayStatus::GROUPS.iter().filter_map(|(group, label)| {
        let count = tasks.groups.get(group).copied().unwrap_or(0);
        let chosen = query.group == *group;
        (count > 0 || chosen).then(|| FilterOption {
            value: (*group).to_owned(),
            label: (*label).to_owned(),
            address: query.with_group(group).address(),
            count,
            chosen,
        })
    });
    std::iter::once(all).chain(each).collect()
}

/// Views that most people need.
fn view_options(query: &TaskQuery) -> Vec<FilterOption> {
    let of = |label: &str, view: TaskQuery| FilterOption {
        value: String::new(),
        label: label.to_owned(),
        address: view.address(),
        count: 0,
        chosen: view.address() == query.address(),
    };
    let group = |group: &str, days: Option<u32>| TaskQuery {
        group: group.to_owned(),
        days,
        page: 1,
        ..TaskQuery::default()
    };
    let expensive = TaskQuery {
        order: TaskQueryOrder::Cost,
        ..group("", Some(7))
    };
    vec![
        of("To review", group("review", None)),
        of("Not verified this week", group("partial", Some(7))),
        of("Most expensive this week", expensive),
    ]
}

/// Every state and outcome that occurs.
fn outcome_options(query: &TaskQuery, tasks: &TaskList) -> Vec<FilterOption> {
    let each = tasks.outcomes.iter().map(|(key, count)| FilterOption {
        value: (*key).to_owned(),
        label: DisplayStatus::label_of_key(key),
        address: String::new(),
        count: *count,
        chosen: *key == query.group,
    });
    let mut options: Vec<FilterOption> = each.collect();
    // A group of several outcomes stays selected when other filters are applied.
    let mut groups = DisplayStatus::GROUPS.iter();
    if !options.iter().any(|option| option.chosen)
        && let Some((group, label)) = groups.find(|(group, _)| *group == query.group)
    {
        options.push(FilterOption {
            value: (*group).to_owned(),
            label: (*label).to_owned(),
            address: String::new(),
            count: 0,
            chosen: true,
        });
    }
    options
}

/// The options of a filter: the names, and the chosen one if it is not among them.
fn name_options(names: &[String], chosen: &str, label: fn(&str) -> String) -> Vec<FilterOption> {
    let other = Some(chosen.to_owned()).filter(|it| !it.is_empty() && !names.contains(it));
    let each = names.iter().chain(&other).map(|name| FilterOption {
        value: name.clone(),
        label: label(name),
        address: String::new(),
        count: 0,
        chosen: name == chosen,
    });
    each.collect()
}

fn period_options(query: &TaskQuery) -> Vec<FilterOption> {
    let each = [
        (1, "last day"),
        (7, "last 7 days"),
        (30, "last 30 days"),
        (90, "last 90 days"),
    ];
    let each = each.iter().map(|(days, label)| FilterOption {
        value: days.to_string(),
        label: (*label).to_owned(),
        address: String::new(),
        count: 0,
        chosen: query.days == Some(*days),
    });
    each.collect()
}

/// The options of a table of names, labels and filters.
fn options_of<T>(table: &[(&'static str, &'static str, T)], chosen: &str) -> Vec<FilterOption> {
    let each = table.iter().map(|(name, label, _)| FilterOption {
        value: (*name).to_owned(),
        label: (*label).to_owned(),
        address: String::new(),
        count: 0,
        chosen: chosen == *name,
    });
    each.collect()
}

/// The fields of less frequent filters; only a hub has branches, workers, people and labels.
fn more_fields(query: &TaskQuery, has_fleet: bool) -> Vec<FilterField> {
    let all = [
        ("model", "model", &query.model, true),
        ("check", "check", &query.check, true),
        ("branch", "branch", &query.branch, has_fleet),
        ("worker", "worker", &query.worker, has_fleet),
        ("by", "submitted by", &query.person, has_fleet),
        ("label", "label", &query.label, has_fleet),
    ];
    let shown = all.into_iter().filter(|(.., shown)| *shown);
    shown
        .map(|(name, label, value, _)| FilterField {
            name,
            label,
            value: value.clone(),
        })
        .collect()
}

fn removable_filters(query: &TaskQuery) -> Vec<RemovableFilter> {
    let mut all = Vec::new();
    let mut add = |label: &'static str, value: &str, remove: fn(&mut TaskQuery)| {
        if value.is_empty() {
            return;
        }
        let mut other = query.with_page(1);
        remove(&mut other);
        all.push(RemovableFilter {
            label,
            value: single_line(value, 80),
            address: other.address(),
        });
    };
    add("branch", &query.branch, |it| it.branch.clear());
    add("worker", &query.worker, |it| it.worker.clear());
    add("model", &query.model, |it| it.model.clear());
    add("submitted by", &query.person, |it| it.person.clear());
    add("label", &query.label, |it| it.label.clear());
    add("day", &query.day, |it| it.day.clear());
    add(
        "result",
        label_of(&TaskQuery::RESULTS, &query.result),
        |it| {
            it.result.clear();
        },
    );
    add("check", &query.check, |it| {
        it.check.clear();
        it.check_result.clear();
        it.check_ms = None;
    });
    let check_result = query.check_result_label().unwrap_or_default();
    add("result of the check", &check_result, |it| {
        it.check_result.clear();
        it.check_ms = None;
    });
    add("finding", &query.finding.replace('_', " "), |it| {
        it.finding.clear();
        it.severity.clear();
    });
    let severity = label_of(&TaskQuery::SEVERITIES, &query.severity);
    add("severity", severity, |it| it.severity.clear());
    all
}

fn label_of<T>(table: &[(&'static str, &'static str, T)], wanted: &str) -> &'static str {
    let found = table.iter().find(|(name, ..)| *name == wanted);
    found.map_or("", |(_, label, _)| label)
}

/// The filters that the form passes on.
fn hidden_filters(query: &TaskQuery, has_fleet: bool) -> Vec<(&'static str, String)> {
    let mut all = vec![
        ("day", query.day.clone()),
        ("finding", query.finding.clone()),
        ("severity", query.severity.clone()),
    ];
    all.extend(query.check_ms.map(|ms| ("check_ms", ms.to_string())));
    let shown = more_fields(query, has_fleet);
    let is_shown = |field: &FilterField| shown.iter().any(|it| it.name == field.name);
    let fields = more_fields(query, true).into_iter();
    let unseen = fields.filter(|field| !is_shown(field));
    all.extend(unseen.map(|field| (field.name, field.value)));
    all.retain(|(_, value)| !value.is_empty());
    all
}

fn heads(query: &TaskQuery) -> Vec<ColumnHead> {
    use TaskQueryOrder as O;
    let columns: [(&str, &str, O); 9] = [
        ("State", "state", O::State),
        ("Task", "what", O::Description),
        ("Agent", "agent", O::Agent),
        ("Repository", "repo", O::Place),
        ("Attempts", "tries", O::Attempts),
        ("Duration", "num took", O::Duration),
        ("Cost", "num cost", O::Cost),
        ("Tokens", "num tokens", O::Tokens),
        ("Age", "num age", O::Created),
    ];
    let head = |(label, class, order): (&'static str, &'static str, O)| ColumnHead {
        label,
        class,
        address: query.sorted_by(order).address(),
        sorted: match (order == query.order, query.ascending) {
            (false, _) => "",
            (true, true) => "ascending",
            (true, false) => "descending",
        },
    };
    columns.map(head).into_iter().collect()
}

/// The last part of a path or URL.
fn place_name(place: &str) -> String {
    let trimmed = place.trim_end_matches('/');
    let name = trimmed.rsplit(['/', ':']).next().unwrap_or(trimmed);
    single_line(name.strip_suffix(".git").unwrap_or(name), 30)
}

impl TaskRowView {
    /// Whether there is more to show than the description. The additional text takes one line, so that all rows have
    /// the same height.
    fn has_second_line(&self) -> bool {
        !self.reason.is_empty() || self.part_of.is_some()
    }

    pub(crate) fn new(row: &TaskListItem, now: Timestamp) -> Self {
        let shown = row.max_attempts.max(row.attempts);
        let pips = (1..=shown.min(MAX_PIPS)).map(|number| match row.status {
            _ if number > row.attempts => "free",
            _ if number < row.attempts => "spent",
            status => status.group(),
        });
        let is_open = matches!(
            row.status,
            DisplayStatus::Running | DisplayStatus::Cancelling
        );
        let end = if is_open { now } else { row.updated_at };
        let elapsed = end.duration_since(row.created_at).as_millis();
        let waits = matches!(row.status, DisplayStatus::Queued);
        Self {
            id: row.id.clone(),
            short: row.short.clone(),
            description: single_line(&row.description, 140),
            agent: single_line(&row.agent, 30),
            place: make_visible(&row.workspace),
            place_name: place_name(&row.workspace),
            place_address: source_address("repository", &row.workspace),
            branch: row.branch.as_deref().map(|name| single_line(name, 60)),
            badge: row.status.into(),
            reason: single_line(&row.reason, 160),
            attempts: format!(
                "{}/{} {}",
                row.attempts,
                row.max_attempts,
                if row.agent == "plan" {
                    "subtasks"
                } else {
                    "attempts"
                }
            ),
            pips: pips.collect(),
            took: if waits {
                "–".to_owned()
            } else {
                duration(u64::try_from(elapsed).unwrap_or(0))
            },
            cost: cost_so_far(row.cost, row.status),
            tokens: row.tokens.map_or_else(String::new, |(input, output)| {
                format!("{} in, {} out", short_count(input), short_count(output))
            }),
            updated: TimeLabel::of(row.updated_at, now),
            created: TimeLabel::of(row.created_at, now),
            worker: row.worker.as_deref().map(|name| single_line(name, 40)),
            part_of: row
                .part_of
                .as_ref()
                .map(|part| single_line(&part.subtask, 40)),
        }
    }
}

//! The list of tasks.

use askama::Template;
use jiff::Timestamp;
use selvedge_core::format::counted;

use super::frame::{PageFrame, StatusBadge, TimeLabel, short_cost, short_count};
use crate::backend::{DisplayStatus, TaskList, TaskListItem, TaskQuery, TaskQueryOrder};
use crate::text::single_line;

/// The page.
#[derive(Template)]
#[template(path = "tasks.html")]
pub(crate) struct TaskListPage {
    frame: PageFrame,
    heading: String,
    rows: Vec<TaskRowView>,
    groups: Vec<FilterOption>,
    agents: Vec<FilterOption>,
    orders: Vec<FilterOption>,
    text: String,
    group: String,
    none_at_all: bool,
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

struct TaskRowView {
    id: String,
    short: String,
    description: String,
    agent: String,
    place: String,
    badge: StatusBadge,
    attempts: String,
    pips: Vec<&'static str>,
    cost: String,
    tokens: String,
    updated: TimeLabel,
    created: TimeLabel,
    worker: Option<String>,
    part_of: Option<String>,
}

/// Maximum number of dots drawn for attempts.
const MAX_PIPS: u32 = 6;

impl TaskListPage {
    pub(crate) fn new(
        frame: PageFrame,
        query: &TaskQuery,
        tasks: &TaskList,
        now: Timestamp,
    ) -> Self {
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
            agents: agent_options(query, tasks),
            orders: order_options(query),
            text: query.text.clone(),
            group: query.group.clone(),
            none_at_all: tasks.all == 0,
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

fn agent_options(query: &TaskQuery, tasks: &TaskList) -> Vec<FilterOption> {
    let each = tasks.agents.iter().map(|agent| FilterOption {
        value: agent.clone(),
        label: single_line(agent, 40),
        address: String::new(),
        count: 0,
        chosen: *agent == query.agent,
    });
    each.collect()
}

fn order_options(query: &TaskQuery) -> Vec<FilterOption> {
    let each = TaskQueryOrder::ALL
        .iter()
        .map(|(order, word, label)| FilterOption {
            value: (*word).to_owned(),
            label: (*label).to_owned(),
            address: String::new(),
            count: 0,
            chosen: *order == query.order,
        });
    each.collect()
}

impl TaskRowView {
    fn new(row: &TaskListItem, now: Timestamp) -> Self {
        let shown = row.max_attempts.max(row.attempts);
        let pips = (1..=shown.min(MAX_PIPS)).map(|number| match row.standing {
            _ if number > row.attempts => "free",
            _ if number < row.attempts => "spent",
            standing => standing.group(),
        });
        Self {
            id: row.id.clone(),
            short: row.short.clone(),
            description: single_line(&row.description, 140),
            agent: single_line(&row.agent, 30),
            place: single_line(&row.workspace, 120),
            badge: row.standing.into(),
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
            cost: short_cost(row.cost),
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

//! The list of tasks.

use askama::Template;
use jiff::Timestamp;
use selvedge_core::words::counted;

use super::frame::{Badge, Frame, When, short_cost, short_count};
use crate::reading::{Order, Standing, TaskQuery, TaskRow, Tasks};
use crate::text::line;

/// The page.
#[derive(Template)]
#[template(path = "tasks.html")]
pub(crate) struct TasksPage {
    frame: Frame,
    heading: String,
    rows: Vec<Row>,
    groups: Vec<Choice>,
    agents: Vec<Choice>,
    orders: Vec<Choice>,
    text: String,
    group: String,
    none_at_all: bool,
    range: String,
    previous: Option<String>,
    next: Option<String>,
}

/// Something that can be chosen.
struct Choice {
    value: String,
    label: String,
    address: String,
    count: usize,
    chosen: bool,
}

struct Row {
    id: String,
    short: String,
    description: String,
    agent: String,
    place: String,
    badge: Badge,
    attempts: String,
    pips: Vec<&'static str>,
    cost: String,
    tokens: String,
    updated: When,
    created: When,
    worker: Option<String>,
    part_of: Option<String>,
}

/// Most pips that are drawn for attempts.
const PIPS: u32 = 6;

impl TasksPage {
    pub(crate) fn new(frame: Frame, query: &TaskQuery, tasks: &Tasks, now: Timestamp) -> Self {
        let first = query.first();
        let last = first + tasks.rows.len();
        let range = if tasks.matching > tasks.rows.len() {
            format!("{}–{last} of {}", first + 1, tasks.matching)
        } else {
            String::new()
        };
        Self {
            heading: counted(tasks.matching as u64, "task"),
            rows: tasks.rows.iter().map(|row| Row::new(row, now)).collect(),
            groups: groups(query, tasks),
            agents: agents(query, tasks),
            orders: orders(query),
            text: query.text.clone(),
            group: query.group.clone(),
            none_at_all: tasks.all == 0,
            previous: (query.page > 1).then(|| query.on_page(query.page - 1).address()),
            next: (last < tasks.matching).then(|| query.on_page(query.page + 1).address()),
            range,
            frame,
        }
    }
}

fn groups(query: &TaskQuery, tasks: &Tasks) -> Vec<Choice> {
    let all = Choice {
        value: String::new(),
        label: "all".to_owned(),
        address: query.of_group("").address(),
        count: tasks.groups.values().sum(),
        chosen: query.group.is_empty(),
    };
    let each = Standing::GROUPS.iter().filter_map(|(group, label)| {
        let count = tasks.groups.get(group).copied().unwrap_or(0);
        let chosen = query.group == *group;
        (count > 0 || chosen).then(|| Choice {
            value: (*group).to_owned(),
            label: (*label).to_owned(),
            address: query.of_group(group).address(),
            count,
            chosen,
        })
    });
    std::iter::once(all).chain(each).collect()
}

fn agents(query: &TaskQuery, tasks: &Tasks) -> Vec<Choice> {
    let each = tasks.agents.iter().map(|agent| Choice {
        value: agent.clone(),
        label: line(agent, 40),
        address: String::new(),
        count: 0,
        chosen: *agent == query.agent,
    });
    each.collect()
}

fn orders(query: &TaskQuery) -> Vec<Choice> {
    let each = Order::ALL.iter().map(|(order, word, label)| Choice {
        value: (*word).to_owned(),
        label: (*label).to_owned(),
        address: String::new(),
        count: 0,
        chosen: *order == query.order,
    });
    each.collect()
}

impl Row {
    fn new(row: &TaskRow, now: Timestamp) -> Self {
        let shown = row.max_attempts.max(row.attempts);
        let pips = (1..=shown.min(PIPS)).map(|number| match row.standing {
            _ if number > row.attempts => "free",
            _ if number < row.attempts => "spent",
            standing => standing.group(),
        });
        Self {
            id: row.id.clone(),
            short: row.short.clone(),
            description: line(&row.description, 140),
            agent: line(&row.agent, 30),
            place: line(&row.workspace, 120),
            badge: row.standing.into(),
            attempts: format!(
                "{}/{} {}",
                row.attempts,
                row.max_attempts,
                if row.agent == "plan" {
                    "parts"
                } else {
                    "attempts"
                }
            ),
            pips: pips.collect(),
            cost: short_cost(row.cost),
            tokens: row.tokens.map_or_else(String::new, |(input, output)| {
                format!("{} in, {} out", short_count(input), short_count(output))
            }),
            updated: When::of(row.updated_at, now),
            created: When::of(row.created_at, now),
            worker: row.worker.as_deref().map(|name| line(name, 40)),
            part_of: row.part_of.as_ref().map(|part| line(&part.subtask, 40)),
        }
    }
}

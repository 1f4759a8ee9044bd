//! The workers and the queue.

use askama::Template;
use jiff::Timestamp;
use selvedge_core::format::duration;

use super::frame::{PageFrame, TimeLabel};
use super::insights::source_address;
use crate::backend::{FleetOverview, WorkerSummary};
use crate::text::single_line;

/// The page.
#[derive(Template)]
#[template(path = "fleet.html")]
pub(crate) struct FleetPage {
    frame: PageFrame,
    numbers: Vec<(&'static str, String)>,
    workers: Vec<WorkerView>,
    unschedulable: Vec<(String, String, String)>,
}

pub(crate) struct WorkerView {
    pub(crate) name: String,
    /// Its page.
    pub(crate) address: String,
    pub(crate) connected: bool,
    /// Until when it gets no tasks, and why.
    pub(crate) quarantine: Option<(String, String)>,
    pub(crate) labels: String,
    pub(crate) agents: String,
    pub(crate) slots: String,
    pub(crate) runs: Vec<(String, String)>,
    pub(crate) lost_leases: u64,
    pub(crate) version: String,
    pub(crate) sandbox: String,
    pub(crate) seen: Option<TimeLabel>,
}

impl FleetPage {
    pub(crate) fn new(frame: PageFrame, fleet: &FleetOverview, now: Timestamp) -> Self {
        let time = |millis: Option<u64>| millis.map_or_else(|| "–".to_owned(), duration);
        let slots: u32 = fleet
            .workers
            .iter()
            .filter(|worker| worker.connected)
            .map(|worker| worker.slots)
            .sum();
        Self {
            frame,
            numbers: vec![
                ("waiting", fleet.queued.to_string()),
                ("running", fleet.running.to_string()),
                ("slots", slots.to_string()),
                ("longest wait", time(fleet.oldest_waiting_ms)),
                ("median wait", time(fleet.median_wait_ms)),
            ],
            workers: fleet
                .workers
                .iter()
                .map(|worker| WorkerView::new(worker, now))
                .collect(),
            unschedulable: fleet
                .unschedulable
                .iter()
                .map(|it| {
                    let description = single_line(&it.description, 120);
                    (it.id.clone(), description, single_line(&it.reason, 200))
                })
                .collect(),
        }
    }
}

impl WorkerView {
    pub(crate) fn new(worker: &WorkerSummary, now: Timestamp) -> Self {
        Self {
            name: single_line(&worker.name, 60),
            address: source_address("worker", &worker.name),
            connected: worker.connected,
            quarantine: worker.quarantine.as_ref().map(|(until, reason)| {
                let until = until.strftime("%H:%M UTC").to_string();
                (until, single_line(reason, 200))
            }),
            labels: single_line(&worker.labels.join(", "), 200),
            agents: match &worker.agents {
                None => "any".to_owned(),
                Some(agents) => single_line(&agents.join(", "), 200),
            },
            slots: format!("{} of {}", worker.runs.len(), worker.slots),
            runs: worker
                .runs
                .iter()
                .map(|(id, about)| (id.clone(), single_line(about, 80)))
                .collect(),
            lost_leases: worker.lost_leases,
            version: single_line(&worker.version, 40),
            sandbox: single_line(&worker.sandbox, 120),
            seen: worker.seen.map(|seen| TimeLabel::of(seen, now)),
        }
    }
}

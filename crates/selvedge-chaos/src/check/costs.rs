//! Invariant 10: the total cost is the sum over distinct calls and equals the provider's own ledger. A
//! call whose price the hub could not learn is recorded as unknown.

use crate::history::{History, ObservedTask, ProviderCall};

pub(super) fn check(history: &History) -> Vec<String> {
    let mut violations = Vec::new();
    for (id, task) in &history.tasks {
        for run in &task.runs {
            // Agents that started without a recorded attempt are reported by invariant 7.
            let holder = task.holder_at_run(run.number);
            let ours = |call: &&ProviderCall| {
                &call.task == id && call.run == run.number && Some(call.worker.as_str()) == holder
            };
            let actual_cost: u64 = history
                .calls
                .iter()
                .filter(ours)
                .map(|call| call.micro_usd)
                .sum();
            let lines = task.costs.iter().filter(|cost| cost.run == run.number);
            let unknown = lines.clone().any(|cost| cost.micro_usd.is_none());
            let hub_cost: u64 = lines.filter_map(|cost| cost.micro_usd).sum();
            if hub_cost != actual_cost && (!unknown || hub_cost > actual_cost) {
                violations.push(format!(
                    "{id}: attempt {} cost {actual_cost} micro-dollars; the hub recorded {hub_cost}{}",
                    run.number,
                    if unknown {
                        " and an unknown amount"
                    } else {
                        ""
                    }
                ));
            }
        }
        violations.extend(
            unattributed_costs(task)
                .into_iter()
                .map(|what| format!("{id}: {what}")),
        );
    }
    violations
}

fn unattributed_costs(task: &ObservedTask) -> Vec<String> {
    let runs: Vec<u32> = task.runs.iter().map(|run| run.number).collect();
    let unattributed = task.costs.iter().filter(|cost| !runs.contains(&cost.run));
    unattributed
        .map(|cost| {
            format!(
                "call {} is of attempt {}, which never started",
                cost.call, cost.run
            )
        })
        .collect()
}

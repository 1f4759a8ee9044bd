//! JSON Schemas of what Selvedge reads and writes, from the types that do it.

use schemars::{JsonSchema, schema_for};
use selvedge_core::fleet::{HubMessage, TaskRow, WorkerMessage};
use selvedge_core::model::{
    Envelope, PlanResult, PluginReport, PluginRequest, Report, RunResult, Task,
};
use serde_json::Value;

use super::Files;
use crate::Done;

pub(super) fn all() -> Done<Files> {
    let schemas = [
        ("task", of::<Task>()),
        ("report", of::<Report>()),
        ("result", of::<RunResult>()),
        ("plan-result", of::<PlanResult>()),
        ("envelope", of::<Envelope>()),
        ("plugin-request", of::<PluginRequest>()),
        ("plugin-report", of::<PluginReport>()),
        ("worker-message", of::<WorkerMessage>()),
        ("hub-message", of::<HubMessage>()),
        ("task-row", of::<TaskRow>()),
        ("config", selvedge_core::config::json_schema()),
    ];
    let files = schemas.into_iter().map(|(name, schema)| {
        let text = serde_json::to_string_pretty(&schema)?;
        Ok((format!("docs/schemas/{name}.json"), text + "\n"))
    });
    files.collect()
}

fn of<T: JsonSchema>() -> Value {
    schema_for!(T).to_value()
}

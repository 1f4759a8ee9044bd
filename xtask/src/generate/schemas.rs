//! JSON Schemas of the documents that Selvedge reads and writes, from the Rust types.

use schemars::{JsonSchema, schema_for};
use selvedge_core::model::{
    Envelope, PlanResult, PluginReport, PluginRequest, Report, RunResult, Task,
};
use selvedge_protocol::{HubMessage, TaskRow, WorkerMessage};
use serde_json::Value;

use super::GeneratedFiles;
use crate::XtaskResult;

pub(super) fn generate_schemas() -> XtaskResult<GeneratedFiles> {
    let schemas = [
        ("task", schema_of::<Task>()),
        ("report", schema_of::<Report>()),
        ("result", schema_of::<RunResult>()),
        ("plan-result", schema_of::<PlanResult>()),
        ("envelope", schema_of::<Envelope>()),
        ("plugin-request", schema_of::<PluginRequest>()),
        ("plugin-report", schema_of::<PluginReport>()),
        ("worker-message", schema_of::<WorkerMessage>()),
        ("hub-message", schema_of::<HubMessage>()),
        ("task-row", schema_of::<TaskRow>()),
        ("config", selvedge_core::config::json_schema()),
    ];
    let files = schemas.into_iter().map(|(name, schema)| {
        let text = serde_json::to_string_pretty(&schema)?;
        Ok((format!("docs/schemas/{name}.json"), text + "\n"))
    });
    files.collect()
}

fn schema_of<T: JsonSchema>() -> Value {
    schema_for!(T).to_value()
}

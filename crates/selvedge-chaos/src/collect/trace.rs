//! Workers' traces: one JSON object per line, in the order of writing. Lines that a crash truncated are
//! ignored.

use std::path::Path;

use serde_json::Value;

use super::CollectError;
use crate::history::{TraceEvent, WorkerTrace};

/// Reads the trace of a worker; a missing file is an empty trace.
pub fn read_traces(worker: &str, path: &Path) -> Result<Vec<WorkerTrace>, CollectError> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read?,
    };
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    Ok(lines
        .filter_map(|line| parse_trace(worker, &line))
        .collect())
}

fn parse_trace(worker: &str, line: &Value) -> Option<WorkerTrace> {
    let what = match line["what"].as_str()? {
        "drive_began" => TraceEvent::DriveBegan,
        "drive_ended" => TraceEvent::DriveEnded,
        "acked" => TraceEvent::Acked(line["seq"].as_u64()?),
        "report" => TraceEvent::Report {
            seq: line["seq"].as_u64()?,
            run: u32::try_from(line["run"].as_u64()?).ok()?,
            body: line["body"].as_str()?.to_owned(),
        },
        _ => return None,
    };
    Some(WorkerTrace {
        worker: worker.to_owned(),
        pid: i32::try_from(line["pid"].as_u64()?).ok()?,
        at_us: line["at_us"].as_u64()?,
        task: line["task"].as_str()?.to_owned(),
        epoch: line["epoch"].as_u64()?,
        event: what,
    })
}

//! What a worker traced: one JSON object a line, in the order of their writing. A line that a crash cut
//! short is no line.

use std::path::Path;

use serde_json::Value;

use super::Unread;
use crate::history::{Trace, Traced};

/// Reads a worker's trace, and the points at which its processes died.
pub fn traces(worker: &str, path: &Path) -> Result<Vec<Trace>, Unread> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read?,
    };
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    Ok(lines.filter_map(|line| trace(worker, &line)).collect())
}

fn trace(worker: &str, line: &Value) -> Option<Trace> {
    let what = match line["what"].as_str()? {
        "drive_began" => Traced::DriveBegan,
        "drive_ended" => Traced::DriveEnded,
        "acked" => Traced::Acked(line["seq"].as_u64()?),
        "report" => Traced::Report {
            seq: line["seq"].as_u64()?,
            run: u32::try_from(line["run"].as_u64()?).ok()?,
            body: line["body"].as_str()?.to_owned(),
        },
        _ => return None,
    };
    Some(Trace {
        worker: worker.to_owned(),
        pid: i32::try_from(line["pid"].as_u64()?).ok()?,
        at_us: line["at_us"].as_u64()?,
        task: line["task"].as_str()?.to_owned(),
        epoch: line["epoch"].as_u64()?,
        what,
    })
}

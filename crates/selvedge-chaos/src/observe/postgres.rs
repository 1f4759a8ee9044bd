//! The hubs' tables from a PostgreSQL server, each row as the JSON that the server makes of it. By its own
//! SQL, not the store's: what is checked is what stands there.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Unread;
use crate::history::{Cost, Report, Run, Task};

/// Reads all of it; `ask` answers a statement with a line for each row.
pub fn postgres_tables(ask: impl Fn(&str) -> String) -> Result<BTreeMap<String, Task>, Unread> {
    let rows = |of: &str, order: &str| {
        let query = format!(
            "SELECT row_to_json(x) FROM (SELECT request.task_id AS of, it.* FROM {of} it
             JOIN request USING (task_no) ORDER BY {order}) x"
        );
        let text = ask(&query);
        let rows: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
        rows.map_err(Unread::from)
    };
    let mut tasks = BTreeMap::new();
    for row in rows("task", "task_no")? {
        tasks.insert(get::<String>(&row, "of")?, task(&row)?);
    }
    let mut put = |of: &str, order: &str, into: fn(&mut Task, &Value) -> Result<(), Unread>| {
        for row in rows(of, order)? {
            into(tasks.entry(get(&row, "of")?).or_default(), &row)?;
        }
        Ok::<(), Unread>(())
    };
    put(
        "(SELECT task_no, priority, max_attempts, created_at, body FROM request)",
        "task_no",
        |task, row| {
            let body: Value = serde_json::from_str(&get::<String>(row, "body")?)?;
            task.description = get(&body, "description")?;
            task.priority = get(row, "priority")?;
            task.max_attempts = get(row, "max_attempts")?;
            task.created_at = get(row, "created_at")?;
            Ok(())
        },
    )?;
    put("log", "task_no, seq", |task, row| {
        let event = serde_json::from_str(&get::<String>(row, "event")?)?;
        task.log.push((get(row, "seq")?, event));
        Ok(())
    })?;
    put("run", "task_no, run_number", |task, row| {
        task.runs.push(Run {
            number: get(row, "run_number")?,
            epoch: get(row, "epoch")?,
            closing: get(row, "closing")?,
        });
        Ok(())
    })?;
    put("report", "task_no, run_number", |task, row| {
        task.reports.push(Report {
            run: get(row, "run_number")?,
            epoch: get(row, "epoch")?,
            digest: bytes(&get::<String>(row, "digest")?)?,
            body: get(row, "body")?,
        });
        Ok(())
    })?;
    put("journal", "task_no, seq", |task, row| {
        task.journal.push((get(row, "seq")?, get(row, "event")?));
        Ok(())
    })?;
    put("cost", "task_no, run_number", |task, row| {
        let known = row["source"] != "unknown";
        task.costs.push(Cost {
            run: get(row, "run_number")?,
            call: get(row, "call_id")?,
            micro_usd: get::<Option<u64>>(row, "micro_usd")?.filter(|_| known),
        });
        Ok(())
    })?;
    put("result", "task_no", |task, row| {
        let body = serde_json::from_str(&get::<String>(row, "body")?)?;
        task.results.push((get(row, "completion_id")?, body));
        Ok(())
    })?;
    Ok(tasks)
}

fn task(row: &Value) -> Result<Task, Unread> {
    Ok(Task {
        state: get(row, "state")?,
        epoch: get(row, "epoch")?,
        worker: get(row, "worker")?,
        last_run: get(row, "last_run")?,
        open_run: get(row, "open_run")?,
        reports_counted: get(row, "reports")?,
        losses: get(row, "losses")?,
        cancel: get(row, "cancel")?,
        completion: get(row, "completion")?,
        outcome: get(row, "outcome")?,
        rank: get(row, "rank")?,
        event_seq: get(row, "event_seq")?,
        log_seq: get(row, "log_seq")?,
        ..Task::default()
    })
}

fn get<T: DeserializeOwned>(row: &Value, name: &str) -> Result<T, Unread> {
    serde_json::from_value(row[name].clone()).map_err(|error| format!("{name}: {error}").into())
}

/// Bytes as PostgreSQL writes them: `\x` and two digits for each.
fn bytes(text: &str) -> Result<Vec<u8>, Unread> {
    let digits = text.strip_prefix("\\x").ok_or("no bytes")?;
    let pairs = (0..digits.len()).step_by(2);
    let read = pairs.map(|at| u8::from_str_radix(digits.get(at..at + 2).unwrap_or(""), 16));
    Ok(read.collect::<Result<_, _>>()?)
}

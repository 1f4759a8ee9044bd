//! Reads the hubs' tables from a PostgreSQL server, each row as JSON. Uses its own SQL instead of the
//! store's, so that a bug in the store's queries cannot hide what is stored.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::CollectError;
use crate::history::{ObservedAttempt, ObservedCost, ObservedReport, ObservedTask};

/// Reads all tables; `ask` runs a query and returns one line for each row.
pub fn read_postgres_tables(
    ask: impl Fn(&str) -> String,
) -> Result<BTreeMap<String, ObservedTask>, CollectError> {
    let rows = |of: &str, order: &str| {
        let query = format!(
            "SELECT row_to_json(x) FROM (SELECT request.task_id AS of, it.* FROM {of} it
             JOIN request USING (task_no) ORDER BY {order}) x"
        );
        let text = ask(&query);
        let rows: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
        rows.map_err(CollectError::from)
    };
    let mut tasks = BTreeMap::new();
    for row in rows("task", "task_no")? {
        tasks.insert(get_column::<String>(&row, "of")?, parse_task(&row)?);
    }
    let mut put =
        |of: &str, order: &str, into: fn(&mut ObservedTask, &Value) -> Result<(), CollectError>| {
            for row in rows(of, order)? {
                into(tasks.entry(get_column(&row, "of")?).or_default(), &row)?;
            }
            Ok::<(), CollectError>(())
        };
    put(
        "(SELECT task_no, priority, max_attempts, created_at, body FROM request)",
        "task_no",
        |task, row| {
            let body: Value = serde_json::from_str(&get_column::<String>(row, "body")?)?;
            task.description = get_column(&body, "description")?;
            task.priority = get_column(row, "priority")?;
            task.max_attempts = get_column(row, "max_attempts")?;
            task.created_at = get_column(row, "created_at")?;
            Ok(())
        },
    )?;
    put("log", "task_no, seq", |task, row| {
        let event = serde_json::from_str(&get_column::<String>(row, "event")?)?;
        task.log.push((get_column(row, "seq")?, event));
        Ok(())
    })?;
    put("attempt", "task_no, attempt_number", |task, row| {
        task.runs.push(ObservedAttempt {
            number: get_column(row, "attempt_number")?,
            epoch: get_column(row, "epoch")?,
            closing: get_column(row, "closed_as")?,
        });
        Ok(())
    })?;
    put("report", "task_no, attempt_number", |task, row| {
        task.reports.push(ObservedReport {
            run: get_column(row, "attempt_number")?,
            epoch: get_column(row, "epoch")?,
            digest: parse_bytea(&get_column::<String>(row, "digest")?)?,
            body: get_column(row, "body")?,
        });
        Ok(())
    })?;
    put("journal", "task_no, seq", |task, row| {
        task.journal
            .push((get_column(row, "seq")?, get_column(row, "event")?));
        Ok(())
    })?;
    put("cost", "task_no, attempt_number", |task, row| {
        let is_known = row["source"] != "unknown";
        task.costs.push(ObservedCost {
            run: get_column(row, "attempt_number")?,
            call: get_column(row, "call_id")?,
            micro_usd: get_column::<Option<u64>>(row, "micro_usd")?.filter(|_| is_known),
        });
        Ok(())
    })?;
    put("result", "task_no", |task, row| {
        let body = serde_json::from_str(&get_column::<String>(row, "body")?)?;
        task.results.push((get_column(row, "completion_id")?, body));
        Ok(())
    })?;
    Ok(tasks)
}

fn parse_task(row: &Value) -> Result<ObservedTask, CollectError> {
    Ok(ObservedTask {
        state: get_column(row, "state")?,
        epoch: get_column(row, "epoch")?,
        worker: get_column(row, "worker")?,
        last_run: get_column(row, "last_attempt")?,
        open_run: get_column(row, "open_attempt")?,
        reports_counted: get_column(row, "reports")?,
        losses: get_column(row, "losses")?,
        cancel: get_column(row, "cancel")?,
        completion: get_column(row, "completion")?,
        outcome: get_column(row, "outcome")?,
        rank: get_column(row, "rank")?,
        event_seq: get_column(row, "event_seq")?,
        log_seq: get_column(row, "log_seq")?,
        ..ObservedTask::default()
    })
}

fn get_column<T: DeserializeOwned>(row: &Value, name: &str) -> Result<T, CollectError> {
    serde_json::from_value(row[name].clone()).map_err(|error| format!("{name}: {error}").into())
}

/// Parses a `bytea` value as PostgreSQL prints it: `\x` and two hexadecimal digits for each byte.
fn parse_bytea(text: &str) -> Result<Vec<u8>, CollectError> {
    let digits = text.strip_prefix("\\x").ok_or("no bytes")?;
    let pairs = (0..digits.len()).step_by(2);
    let read = pairs.map(|at| u8::from_str_radix(digits.get(at..at + 2).unwrap_or(""), 16));
    Ok(read.collect::<Result<_, _>>()?)
}

//! `selvedge audit`: shows and exports the hub's audit log.

use selvedge_core::model::exit_code;
use selvedge_protocol::{AuditPage, AuditRow};

use crate::cli::AuditArgs;
use crate::error::CliError;
use crate::hub_client::HubClient;
use crate::output::{OutputFormat, json};
use crate::streams::output_failed;
use crate::terminal::{one_line, style};

/// Number of entries without `--limit`.
const DEFAULT_ENTRIES: u64 = 50;
/// The hub's maximum.
const ENTRIES_PER_PAGE: u64 = 1_000;

pub(super) async fn audit(hub: &HubClient, args: &AuditArgs) -> Result<u8, CliError> {
    let is_export = args.format == OutputFormat::Jsonl;
    let default_limit = if is_export { u64::MAX } else { DEFAULT_ENTRIES };
    let mut left = args.limit.unwrap_or(default_limit);
    // An export must not miss what is written meanwhile.
    let mut after = args.after.or(is_export.then_some(0));
    let mut before: Option<u64> = None;
    let mut entries: Vec<AuditRow> = Vec::new();
    while left > 0 {
        let limit = left.min(ENTRIES_PER_PAGE);
        let mut query = vec![("limit", limit.to_string())];
        let mut filter = |name, value: &Option<String>| {
            query.extend(value.clone().map(|value| (name, value)));
        };
        filter("actor", &args.actor);
        filter("action", &args.action);
        filter("subject", &args.subject);
        query.extend(after.map(|after| ("after", after.to_string())));
        query.extend(before.map(|before| ("before", before.to_string())));
        let page: AuditPage = hub.get("/audit", &query).await?;
        let Some(last) = page.entries.last().map(|entry| entry.seq) else {
            break;
        };
        if after.is_some() {
            after = Some(last);
        } else {
            before = Some(last);
        }
        let count = u64::try_from(page.entries.len()).unwrap_or(u64::MAX);
        left = left.saturating_sub(count);
        match args.format {
            OutputFormat::Jsonl => page.entries.iter().for_each(json::print_json),
            OutputFormat::Human => page
                .entries
                .iter()
                .for_each(|entry| outln!("{}", entry_line(entry))),
            OutputFormat::Json => entries.extend(page.entries),
        }
        if count < limit || output_failed() {
            break;
        }
    }
    if args.format == OutputFormat::Json {
        json::print_json(&entries);
    }
    Ok(exit_code::VERIFIED)
}

fn entry_line(entry: &AuditRow) -> String {
    format!(
        "{:>6}  {}  {}  {:<14}  {}  {}",
        entry.seq,
        style::dim(entry.at.strftime("%Y-%m-%d %H:%M:%S")),
        style::strong(format!("{:<20}", one_line(&entry.actor, 20))),
        entry.action,
        entry.subject,
        one_line(&entry.detail, 120),
    )
}

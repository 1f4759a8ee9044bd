//! The resources: the report and the digest of each attempt of a run.

use rmcp::model::{Resource, ResourceContents, ResourceTemplate};
use selvedge_core::sanitize::sanitize_text;
use selvedge_store::{Journal, RunFilter};

use super::explain::explain_report;
use crate::commands::{environment, show};
use crate::error::CliError;
use crate::local::StateDir;

/// Number of runs, the newest ones, whose resources are listed.
const LISTED_RUNS: usize = 20;
const SCHEME: &str = "selvedge://runs/";

/// A kind of resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResourceKind {
    Report,
    Digest,
}

impl ResourceKind {
    const ALL: [Self; 2] = [Self::Report, Self::Digest];

    const fn name(self) -> &'static str {
        match self {
            Self::Report => "report",
            Self::Digest => "digest",
        }
    }

    const fn description(self) -> &'static str {
        match self {
            Self::Report => "The report of an attempt's checks, as JSON.",
            Self::Digest => "A summary of the failures of an attempt.",
        }
    }

    const fn mime_type(self) -> &'static str {
        match self {
            Self::Report => "application/json",
            Self::Digest => "text/plain",
        }
    }
}

/// The address of a resource.
#[derive(Debug, PartialEq, Eq)]
struct ResourceAddress {
    run: String,
    kind: ResourceKind,
    attempt: u32,
}

impl ResourceAddress {
    fn parse(uri: &str) -> Option<Self> {
        let mut parts = uri.strip_prefix(SCHEME)?.split('/');
        let (run, kind, attempt) = (parts.next()?, parts.next()?, parts.next()?);
        let kind = ResourceKind::ALL.into_iter().find(|it| it.name() == kind)?;
        parts.next().is_none().then_some(())?;
        Some(Self {
            run: run.to_owned(),
            kind,
            attempt: attempt.parse().ok()?,
        })
    }
}

/// The templates of all resources.
pub(super) fn resource_templates() -> Vec<ResourceTemplate> {
    let template = |kind: ResourceKind| {
        let name = kind.name();
        ResourceTemplate::new(format!("{SCHEME}{{id}}/{name}/{{attempt}}"), name)
            .with_description(kind.description())
            .with_mime_type(kind.mime_type())
    };
    ResourceKind::ALL.into_iter().map(template).collect()
}

/// The resources of the newest runs.
pub(super) fn list_resources() -> Result<Vec<Resource>, CliError> {
    let home = StateDir::from_environment(&environment())?;
    let Some(journal) = home.open_existing_journal()? else {
        return Ok(Vec::new());
    };
    let runs = journal
        .runs(&RunFilter::default(), LISTED_RUNS, None)
        .map_err(CliError::infrastructure)?;
    let mut resources = Vec::new();
    for summary in runs {
        let state = home.replay(&journal, summary.run_id)?;
        let Some(run) = &state.run else { continue };
        for (attempt, _) in run.verified_attempts() {
            let number = attempt.attempt_number;
            resources.extend(ResourceKind::ALL.map(|kind| {
                let name = kind.name();
                let uri = format!("{SCHEME}{}/{name}/{number}", run.run_id);
                let title = format!("{name} of attempt {number} of run {}", run.run_id.short());
                Resource::new(uri, title).with_mime_type(kind.mime_type())
            }));
        }
    }
    Ok(resources)
}

/// Reads a resource. `None` if the address is none of ours.
pub(super) fn read_resource(uri: &str) -> Result<Option<ResourceContents>, CliError> {
    let Some(address) = ResourceAddress::parse(uri) else {
        return Ok(None);
    };
    let home = StateDir::from_environment(&environment())?;
    let journal = home.open_journal_read_only()?;
    let run_id = home.find_run(&journal, &address.run)?;
    let state = home.replay(&journal, run_id)?;
    let run = state
        .run
        .ok_or_else(|| CliError::usage("a plan has subtasks, not attempts"))?;
    let attempt = show::find_attempt(&run, address.attempt)?;
    let Some(report) = &attempt.report else {
        let error = format!("no checks ran for attempt {}", address.attempt);
        return Err(CliError::usage(error));
    };
    let text = match address.kind {
        ResourceKind::Report => {
            serde_json::to_string_pretty(report).map_err(CliError::infrastructure)?
        }
        ResourceKind::Digest => sanitize_text(&explain_report(report)),
    };
    let contents = ResourceContents::text(text, uri).with_mime_type(address.kind.mime_type());
    Ok(Some(contents))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resource_address_is_parsed_completely_or_not_at_all() {
        let parsed = ResourceAddress::parse("selvedge://runs/4f2a/digest/2");
        let expected = ResourceAddress {
            run: "4f2a".to_owned(),
            kind: ResourceKind::Digest,
            attempt: 2,
        };
        assert_eq!(parsed, Some(expected));
        for wrong in [
            "selvedge://runs/4f2a/digest",
            "selvedge://runs/4f2a/digest/2/3",
            "selvedge://runs/4f2a/diff/2",
            "selvedge://runs/4f2a/digest/x",
            "file:///etc/passwd",
        ] {
            assert_eq!(ResourceAddress::parse(wrong), None, "{wrong}");
        }
    }
}

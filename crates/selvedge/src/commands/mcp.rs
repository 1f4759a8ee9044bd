//! `selvedge mcp`: checks, digests and runs as tools, and reports as resources, for any agent that supports the Model
//! Context Protocol, over standard input and output.

mod arguments;
mod command;
mod explain;
mod resources;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ServerCapabilities,
    ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use selvedge_core::export::{ReportVerdict, ResultCategory};
use selvedge_core::model::{Report, exit_code};
use selvedge_core::prompt;
use selvedge_digest::{DEFAULT_BUDGET_TOKENS, DigestBudget, Hints, analyse};
use selvedge_engine::process::TAG_VARIABLE;
use serde_json::{Map, Value};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::run_checks::{build_runtime, load_project_checks, run_checks_cancellable};

use super::{canonical_directory, digest, environment, show};
use crate::cli::McpArgs;
use crate::error::CliError;
use crate::local::StateDir;
use crate::output::json::JsonReporter;
use crate::secrets;
use arguments::{
    DigestCall, ExplainCall, RestoreCall, ReviewCall, RunCall, ShowCall, SubmitCall, VerifyCall,
    WatchCall, parse_arguments,
};
use command::{CommandGroup, run_command};

/// Token limit for all digests of one answer together, to save the agent's context.
const FEEDBACK_TOKENS: usize = 1_500;
/// Longest answer, in characters.
const MAX_ANSWER_CHARS: usize = 24_000;

const INSTRUCTIONS: &str = "Independent checks for your work. Call `verify` before you say that you are \
    done: it runs the project's own checks and says what fails. Never weaken a check to make it pass. `run` has another \
    agent do a task, `explain` says why a run ended as it did.";

pub(super) fn run(args: &McpArgs) -> Result<u8, CliError> {
    let commands = CommandGroup::default();
    let server = McpServer {
        dir: canonical_directory(args.dir.as_deref())?,
        verify_lock: Mutex::new(()),
        commands: commands.clone(),
    };
    build_runtime()?.block_on(async {
        let served = server.serve(rmcp::transport::stdio()).await;
        let served = served.map_err(CliError::infrastructure)?;
        let ended = served.waiting().await;
        commands.stop().await;
        ended.map_err(CliError::infrastructure)?;
        Ok(exit_code::VERIFIED)
    })
}

#[derive(Debug)]
struct McpServer {
    dir: PathBuf,
    /// Runs checks one at a time: they share the project's directory.
    verify_lock: Mutex<()>,
    commands: CommandGroup,
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("selvedge", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tool = |(name, about, schema): (&'static str, &'static str, Map<String, Value>)| {
            Tool::new(name, about, Arc::new(schema))
        };
        Ok(ListToolsResult::with_all_items(
            arguments::tool_definitions()
                .into_iter()
                .map(tool)
                .collect(),
        ))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let answer = self.dispatch_tool(&request.name, arguments, &context).await;
        let result = match answer? {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(truncate_answer(&text))]),
            Err(error) => CallToolResult::error(vec![ContentBlock::text(error.to_plain_text())]),
        };
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        match run_blocking(resources::list_resources).await {
            Ok(resources) => Ok(ListResourcesResult::with_all_items(resources)),
            Err(error) => Err(ErrorData::internal_error(error.to_plain_text(), None)),
        }
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = resources::resource_templates();
        Ok(ListResourceTemplatesResult::with_all_items(templates))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri.clone();
        let missing = match run_blocking(move || resources::read_resource(&uri)).await {
            Ok(Some(contents)) => return Ok(ReadResourceResult::new(vec![contents]).into()),
            Ok(None) => format!("unknown resource `{}`", request.uri),
            Err(error) => error.to_plain_text(),
        };
        Err(ErrorData::resource_not_found(missing, None))
    }
}

/// The result of a tool; the outer error is for an invalid call.
type ToolCallResult = Result<Result<String, CliError>, ErrorData>;

impl McpServer {
    async fn dispatch_tool(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        context: &RequestContext<RoleServer>,
    ) -> ToolCallResult {
        match tool {
            "verify" => {
                let VerifyCall {} = parse_arguments(arguments)?;
                Ok(self.verify(context.ct.clone()).await)
            }
            "digest" => Ok(digest_output(&parse_arguments(arguments)?)),
            "show" => {
                let call: ShowCall = parse_arguments(arguments)?;
                Ok(run_blocking(move || show::run_details_text(&call.run, call.attempt)).await)
            }
            "explain" => {
                let call: ExplainCall = parse_arguments(arguments)?;
                Ok(run_blocking(move || explain::explain_run(&call.run)).await)
            }
            "run" => Ok(self.run_task(&parse_arguments(arguments)?, context).await),
            "submit" => {
                let call: SubmitCall = parse_arguments(arguments)?;
                Ok(run_command(&call.command_line(), &self.dir, context, &self.commands).await)
            }
            "watch" => {
                let call: WatchCall = parse_arguments(arguments)?;
                Ok(run_command(&call.command_line(), &self.dir, context, &self.commands).await)
            }
            "review" => Ok(self.review(&parse_arguments(arguments)?, context).await),
            "restore" => Ok(self.restore(&parse_arguments(arguments)?, context).await),
            _ => Err(ErrorData::invalid_params(
                format!("unknown tool `{tool}`"),
                None,
            )),
        }
    }

    async fn run_task(
        &self,
        call: &RunCall,
        context: &RequestContext<RoleServer>,
    ) -> Result<String, CliError> {
        let dir = match &call.dir {
            Some(dir) => canonical_directory(Some(&self.dir.join(dir)))?,
            None => self.dir.clone(),
        };
        ensure_within(&dir, &self.dir)?;
        run_command(&call.command_line(), &dir, context, &self.commands).await
    }

    async fn restore(
        &self,
        call: &RestoreCall,
        context: &RequestContext<RoleServer>,
    ) -> Result<String, CliError> {
        if let Some(run) = call.run.clone() {
            let dir = self.dir.clone();
            run_blocking(move || ensure_run_within(&run, &dir)).await?;
        }
        run_command(&call.command_line(), &self.dir, context, &self.commands).await
    }

    async fn review(
        &self,
        call: &ReviewCall,
        context: &RequestContext<RoleServer>,
    ) -> Result<String, CliError> {
        if std::env::var_os(TAG_VARIABLE).is_some() {
            let error = "an agent that Selvedge runs cannot decide on work that awaits review";
            return Err(CliError::usage(error).hint("a person decides, with `selvedge review`"));
        }
        run_command(&call.command_line(), &self.dir, context, &self.commands).await
    }

    async fn verify(&self, cancelled: CancellationToken) -> Result<String, CliError> {
        let _one_at_a_time = self.verify_lock.lock().await;
        let dir = self.dir.clone();
        let report = run_blocking(move || run_verification(&dir, &cancelled)).await?;
        let verdict = ReportVerdict::of_report(&report);
        match verdict.category {
            ResultCategory::Verified => Ok(format!("verified: {}", verdict.reason)),
            ResultCategory::NotVerified => Ok(prompt::feedback(&report, FEEDBACK_TOKENS)),
            ResultCategory::Unchecked => Err(CliError::usage(verdict.reason)),
            ResultCategory::NotJudged => Err(CliError::infrastructure(prompt::feedback(
                &report,
                FEEDBACK_TOKENS,
            ))),
        }
    }
}

/// Fails if a directory is not in the server's, whose files are the only ones that tools change.
fn ensure_within(dir: &Path, server_dir: &Path) -> Result<(), CliError> {
    if dir.starts_with(server_dir) {
        return Ok(());
    }
    let error = format!("{} is outside of {}", dir.display(), server_dir.display());
    Err(CliError::usage(error).hint("start the server with --dir for a directory that contains it"))
}

/// Fails if the files of a run are outside of the server's directory. Clones and copies in the state directory are not:
/// no other tool uses them.
fn ensure_run_within(name: &str, server_dir: &Path) -> Result<(), CliError> {
    let home = StateDir::from_environment(&environment())?;
    let journal = home.open_journal_read_only()?;
    let run_id = home.find_run(&journal, name)?;
    let state = home.replay(&journal, run_id)?;
    let run = state.run.as_ref().map(|run| &run.spec.workspace);
    let plan = state.plan.as_ref().map(|plan| &plan.spec.workspace);
    match run.or(plan) {
        Some(workspace) if !workspace.starts_with(home.root()) => {
            ensure_within(workspace, server_dir)
        }
        _ => Ok(()),
    }
}

/// Runs blocking work on a separate thread.
async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, CliError> + Send + 'static,
) -> Result<T, CliError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(CliError::infrastructure(error)))
}

fn run_verification(dir: &Path, cancelled: &CancellationToken) -> Result<Report, CliError> {
    let Some(checks) = load_project_checks(Some(dir), &environment())? else {
        return Err(
            CliError::usage("nothing was verified: the project has no checks")
                .hint("run `selvedge init` to detect checks and write them to selvedge.toml"),
        );
    };
    let checks = checks?;
    let progress = JsonReporter::default();
    build_runtime()?.block_on(run_checks_cancellable(&checks, &progress, cancelled))
}

fn digest_output(call: &DigestCall) -> Result<String, CliError> {
    let exit = call.exit_code.map(|code| code.to_string());
    let exit = digest::parse_exit(exit.as_deref())?;
    let hints = call
        .command
        .as_deref()
        .map_or_else(Hints::default, Hints::command);
    let tokens = call.tokens.unwrap_or(DEFAULT_BUDGET_TOKENS);
    digest::check_tokens(tokens)?;
    let output = secrets::host_redactor()
        .redact_text(&call.output)
        .into_owned();
    let analysis = analyse(output.as_bytes(), hints, exit);
    Ok(analysis.render(DigestBudget::tokens(tokens)).text)
}

fn truncate_answer(text: &str) -> String {
    let mut answer: String = text.chars().take(MAX_ANSWER_CHARS).collect();
    if answer.len() < text.len() {
        answer += "\n… (cut)";
    }
    answer
}

//! `selvedge mcp`: the checks, the digest and the story of a run as tools for any agent that speaks the
//! Model Context Protocol, over standard input and output.

mod arguments;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use selvedge_core::export::{Standing, Verdict};
use selvedge_core::model::{Report, exit_code};
use selvedge_core::prompt;
use selvedge_digest::{Budget, DEFAULT_BUDGET_TOKENS, Hints, analyse};
use serde_json::{Map, Value};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::once::{checks_of, once_unless, runtime};

use super::{digest, directory, environment, show};
use crate::cli::McpArgs;
use crate::error::CliError;
use crate::output::json::Machine;
use crate::secrets;
use arguments::{DigestCall, ShowCall, VerifyCall, read};

/// What all digests of one answer together may cost the agent's context.
const FEEDBACK_TOKENS: usize = 1_500;
/// Longest answer, in characters.
const LONGEST: usize = 24_000;

const INSTRUCTIONS: &str = "Independent checks for your work. Call `verify` before you say that you are \
    done: it runs the project's own checks and says what fails. Never weaken a check to make it pass.";

pub(super) fn run(args: &McpArgs) -> Result<u8, CliError> {
    let server = Server {
        dir: directory(args.dir.as_deref())?,
        verifying: Mutex::new(()),
    };
    runtime()?.block_on(async {
        let served = server.serve(rmcp::transport::stdio()).await;
        let served = served.map_err(CliError::infrastructure)?;
        served.waiting().await.map_err(CliError::infrastructure)?;
        Ok(exit_code::VERIFIED)
    })
}

#[derive(Debug)]
struct Server {
    dir: PathBuf,
    /// Checks of one project run one after the other: they share its directory.
    verifying: Mutex<()>,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
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
            arguments::tools().into_iter().map(tool).collect(),
        ))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let answered = self.answer(&request.name, arguments, context.ct).await;
        let result = match answered? {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(bounded(&text))]),
            Err(error) => CallToolResult::error(vec![ContentBlock::text(error.plainly())]),
        };
        Ok(result.into())
    }
}

/// What a tool came to; the outer error is for a call that cannot be understood.
type Answered = Result<Result<String, CliError>, ErrorData>;

impl Server {
    async fn answer(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        cancelled: CancellationToken,
    ) -> Answered {
        match tool {
            "verify" => {
                let VerifyCall {} = read(arguments)?;
                Ok(self.verify(cancelled).await)
            }
            "digest" => Ok(digested(&read(arguments)?)),
            "show" => {
                let call: ShowCall = read(arguments)?;
                Ok(aside(move || show::told(&call.run, call.attempt)).await)
            }
            _ => Err(ErrorData::invalid_params(
                format!("there is no tool `{tool}`"),
                None,
            )),
        }
    }

    async fn verify(&self, cancelled: CancellationToken) -> Result<String, CliError> {
        let _one_at_a_time = self.verifying.lock().await;
        let dir = self.dir.clone();
        let report = aside(move || verified(&dir, &cancelled)).await?;
        let verdict = Verdict::of_report(&report);
        match verdict.standing {
            Standing::Verified => Ok(format!("verified: {}", verdict.reason)),
            Standing::NotVerified => Ok(prompt::feedback(&report, FEEDBACK_TOKENS)),
            Standing::Unchecked => Err(CliError::usage(verdict.reason)),
            Standing::NotJudged => Err(CliError::infrastructure(prompt::feedback(
                &report,
                FEEDBACK_TOKENS,
            ))),
        }
    }
}

/// Work that blocks, away from the conversation.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, CliError> + Send + 'static,
) -> Result<T, CliError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(CliError::infrastructure(error)))
}

fn verified(dir: &Path, cancelled: &CancellationToken) -> Result<Report, CliError> {
    let Some(checks) = checks_of(Some(dir), &environment())? else {
        return Err(
            CliError::usage("this project has no checks: nothing was verified")
                .hint("`selvedge init` finds some and writes them into selvedge.toml"),
        );
    };
    let checks = checks?;
    let progress = Machine { events: false };
    runtime()?.block_on(once_unless(&checks, &progress, cancelled))
}

fn digested(call: &DigestCall) -> Result<String, CliError> {
    let exit = call.exit_code.map(|code| code.to_string());
    let exit = digest::exit(exit.as_deref())?;
    let hints = call
        .command
        .as_deref()
        .map_or_else(Hints::default, Hints::command);
    let tokens = call.tokens.unwrap_or(DEFAULT_BUDGET_TOKENS);
    let output = secrets::of_ours().text(&call.output).into_owned();
    let analysis = analyse(output.as_bytes(), hints, exit);
    Ok(analysis.render(Budget::tokens(tokens)).text)
}

fn bounded(text: &str) -> String {
    let mut kept: String = text.chars().take(LONGEST).collect();
    if kept.len() < text.len() {
        kept += "\n… (cut)";
    }
    kept
}

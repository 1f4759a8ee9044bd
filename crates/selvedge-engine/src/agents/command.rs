//! Any program as an agent: the prompt on standard input or as its last argument, exit code 0 for
//! success, its output as text. A program that prints records like Claude Code's (its first line is
//! a JSON object with a `type`) is parsed as such: then its last record decides, and reports tokens
//! and cost; for any other program the cost is unknown.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use selvedge_core::model::{SessionOutcome, SessionStatus};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::claude::ClaudeEventParser;
use super::final_message::detect_cannot_satisfy;
use super::jsonl::{self, ParsedSession, SessionParser as _, lock_parser};
use super::program::{self, ActivitySender, LaunchSpec};
use super::spend_limit::{self, SpendLimit};
use super::{Agent, SessionRequest, env};
use crate::activity::Progress;
use crate::process::capture::{LineSplitter, OutputConsumer, OutputLine};
use crate::process::{SessionExit, StderrMode, StdinSource, StopSignal};

/// Maximum length of a single argument on Linux.
const ARGUMENT_LIMIT: usize = 128 << 10;
/// Maximum bytes of one line that are parsed.
const LINE_LIMIT: usize = 4 << 20;

/// Parser of records like Claude Code's.
type RecordParser = ParsedSession<ClaudeEventParser>;

/// Any program as an agent.
#[derive(Debug, Clone, Copy, Default)]
pub struct CommandAgent;

impl Agent for CommandAgent {
    fn run<'a>(
        &'a self,
        request: &'a SessionRequest,
        progress: &'a dyn Progress,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, SessionOutcome> {
        run_session(request, progress, cancel)
            .map(detect_cannot_satisfy)
            .boxed()
    }
}

async fn run_session(
    request: &SessionRequest,
    progress: &dyn Progress,
    cancel: &CancellationToken,
) -> SessionOutcome {
    let (argv, stdin) = match command_line(request).await {
        Ok(both) => both,
        Err(outcome) => return outcome,
    };
    let launch = LaunchSpec {
        argv,
        env: env::with_run_vars(env::agent_env(&request.agent, &env::host_env()), request),
        stdin,
        streams: StderrMode::Separate,
        stop: StopSignal::Terminate,
        wall: Duration::from_millis(request.limits.wall_ms),
        writable_paths: Vec::new(),
        is_task_command: false,
        retry: 0,
    };
    let parser = Arc::new(Mutex::new(RecordParser::default()));
    // Stopped by the user, or by a cap.
    let stop = cancel.child_token();
    let watch = {
        let (stop, cap, request) = (
            stop.clone(),
            SpendLimit::for_session(request),
            request.clone(),
        );
        move |parser: &RecordParser| {
            let (tokens, cost) = parser.usage_so_far(&request);
            if cap.exceeded_limit(tokens, cost).is_some() {
                stop.cancel();
            }
        }
    };
    let reader = |activities| parse_output(Arc::clone(&parser), activities, watch);
    match program::run_program(request, launch, reader, progress, &stop).await {
        Ok(ended) => {
            let parser = lock_parser(&parser);
            let (tokens, cost) = parser.usage_so_far(request);
            let by_cap = stop.is_cancelled() && !cancel.is_cancelled();
            let reached = SpendLimit::for_session(request).exceeded_limit(tokens, cost);
            let outcome = session_outcome(request, &parser, &ended);
            spend_limit::mark_over_budget(outcome, reached.filter(|_| by_cap))
        }
        Err(outcome) => outcome,
    }
}

async fn command_line(
    request: &SessionRequest,
) -> Result<(Vec<String>, StdinSource), SessionOutcome> {
    let mut argv = request.agent.program.clone();
    if argv.is_empty() {
        let error = format!("agent `{}` has no program", request.agent.name);
        return Err(SessionOutcome::failed(SessionStatus::Infra, error));
    }
    let prompt = program::write_prompt_file(request).await?;
    if !request.agent.prompt_as_argument {
        return Ok((argv, StdinSource::File(prompt)));
    }
    let text = request.prompt.full_text();
    if text.len() >= ARGUMENT_LIMIT {
        let error = format!(
            "a prompt of {} bytes is too long for an argument: configure agent `{}` to read it from stdin",
            text.len(),
            request.agent.name,
        );
        return Err(SessionOutcome::failed(SessionStatus::Infra, error));
    }
    argv.push(text);
    Ok((argv, StdinSource::Null))
}

/// Detects the output format by the first line that is not empty, and parses the output
/// accordingly.
fn parse_output(
    parser: Arc<Mutex<RecordParser>>,
    activities: ActivitySender,
    watch: impl Fn(&RecordParser) + Send + 'static,
) -> impl OutputConsumer + 'static {
    let mut prints_records = None;
    LineSplitter::new(LINE_LIMIT, move |line: OutputLine<'_>| {
        if line.bytes.trim_ascii().is_empty() {
            return;
        }
        if *prints_records.get_or_insert_with(|| is_record(line.bytes)) {
            let mut tell = |activity| drop(activities.try_send(activity));
            let mut parser = lock_parser(&parser);
            parser.parse_line(line.bytes, &mut tell);
            watch(&parser);
        } else {
            program::send_line(&activities, line.bytes);
        }
    })
}

fn is_record(line: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct TypedRecord {
        #[serde(rename = "type")]
        _kind: String,
    }
    serde_json::from_slice::<TypedRecord>(line).is_ok()
}

fn session_outcome(
    request: &SessionRequest,
    parser: &RecordParser,
    ended: &SessionExit,
) -> SessionOutcome {
    if parser.has_ended() {
        return jsonl::session_outcome(request, parser, ended);
    }
    let by_exit = program::outcome_from_exit(request, ended);
    let outcome = SessionOutcome {
        text: program::excerpt(&ended.stdout).trim_end().to_owned(),
        ..by_exit
    };
    program::with_supervisor_data(outcome, ended)
}

//! Any program as an agent: the prompt on standard input or as its last argument, exit code 0 for
//! success, what it prints for text. A program that prints records like Claude Code's (its first
//! line is a JSON object with a `type`) is read as such, and then its last record decides, and
//! tells tokens and cost; of any other program the cost is unknown.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use selvedge_core::model::{SessionOutcome, SessionStatus};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::cap::{self, Cap};
use super::claim::heed_refusal;
use super::claude::Reading;
use super::program::{self, Launch, Told};
use super::records::{self, locked};
use super::{Agent, SessionRequest, env};
use crate::activity::Progress;
use crate::process::capture::{Consumer, Line, Lines};
use crate::process::{Ended, Stdin, StopSignal, Streams};

/// The longest single argument that Linux passes on.
const ARGUMENT_LIMIT: usize = 128 << 10;
/// Bytes of one line that are read.
const LINE_LIMIT: usize = 4 << 20;

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
        session(request, progress, cancel).map(heed_refusal).boxed()
    }
}

async fn session(
    request: &SessionRequest,
    progress: &dyn Progress,
    cancel: &CancellationToken,
) -> SessionOutcome {
    let (argv, stdin) = match command_line(request).await {
        Ok(both) => both,
        Err(outcome) => return outcome,
    };
    let launch = Launch {
        argv,
        env: env::with_run(env::for_agent(&request.agent, &env::ours()), request),
        stdin,
        streams: Streams::Separate,
        stop: StopSignal::Terminate,
        wall: Duration::from_millis(request.limits.wall_ms),
        opens: Vec::new(),
        carried_out: false,
        retry: 0,
    };
    let reading = Arc::new(Mutex::new(Reading::default()));
    // Stopped by the person, or by a cap.
    let stop = cancel.child_token();
    let watch = {
        let (stop, cap, request) = (stop.clone(), Cap::of(request), request.clone());
        move |reading: &Reading| {
            let (tokens, cost) = records::Reading::spent(reading, &request);
            if cap.reached(tokens, cost).is_some() {
                stop.cancel();
            }
        }
    };
    let reader = |told| read_along(Arc::clone(&reading), told, watch);
    match program::run(request, launch, reader, progress, &stop).await {
        Ok(ended) => {
            let reading = locked(&reading);
            let (tokens, cost) = records::Reading::spent(&*reading, request);
            let by_cap = stop.is_cancelled() && !cancel.is_cancelled();
            let reached = Cap::of(request).reached(tokens, cost);
            let outcome = conclude(request, &reading, &ended);
            cap::stopped(outcome, reached.filter(|_| by_cap))
        }
        Err(outcome) => outcome,
    }
}

async fn command_line(request: &SessionRequest) -> Result<(Vec<String>, Stdin), SessionOutcome> {
    let mut argv = request.agent.program.clone();
    if argv.is_empty() {
        let error = format!("agent `{}` names no program", request.agent.name);
        return Err(SessionOutcome::failed(SessionStatus::Infra, error));
    }
    let prompt = program::prompt_file(request).await?;
    if !request.agent.prompt_as_argument {
        return Ok((argv, Stdin::File(prompt)));
    }
    let text = request.prompt.whole();
    if text.len() >= ARGUMENT_LIMIT {
        let error = format!(
            "a prompt of {} bytes is too long for an argument: let agent `{}` read it from stdin",
            text.len(),
            request.agent.name,
        );
        return Err(SessionOutcome::failed(SessionStatus::Infra, error));
    }
    argv.push(text);
    Ok((argv, Stdin::Null))
}

/// Decides on the first line that says anything what the program prints, and reads it as that.
fn read_along(
    reading: Arc<Mutex<Reading>>,
    told: Told,
    watch: impl Fn(&Reading) + Send + 'static,
) -> impl Consumer + 'static {
    let mut prints_records = None;
    Lines::new(LINE_LIMIT, move |line: Line<'_>| {
        if line.bytes.trim_ascii().is_empty() {
            return;
        }
        if *prints_records.get_or_insert_with(|| is_record(line.bytes)) {
            let mut tell = |activity| drop(told.try_send(activity));
            let mut reading = locked(&reading);
            reading.line(line.bytes, &mut tell);
            watch(&reading);
        } else {
            program::show(&told, line.bytes);
        }
    })
}

fn is_record(line: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Typed {
        #[serde(rename = "type")]
        _kind: String,
    }
    serde_json::from_slice::<Typed>(line).is_ok()
}

fn conclude(request: &SessionRequest, reading: &Reading, ended: &Ended) -> SessionOutcome {
    if reading.has_ended() {
        return records::conclude(request, reading, ended);
    }
    let by_exit = program::by_exit(request, ended);
    let outcome = SessionOutcome {
        text: program::excerpt(&ended.stdout).trim_end().to_owned(),
        ..by_exit
    };
    program::with_facts(outcome, ended)
}

//! The scripted provider and the scripted agent that calls it. The provider keeps its own ledger of
//! every call; from the connection it knows how long the agent's process lived.

use std::io::{BufRead, BufReader, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::{ChaosError, now_us};
use crate::history::ProviderCall;

/// A model provider that records every call.
#[derive(Debug, Clone)]
pub struct ScriptedProvider {
    address: String,
    ledger: Arc<Mutex<Vec<ProviderCall>>>,
    /// Number of calls so far; watched by [`Self::wait_for_calls`].
    count: watch::Sender<usize>,
    /// Calls are answered only while this is true.
    is_open: watch::Sender<bool>,
}

impl ScriptedProvider {
    /// Starts the provider. Prices and session durations (0 to `longest_ms` milliseconds) are drawn
    /// from the seed.
    pub async fn start(seed: u64, longest_ms: u64) -> Result<Self, ChaosError> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let provider = Self {
            address: listener.local_addr()?.to_string(),
            ledger: Arc::default(),
            count: watch::Sender::new(0),
            is_open: watch::Sender::new(true),
        };
        let own = provider.clone();
        let mut random = fastrand::Rng::with_seed(seed);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (own, draw) = (
                    own.clone(),
                    (random.u64(1..50_000), random.u64(0..=longest_ms)),
                );
                // Agents that die in the middle of a message are expected here.
                tokio::spawn(async move { own.serve(socket, draw).await.ok() });
            }
        });
        Ok(provider)
    }

    /// The address that it listens on.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Answers calls from now on, or holds them back.
    pub fn set_open(&self, open: bool) {
        self.is_open.send_replace(open);
    }

    /// Returns the ledger. Calls that are still open end now.
    pub fn ledger(&self) -> Vec<ProviderCall> {
        let mut calls = self
            .ledger
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        for call in calls.iter_mut().filter(|call| call.to_us == 0) {
            call.to_us = now_us();
        }
        calls
    }

    /// Waits until `count` calls were made; returns `false` if `patience` ran out first.
    pub async fn wait_for_calls(&self, count: usize, patience: Duration) -> bool {
        let mut counted = self.count.subscribe();
        let reached = counted.wait_for(|it| *it >= count);
        matches!(tokio::time::timeout(patience, reached).await, Ok(Ok(_)))
    }

    async fn serve(
        &self,
        socket: TcpStream,
        (micro_usd, hold_ms): (u64, u64),
    ) -> Result<(), ChaosError> {
        let mut socket = tokio::io::BufReader::new(socket);
        let mut line = String::new();
        socket.read_line(&mut line).await?;
        let request: Value = serde_json::from_str(&line)?;
        let word = |name: &str| request[name].as_str().unwrap_or_default().to_owned();
        let at = {
            let mut ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
            ledger.push(ProviderCall {
                task: word("task"),
                run: word("run").parse()?,
                worker: word("worker"),
                from_us: now_us(),
                to_us: 0,
                micro_usd,
            });
            ledger.len() - 1
        };
        self.count.send_modify(|count| *count += 1);
        let answered = self
            .answer_call(&mut socket, &request, micro_usd, hold_ms)
            .await;
        let mut rest = Vec::new();
        // The end of the connection is the end of the agent's process, with or without an error.
        let _ = socket.read_to_end(&mut rest).await;
        let mut ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        ledger[at].to_us = now_us();
        answered
    }

    async fn answer_call(
        &self,
        socket: &mut tokio::io::BufReader<TcpStream>,
        request: &Value,
        micro_usd: u64,
        hold_ms: u64,
    ) -> Result<(), ChaosError> {
        let mut gate = self.is_open.subscribe();
        let opened = async {
            let _ = gate.wait_for(|open| *open).await;
            tokio::time::sleep(Duration::from_millis(hold_ms)).await;
        };
        let mut byte = [0];
        tokio::select! {
            () = opened => {}
            _ = socket.read(&mut byte) => return Err("the agent disconnected".into()),
        }
        let work = match request["kind"].as_str() {
            Some("breaks") => "none",
            Some("fails") => "bad",
            Some("learns") if request["corrected"].as_bool() != Some(true) => "bad",
            _ => "good",
        };
        let answer = json!({"micro_usd": micro_usd, "work": work});
        socket.write_all(format!("{answer}\n").as_bytes()).await?;
        Ok(())
    }
}

/// The scripted agent: asks the provider, writes the file that the answer asks for, and prints the
/// records that Claude Code would print. It derives the name of the worker from its working directory,
/// because its command line was fixed by the first worker that took the task.
pub fn run_agent(provider: &str, root: &str) -> Result<(), ChaosError> {
    let working_directory = std::env::current_dir()?;
    let working_directory = working_directory
        .strip_prefix(root)?
        .to_string_lossy()
        .into_owned();
    let worker = working_directory
        .split(['/', '-'])
        .next()
        .unwrap_or_default();
    let mut prompt = String::new();
    std::io::stdin().read_to_string(&mut prompt)?;
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let kind = prompt
        .split_whitespace()
        .find_map(|word| word.strip_prefix("kind="));
    let run = variable("SELVEDGE_RUN_NUMBER");
    let request = json!({
        "task": variable("SELVEDGE_RUN_ID"), "run": run, "worker": worker,
        "kind": kind, "corrected": prompt.contains("VERIFICATION RETRY"),
    });
    let mut socket = BufReader::new(std::net::TcpStream::connect(provider)?);
    socket
        .get_mut()
        .write_all(format!("{request}\n").as_bytes())?;
    let mut answer = String::new();
    socket.read_line(&mut answer)?;
    let answer: Value = serde_json::from_str(&answer)?;
    let work = answer["work"].as_str().unwrap_or("none");
    let must_fail = work == "none";
    if !must_fail {
        std::fs::write("out", format!("{work} {run}\n"))?;
    }
    let usd = answer["micro_usd"].as_f64().unwrap_or(0.0) / 1_000_000.0;
    let mut out = std::io::stdout();
    let begin =
        json!({"type": "system", "subtype": "init", "session_id": "scripted", "model": "scripted"});
    let end = json!({
        "type": "result", "subtype": "success", "is_error": must_fail, "result": "done", "num_turns": 1,
        "duration_ms": 1, "session_id": "scripted", "total_cost_usd": usd,
        "usage": {"input_tokens": 10, "output_tokens": 2},
    });
    writeln!(out, "{begin}\n{end}")?;
    Ok(())
}

//! Measures the cost of a session: the time of `/bin/true` under a supervisor and as a plain
//! process, and how fast a flood passes and in how much memory. `cargo run --release --example
//! process_cost`, with the path of the `selvedge` program to measure what its size adds.
#![allow(clippy::print_stdout, clippy::cast_precision_loss)]

use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use selvedge_engine::process::capture::{CapturePlan, StreamPlan};
use selvedge_engine::process::{
    self, EndReason, Session, SessionCommand, SessionExit, SessionTimeouts, Supervisor,
};
use tokio_util::sync::CancellationToken;

const SESSIONS: u32 = 300;
const FLOOD: u64 = 10 << 30;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    match std::env::args().nth(1).as_deref() {
        Some("__supervise") => return Ok(process::supervisor::main()),
        Some("__flood") => flood()?,
        _ => tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?
            .block_on(measure())?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn measure() -> Result<(), Box<dyn Error>> {
    let bare = median(|| async {
        tokio::process::Command::new("/bin/true").status().await?;
        Ok(())
    });
    let bare = bare.await?;
    let supervised = median(|| async {
        let _ = session(&["/bin/true"], CapturePlan::default()).await?;
        Ok(())
    });
    let supervised = supervised.await?;
    println!("bare spawn         {:>9.3} ms", millis(bare));
    println!("session            {:>9.3} ms", millis(supervised));
    println!(
        "overhead           {:>9.3} ms",
        millis(supervised.saturating_sub(bare))
    );

    let own = std::env::current_exe()?;
    let own = own.to_str().ok_or("path")?;
    let dir = tempfile::tempdir()?;
    for (name, plan) in [
        ("to nowhere", StreamPlan::default()),
        ("to a file", StreamPlan::to_file(dir.path().join("out"))),
    ] {
        let plan = CapturePlan {
            stdout: plan,
            ..CapturePlan::default()
        };
        let ended = session(&[own, "__flood"], plan).await?;
        let speed = ended.stdout.bytes as f64 / ended.wall.as_secs_f64() / 1e9;
        println!("10 GiB {name:<11} {speed:>9.2} GB/s");
    }
    println!(
        "peak resident      {:>9.1} MB",
        peak_resident()? as f64 / 1e6
    );
    Ok(())
}

async fn session(argv: &[&str], plan: CapturePlan) -> Result<SessionExit, Box<dyn Error>> {
    let mut supervisor = Supervisor::this_program();
    if let Some(program) = std::env::args_os().nth(1) {
        supervisor.program = program.into();
    }
    let command = SessionCommand::new(argv.iter().map(Into::into).collect(), "/", "cost.1");
    let prepared = Session::prepare(&supervisor, &command).await?;
    let ended = process::run(
        prepared,
        SessionTimeouts::default(),
        plan,
        &CancellationToken::new(),
    )
    .await;
    match ended.reason {
        EndReason::Exited(0) => Ok(ended),
        how => Err(format!("{how:?}").into()),
    }
}

async fn median<F: Future<Output = Result<(), Box<dyn Error>>>>(
    work: impl Fn() -> F,
) -> Result<Duration, Box<dyn Error>> {
    let mut times = Vec::new();
    for _ in 0..SESSIONS {
        let start = Instant::now();
        work().await?;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    Ok(times[times.len() / 2])
}

fn flood() -> std::io::Result<()> {
    use std::io::Write;
    let chunk = vec![b'x'; 1 << 20];
    let mut stdout = std::io::stdout().lock();
    for _ in 0..FLOOD / (1 << 20) {
        stdout.write_all(&chunk)?;
    }
    Ok(())
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn peak_resident() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .ok_or("no VmHWM")?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib * 1024)
}

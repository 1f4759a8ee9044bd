//! Helper program of the process tests: a supervisor, a main program to be killed, and programs that leave processes
//! behind. The first argument selects the role.

use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use selvedge_engine::process::capture::{CapturePlan, OutputConsumer, StreamPlan};
use selvedge_engine::process::{self, Session, SessionExit, SessionTimeouts, Supervisor};
use tokio::io::AsyncReadExt;
use tokio_util::sync::CancellationToken;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args.as_slice() {
        ["__supervise", ..] => return process::supervisor::main(),
        ["__parse"] => return selvedge_engine::syntax::run_parser(),
        ["main-side", tag, lock, argv @ ..] => main_side(tag, lock, argv),
        ["flooded-side", bytes, cap, file] => flooded_side(bytes, cap, file),
        ["fds-side"] => fds_side(),
        ["flood", bytes] => flood(bytes),
        ["plant", then] => plant(then),
        ["linger"] => linger(),
        ["linger-setsid"] => linger_in_own_session(),
        ["linger-orphaned"] => spawn("linger", &io::stdout()).map(drop),
        _ => Err(io::Error::other("unknown word")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "probe: {error}");
            ExitCode::FAILURE
        }
    }
}

fn own_path() -> io::Result<PathBuf> {
    std::env::current_exe()
}

fn supervisor() -> io::Result<Supervisor> {
    Ok(Supervisor::new(own_path()?, ["__supervise".into()]))
}

/// Runs a session as the main program does, prints its output, and waits to be killed.
fn main_side(tag: &str, lock: &str, argv: &[&str]) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let argv = argv.iter().map(Into::into).collect();
        let mut command = process::SessionCommand::new(argv, "/", tag);
        command.lock = Some(lock.into());
        let prepared = Session::prepare(&supervisor()?, &command)
            .await
            .map_err(io::Error::other)?;
        let mut session = prepared.start().await.map_err(io::Error::other)?;
        let Some(output) = session.take_output() else {
            return Err(io::Error::other("no output"));
        };
        let (mut stdout, _stderr) = output?;
        let mut chunk = [0; 4096];
        loop {
            let read = stdout.read(&mut chunk).await?;
            io::stdout().write_all(&chunk[..read])?;
            io::stdout().flush()?;
        }
    })
}

/// Runs a program that lists its descriptors, from a main program that may have inherited some.
fn fds_side() -> io::Result<()> {
    let argv = vec!["/bin/ls".into(), "/proc/self/fd".into()];
    let ended = run(
        &process::SessionCommand::new(argv, "/", "probe.fds"),
        CapturePlan::default(),
    )?;
    io::stdout().write_all(&ended.stdout.head)
}

/// Runs one session to its end.
fn run(command: &process::SessionCommand, plan: CapturePlan) -> io::Result<SessionExit> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let prepared = Session::prepare(&supervisor()?, command)
            .await
            .map_err(io::Error::other)?;
        let cancel = CancellationToken::new();
        Ok(process::run(prepared, SessionTimeouts::default(), plan, &cancel).await)
    })
}

/// Captures a large output as the main program does. Prints the number of bytes that were read, that a consumer
/// received, and that the file omits, and the process's maximum resident size in KiB.
fn flooded_side(bytes: &str, cap: &str, file: &str) -> io::Result<()> {
    let consumed = Arc::new(AtomicU64::new(0));
    let mut stdout = StreamPlan::to_file(file).with_consumer(Count(Arc::clone(&consumed)));
    stdout.file_cap = cap.parse().map_err(io::Error::other)?;
    let argv = vec![own_path()?.into(), "flood".into(), bytes.into()];
    let plan = CapturePlan {
        stdout,
        ..CapturePlan::default()
    };
    let ended = run(
        &process::SessionCommand::new(argv, "/", "probe.flood"),
        plan,
    )?;
    let omitted = ended.stdout.file.map_or(u64::MAX, |file| file.omitted);
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap_or_default();
    let peak = peak.trim().trim_end_matches(" kB");
    let consumed = consumed.load(Ordering::Relaxed);
    writeln!(
        io::stdout(),
        "{} {consumed} {omitted} {peak}",
        ended.stdout.bytes
    )
}

struct Count(Arc<AtomicU64>);

impl OutputConsumer for Count {
    fn take(&mut self, chunk: &[u8]) {
        self.0.fetch_add(chunk.len() as u64, Ordering::Relaxed);
    }
}

/// Prints this number of bytes, with a recognizable first and last line.
fn flood(bytes: &str) -> io::Result<()> {
    let (first, last) = ("first\n", "last\n");
    let mut remaining =
        bytes.parse::<usize>().map_err(io::Error::other)? - first.len() - last.len();
    let line = vec![b'x'; 1 << 16];
    let mut stdout = io::stdout().lock();
    stdout.write_all(first.as_bytes())?;
    while remaining > 0 {
        let length = remaining.min(line.len());
        stdout.write_all(&line[..length])?;
        remaining -= length;
    }
    stdout.write_all(last.as_bytes())?;
    stdout.flush()
}

/// Starts one lingering process of each kind, prints their ids once all of them run, and then exits or stays.
fn plant(then: &str) -> io::Result<()> {
    let (ready, writer): (PipeReader, PipeWriter) = io::pipe()?;
    spawn("linger", &writer)?;
    spawn("linger-setsid", &writer)?;
    spawn("linger-orphaned", &writer)?.wait()?;
    let mut lines = BufReader::new(ready).lines();
    let mut pids = vec![std::process::id().to_string()];
    for _ in 0..3 {
        pids.extend(lines.next().transpose()?);
    }
    writeln!(io::stdout(), "planted {}", pids.join(" "))?;
    match then {
        "exit" => Ok(()),
        _ => sleep_through_everything(),
    }
}

/// Starts this program in another role.
fn spawn(role: &str, stdout: &impl AsFd) -> io::Result<Child> {
    Command::new(own_path()?)
        .arg(role)
        .stdout(Stdio::from(stdout.as_fd().try_clone_to_owned()?))
        .spawn()
}

fn linger_in_own_session() -> io::Result<()> {
    rustix::process::setsid()?;
    linger()
}

/// Prints its id and then runs forever, ignoring SIGTERM.
fn linger() -> io::Result<()> {
    signal_hook::flag::register(
        signal_hook::consts::SIGTERM,
        Arc::new(AtomicBool::new(false)),
    )?;
    writeln!(io::stdout(), "{}", std::process::id())?;
    sleep_through_everything()
}

fn sleep_through_everything() -> io::Result<()> {
    loop {
        std::thread::park();
    }
}

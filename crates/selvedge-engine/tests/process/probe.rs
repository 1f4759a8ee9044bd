//! The other side of the process tests: a supervisor, a main program to be killed, and programs
//! that leave things behind. Each is a word on the command line.

use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Write};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use selvedge_engine::process::{self, Session, Supervisor};
use tokio::io::AsyncReadExt;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args.as_slice() {
        ["__supervise"] => return process::supervisor::main(),
        ["main-side", tag, lock, argv @ ..] => main_side(tag, lock, argv),
        ["plant", then] => plant(then),
        ["linger"] => linger(),
        ["linger-setsid"] => linger_in_own_session(),
        ["linger-orphaned"] => spawn("linger", &io::stdout()),
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

/// Runs a session as the main program does, passes on its output, and waits to be killed.
fn main_side(tag: &str, lock: &str, argv: &[&str]) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let supervisor = Supervisor {
            program: std::env::current_exe()?,
            args: vec!["__supervise".into()],
        };
        let argv = argv.iter().map(Into::into).collect();
        let mut command = process::Command::new(argv, "/", tag);
        command.lock = Some(lock.into());
        let prepared = Session::prepare(&supervisor, &command)
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

/// Starts one lingering process of each kind, prints their ids once all of them run, and then
/// exits or stays.
fn plant(then: &str) -> io::Result<()> {
    let (ready, tell): (PipeReader, PipeWriter) = io::pipe()?;
    for kind in ["linger", "linger-setsid", "linger-orphaned"] {
        spawn(kind, &tell)?;
    }
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

/// Starts this program with another word, and does not wait for it.
fn spawn(word: &str, stdout: &impl std::os::fd::AsFd) -> io::Result<()> {
    Command::new(std::env::current_exe()?)
        .arg(word)
        .stdout(Stdio::from(stdout.as_fd().try_clone_to_owned()?))
        .spawn()
        .map(drop)
}

fn linger_in_own_session() -> io::Result<()> {
    rustix::process::setsid()?;
    linger()
}

/// Prints its id, then stays for ever, deaf to every polite request.
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

//! `selvedge-chaos`: runs rounds of faults against a build of `selvedge` with debug assertions and
//! reports violated invariants. `cargo xtask chaos` builds both programs and runs it.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for the terminal, without any other output"
)]

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use selvedge_chaos::Mutant;
use selvedge_chaos::cluster::{
    ChaosError, Database, FsyncShim, RoundSettings, run_agent, run_faulty_hub,
};
use selvedge_chaos::scenarios::{EventCounts, run_mutant_scenario, run_round};

const HELP: &str = "\
selvedge-chaos --program PATH [--seed N] [--rounds N] [--seconds N] [--ttl MS] [--workers N]
               [--database sqlite|postgres] [--points | --mutants | --scenarios | --only-mutant BUG]

  --program PATH     `selvedge`, built with debug assertions
  --seed N           seed of the first round; each further round uses the next one (random)
  --rounds N         number of rounds (1)
  --seconds N        duration of the faults in each round (10)
  --ttl MS           duration of leases (2400)
  --workers N        number of workers (3)
  --database KIND    `sqlite`: one hub (the default); `postgres`: two hubs on a new PostgreSQL server
  --points           only crash processes at failpoints, as often as time permits
  --mutants          instead of rounds: each mutant must break its own invariant, and no other (on SQLite)
  --scenarios        instead of rounds: the scenarios of the mutants, without the bugs, break no invariant
  --only-mutant BUG  instead of rounds: only this mutant";

#[derive(Debug)]
struct ChaosOptions {
    settings: RoundSettings,
    rounds: u64,
    duration: Duration,
    mutants: Vec<(Mutant, bool)>,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.as_slice() {
        [word, provider, worker, ..] if word == "agent" => {
            let done = run_agent(provider, worker);
            exit_code("scripted agent", done.map(|()| true))
        }
        [word, options @ ..] if word == "hub" => {
            let done = block_on(run_faulty_hub(options));
            exit_code("faulty hub", done.map(|()| true))
        }
        _ => match parse_args(&args) {
            Ok(options) => exit_code("selvedge-chaos", block_on(run_rounds(options))),
            Err(error) => {
                eprintln!("{error}\n\n{HELP}");
                ExitCode::from(2)
            }
        },
    }
}

fn block_on<T>(work: impl Future<Output = Result<T, ChaosError>>) -> Result<T, ChaosError> {
    tokio::runtime::Runtime::new()?.block_on(work)
}

fn exit_code(program: &str, done: Result<bool, ChaosError>) -> ExitCode {
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{program}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn parse_args(args: &[String]) -> Result<ChaosOptions, ChaosError> {
    let mut settings = RoundSettings {
        binary: PathBuf::new(),
        seed: fastrand::u64(1..1_000_000),
        workers: 3,
        slots: 2,
        ttl_ms: 2_400,
        max_session_ms: 300,
        failpoints_only: false,
        mutant: None,
        database: Database::Sqlite,
    };
    let (mut rounds, mut length, mut mutants) = (1, Duration::from_secs(10), Vec::new());
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || {
            args.next()
                .ok_or_else(|| ChaosError::from(format!("{arg} needs a value")))
        };
        match arg.as_str() {
            "--program" => settings.binary = PathBuf::from(value()?).canonicalize()?,
            "--seed" => settings.seed = value()?.parse()?,
            "--rounds" => rounds = value()?.parse()?,
            "--seconds" => length = Duration::from_secs(value()?.parse()?),
            "--ttl" => settings.ttl_ms = value()?.parse()?,
            "--workers" => settings.workers = value()?.parse()?,
            "--database" => {
                settings.database = match value()?.as_str() {
                    "sqlite" => Database::Sqlite,
                    "postgres" => Database::start_postgres(),
                    other => return Err(format!("unknown database `{other}`").into()),
                }
            }
            "--points" => (settings.failpoints_only, settings.max_session_ms) = (true, 60),
            "--mutants" => mutants.extend(Mutant::ALL.map(|mutant| (mutant, true))),
            "--scenarios" => mutants.extend(Mutant::ALL.map(|mutant| (mutant, false))),
            "--only-mutant" => {
                let name = value()?;
                let mutant = Mutant::find(name);
                let mutant = mutant.ok_or_else(|| format!("unknown mutant `{name}`"))?;
                mutants.push((mutant, true));
            }
            _ => return Err(format!("unknown argument `{arg}`").into()),
        }
    }
    if settings.binary.as_os_str().is_empty() {
        return Err("missing --program PATH".into());
    }
    Ok(ChaosOptions {
        settings,
        rounds,
        duration: length,
        mutants,
    })
}

async fn run_rounds(options: ChaosOptions) -> Result<bool, ChaosError> {
    // Only one cryptography provider is built in; an error means that it is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let folder = tempfile::tempdir()?;
    let shim = Arc::new(FsyncShim::compile(folder.path())?);
    if !options.mutants.is_empty() {
        return run_mutants(options, shim).await;
    }
    let (mut total, mut sound) = (EventCounts::new(), true);
    for number in 0..options.rounds {
        let mut settings = options.settings.clone();
        settings.seed += number;
        let seed = settings.seed;
        println!("round {}: seed {seed}", number + 1);
        let played = run_round(settings, Arc::clone(&shim), options.duration).await;
        let played = match played {
            Ok(played) => played,
            Err(error) => {
                println!("seed {seed}: {error}");
                sound = false;
                continue;
            }
        };
        for violation in &played.violations {
            println!("seed {seed}: {violation}");
        }
        if let Some(path) = played.kept_files {
            println!("seed {seed}: files kept in {}", path.display());
            sound = false;
        }
        for (what, times) in played.tally {
            *total.entry(what).or_default() += times;
        }
    }
    for (what, times) in &total {
        println!("{times:>8}  {what}");
    }
    let verdict = if sound {
        "all twelve invariants hold"
    } else {
        "VIOLATED"
    };
    println!(
        "{} rounds, the first with seed {}: {verdict}",
        options.rounds, options.settings.seed
    );
    Ok(sound)
}

/// Runs the scenarios four at a time: they mostly wait.
async fn run_mutants(options: ChaosOptions, shim: Arc<FsyncShim>) -> Result<bool, ChaosError> {
    let mut sound = true;
    for some in options.mutants.chunks(4) {
        let scenarios = some.iter().map(|&(mutant, has_mutant)| {
            let settings = RoundSettings {
                ttl_ms: options.settings.ttl_ms.max(1_500),
                ..options.settings.clone()
            };
            run_mutant_scenario(mutant, has_mutant, settings, Arc::clone(&shim))
        });
        let ended = futures_util::future::join_all(scenarios).await;
        for ((mutant, has_mutant), scenario) in some.iter().zip(ended) {
            let scenario = scenario?;
            let mut violated: Vec<u8> = scenario.violations.iter().map(|it| it.invariant).collect();
            violated.dedup();
            let with = if *has_mutant { "with" } else { "without" };
            println!("{with} {}: breaks {violated:?}", mutant.name());
            if let Some(folder) = scenario.kept_files {
                sound = false;
                let violations = scenario.violations.iter();
                violations.for_each(|violation| println!("    {violation}"));
                println!("    WRONG; files kept in {}", folder.display());
            }
        }
    }
    Ok(sound)
}

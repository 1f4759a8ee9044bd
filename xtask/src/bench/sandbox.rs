//! Overhead of the sandbox for each program that starts in it: what a further instant check adds to a verification, with
//! each backend and with none; and what `bwrap` alone adds to the same program.

use std::process::Command;
use std::time::Duration;

use super::BenchTable;
use super::bench_program::BenchProgram;
use super::timing::{medians, time_command};
use crate::XtaskResult;

const ROUNDS: usize = 30;
/// How many checks a verification has in addition to the first, for which the sandbox is planned.
const FURTHER_CHECKS: u32 = 10;
const BAR: Duration = Duration::from_millis(15);
/// Bar of the overhead of bubblewrap's sandbox, in multiples of that of `bwrap` alone.
const FACTOR_BAR: f64 = 1.5;

/// The least that isolates a program as the sandbox does: processes, files outside of a folder, and the home.
const BWRAP_OPTIONS: &str =
    "--unshare-pid --unshare-ipc --die-with-parent --ro-bind / / --dev /dev --proc /proc";

pub(super) fn measure(selvedge: &BenchProgram, table: &mut BenchTable) -> XtaskResult {
    let directory = selvedge.directory("walls")?;
    let verify = |backend: &str, further_checks: u32| {
        let mut verify = selvedge.command(&["verify", "--check", "true", "--dir"]);
        verify
            .arg(&directory)
            .env("SELVEDGE_SANDBOX_BACKEND", backend);
        for number in 0..further_checks {
            verify.args(["--check", &format!("check{number}=true")]);
        }
        time_command(verify, 0)
    };
    let home = selvedge.directory("home")?;
    let alone = |is_isolated: bool| {
        let mut command = Command::new(if is_isolated { "bwrap" } else { "true" });
        if is_isolated {
            command
                .args(BWRAP_OPTIONS.split(' '))
                .arg("--bind")
                .args([&directory, &directory])
                .arg("--tmpfs")
                .arg(&home)
                .args(["--", "true"]);
        }
        time_command(command, 0)
    };
    let [
        bubblewrap,
        bubblewraps,
        landlock,
        landlocks,
        bare,
        bares,
        isolated,
        program,
    ] = medians(
        ROUNDS,
        [
            &mut || verify("bubblewrap", 0),
            &mut || verify("bubblewrap", FURTHER_CHECKS),
            &mut || verify("landlock", 0),
            &mut || verify("landlock", FURTHER_CHECKS),
            &mut || verify("none", 0),
            &mut || verify("none", FURTHER_CHECKS),
            &mut || alone(true),
            &mut || alone(false),
        ],
    )?;
    let further = |one: Duration, all: Duration| all.saturating_sub(one) / FURTHER_CHECKS;
    let bubblewrap = further(bubblewrap, bubblewraps);
    let landlock = further(landlock, landlocks);
    let bare = further(bare, bares);
    let ours = bubblewrap.saturating_sub(bare);
    let least = isolated.saturating_sub(program);
    table.add_growth(
        "bubblewrap's sandbox of a check",
        ours.as_secs_f64() / least.as_secs_f64(),
        &format!(
            "{:.2} ms more than without, `bwrap` alone {:.2} ms more",
            ours.as_secs_f64() * 1e3,
            least.as_secs_f64() * 1e3
        ),
        FACTOR_BAR,
    );
    table.add_duration("a further check behind bubblewrap", bubblewrap, bare, BAR);
    table.add_duration("a further check behind Landlock", landlock, bare, BAR);
    Ok(())
}

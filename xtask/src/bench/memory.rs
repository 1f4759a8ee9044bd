//! Peak memory of Selvedge's own processes while an agent and a check print a lot. The kernel keeps a
//! process's peak (`VmHWM`) only until the process ends, so it is polled. The memory of all processes
//! together is the sum of their proportional set sizes (`Pss`), which counts a shared page once.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Child;
use std::time::Duration;

use super::bench_program::BenchProgram;
use super::table::format_megabytes;
use super::{BenchSize, BenchTable};
use crate::XtaskResult;

const SAMPLE_INTERVAL: Duration = Duration::from_millis(10);

pub(super) fn measure(
    selvedge: &BenchProgram,
    size: BenchSize,
    table: &mut BenchTable,
) -> XtaskResult {
    let plain = selvedge.plain_directory()?;
    let gigabytes = size.gigabytes();
    let print = format!("yes 'and one more line of output' | head -c {gigabytes}000000000");
    let agent = format!("/bin/sh -c \"{print}\"");
    let mut command = selvedge.run(&plain, &agent, &format!("{print}; exit 1"), 0);
    let mut child = command.args(["--verification-timeout", "10m"]).spawn()?;
    let peak = measure_peak(&mut child)?;
    if peak.code != Some(1) {
        return Err(format!("the flooded run ended with {:?} instead of 1", peak.code).into());
    }
    let note = format!(
        "its processes together; the program alone {}, its largest supervisor alone {}",
        format_megabytes(peak.own_kib),
        format_megabytes(peak.supervisor_kib)
    );
    let what = format!("memory of a run: agent and check print {gigabytes} GB each");
    table.add_memory(&what, peak.together_kib, &note, 30);
    Ok(())
}

/// Peaks of the main process, of its largest supervisor, and of all processes together, in KiB.
pub(super) struct PeakMemory {
    pub(super) own_kib: u64,
    supervisor_kib: u64,
    together_kib: u64,
    code: Option<i32>,
}

/// Polls the processes until the child ends.
pub(super) fn measure_peak(child: &mut Child) -> XtaskResult<PeakMemory> {
    let mut peaks: BTreeMap<u32, u64> = BTreeMap::new();
    let pid = child.id();
    let mut together_kib = 0;
    loop {
        let mut now_kib = 0;
        for process in supervisors_of(pid).chain([pid]) {
            if let Some(kib) = high_water(process) {
                peaks.insert(process, kib);
            }
            now_kib += proportional(process).unwrap_or_default();
        }
        together_kib = together_kib.max(now_kib);
        if let Some(status) = child.try_wait()? {
            let own_kib = peaks.remove(&pid).ok_or("the process was never observed")?;
            let supervisor_kib = peaks.into_values().max().unwrap_or_default();
            return Ok(PeakMemory {
                own_kib,
                supervisor_kib,
                together_kib,
                code: status.code(),
            });
        }
        std::thread::sleep(SAMPLE_INTERVAL);
    }
}

fn high_water(pid: u32) -> Option<u64> {
    read_kib(&format!("/proc/{pid}/status"), "VmHWM:")
}

fn proportional(pid: u32) -> Option<u64> {
    read_kib(&format!("/proc/{pid}/smaps_rollup"), "Pss:")
}

fn read_kib(file: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// The supervisors below a process: its children that run the internal subcommand `__supervise`.
fn supervisors_of(pid: u32) -> impl Iterator<Item = u32> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten();
    threads
        .flat_map(|thread| children(&thread.path()))
        .filter(|child| {
            let words = std::fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
            words.split(|&byte| byte == 0).nth(1) == Some(b"__supervise")
        })
}

fn children(thread: &Path) -> Vec<u32> {
    let children = std::fs::read_to_string(thread.join("children")).unwrap_or_default();
    children
        .split_whitespace()
        .filter_map(|child| child.parse().ok())
        .collect()
}

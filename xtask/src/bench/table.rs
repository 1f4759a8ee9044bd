//! The table of results: one row per measurement, with its comparison and its bar.

use std::fmt;
use std::time::Duration;

/// Rows in the order of measurement.
#[derive(Debug, Default)]
pub(super) struct BenchTable(Vec<BenchRow>);

#[derive(Debug)]
struct BenchRow {
    what: String,
    measured: String,
    against: String,
    bar: String,
    is_met: bool,
}

impl BenchTable {
    /// Adds a row whose bar is the time above the bare minimum.
    pub(super) fn add_overhead(
        &mut self,
        what: &str,
        measured: Duration,
        bare: Duration,
        bar: Duration,
    ) {
        let more = measured.saturating_sub(bare);
        let ratio = measured.as_secs_f64() / bare.as_secs_f64();
        self.add(BenchRow {
            what: what.to_owned(),
            measured: format_millis(measured),
            against: format!(
                "{} bare: {} more, ×{ratio:.1}",
                format_millis(bare),
                format_millis(more)
            ),
            bar: format!("≤ {} more", format_millis(bar)),
            is_met: more <= bar,
        });
    }

    /// Adds a row whose bar is a duration.
    pub(super) fn add_duration(
        &mut self,
        what: &str,
        measured: Duration,
        bare: Duration,
        bar: Duration,
    ) {
        let ratio = measured.as_secs_f64() / bare.as_secs_f64();
        self.add(BenchRow {
            what: what.to_owned(),
            measured: format_millis(measured),
            against: format!("{} bare: ×{ratio:.1}", format_millis(bare)),
            bar: format!("≤ {}", format_millis(bar)),
            is_met: measured <= bar,
        });
    }

    /// Adds a row whose bar is the time above that of its parts alone, in percent.
    pub(super) fn add_share(&mut self, what: &str, measured: Duration, parts: Duration, bar: u32) {
        let more = (measured.as_secs_f64() / parts.as_secs_f64() - 1.0) * 100.0;
        self.add(BenchRow {
            what: what.to_owned(),
            measured: format_millis(measured),
            against: format!(
                "{} for its parts alone: {more:.1} % more",
                format_millis(parts)
            ),
            bar: format!("≤ {bar} % more"),
            is_met: more <= f64::from(bar),
        });
    }

    /// Adds a row whose bar is a minimum speed, in MB per second.
    pub(super) fn add_speed(&mut self, what: &str, measured: f64, against: f64, bar: f64) {
        self.add(BenchRow {
            what: what.to_owned(),
            measured: format!("{measured:.0} MB/s"),
            against: format!("{against:.0} MB/s for `wc -l`: ×{:.2}", measured / against),
            bar: format!("≥ {bar:.0} MB/s"),
            is_met: measured >= bar,
        });
    }

    /// Adds a row whose bar is a maximum of memory, in MB.
    pub(super) fn add_memory(&mut self, what: &str, kib: u64, note: &str, bar_mb: u64) {
        self.add(BenchRow {
            what: what.to_owned(),
            measured: format_megabytes(kib),
            against: note.to_owned(),
            bar: format!("≤ {bar_mb} MB"),
            is_met: kib * 1024 <= bar_mb * 1_000_000,
        });
    }

    /// Adds a row whose bar is a ratio of durations, such as when the input doubles.
    pub(super) fn add_growth(&mut self, what: &str, ratio: f64, against: &str, bar: f64) {
        self.add(BenchRow {
            what: what.to_owned(),
            measured: format!("×{ratio:.2}"),
            against: against.to_owned(),
            bar: format!("≤ ×{bar}"),
            is_met: ratio <= bar,
        });
    }

    fn add(&mut self, row: BenchRow) {
        println!("measured: {}: {} ({})", row.what, row.measured, row.against);
        self.0.push(row);
    }
}

impl fmt::Display for BenchTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| what | measured | against | bar | held |")?;
        writeln!(f, "|---|---|---|---|---|")?;
        for row in &self.0 {
            let is_met_label = if row.is_met { "yes" } else { "**no**" };
            let BenchRow {
                what,
                measured,
                against,
                bar,
                ..
            } = row;
            writeln!(
                f,
                "| {what} | {measured} | {against} | {bar} | {is_met_label} |"
            )?;
        }
        Ok(())
    }
}

fn format_millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

pub(super) fn format_megabytes(kib: u64) -> String {
    let tenths = kib * 1024 / 100_000;
    format!("{}.{} MB", tenths / 10, tenths % 10)
}

/// Describes the machine that the measurements ran on.
pub(crate) fn describe_machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let processors = read("/proc/cpuinfo");
    let model = processors
        .lines()
        .find_map(|line| line.strip_prefix("model name"));
    let model = model
        .unwrap_or_default()
        .trim_start_matches([' ', '\t', ':']);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let load = read("/proc/loadavg");
    let load = load.split(' ').next().unwrap_or_default();
    let kernel = read("/proc/sys/kernel/osrelease");
    format!(
        "{model}, {cores} cores, Linux {}, load {load} before",
        kernel.trim()
    )
}

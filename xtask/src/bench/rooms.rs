//! Overhead of the verification room: runs behind bubblewrap whose checks run in a copy of the workspace, compared with
//! their agent and checks alone. Installed and ignored files must not slow a run down.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::BenchTable;
use super::attempts::FILES;
use super::bench_program::BenchProgram;
use super::timing::{medians, time_command};
use crate::XtaskResult;

const ROUNDS: usize = 5;
/// As long as a short test suite.
const CHECK: &str = "sleep 2";
/// Changes a source file.
const WORK: &str = "echo . >> changed.txt";
/// Changes a source file and a test, so that the checks run again with the original test.
const WORK_AND_TEST: &str = "echo . >> changed.txt; echo '# .' >> tests/test_numbers.py";
const BAR_PERCENT: u32 = 5;

/// Adds untracked files to a repository.
type AddFiles = fn(&Path) -> XtaskResult;

/// Repositories by their name: each has `FILES` tracked files.
const REPOSITORIES: [(&str, AddFiles); 3] = [
    ("", |_| Ok(())),
    (", 22,000 files in node_modules", add_node_modules),
    (", 1 GB in an ignored folder", add_ignored_data),
];

pub(super) fn measure(selvedge: &BenchProgram, table: &mut BenchTable) -> XtaskResult {
    for (number, (name, add_files)) in REPOSITORIES.into_iter().enumerate() {
        let repository = selvedge.repository(&format!("room{number}"), FILES)?;
        fs::create_dir(repository.join("tests"))?;
        // Results of the baseline are shared by folders of the same content.
        let test = format!("# Numbers of repository {number}.\n");
        fs::write(repository.join("tests/test_numbers.py"), test)?;
        fs::write(repository.join(".gitignore"), "/node_modules/\n/data/\n")?;
        add_files(&repository)?;
        measure_in(selvedge, &repository, name, table)?;
    }
    Ok(())
}

fn measure_in(
    selvedge: &BenchProgram,
    repository: &Path,
    name: &str,
    table: &mut BenchTable,
) -> XtaskResult {
    let run = |work: &str, baseline: &str| {
        let agent = format!("/bin/sh -c \"{work}\"");
        let mut run = selvedge.run(repository, &agent, CHECK, 0);
        run.env("SELVEDGE_VERIFICATION_BASELINE", baseline)
            .env("SELVEDGE_SANDBOX_BACKEND", "bubblewrap");
        time_command(run, 0)
    };
    let bare = |checks: usize| {
        let start = Instant::now();
        for line in std::iter::once(WORK).chain(std::iter::repeat_n(CHECK, checks)) {
            let mut part = Command::new("/bin/sh");
            part.args(["-c", line])
                .current_dir(repository)
                .stdin(Stdio::null());
            time_command(part, 0)?;
        }
        Ok(start.elapsed())
    };
    let [first, one, warm, two, crossed, three]: [Duration; 6] = medians(
        ROUNDS,
        [
            &mut || run(WORK, "off"),
            &mut || bare(1),
            &mut || run(WORK, "on"),
            &mut || bare(2),
            &mut || run(WORK_AND_TEST, "on"),
            &mut || bare(3),
        ],
    )?;
    let what = |run: &str| format!("{run}, {FILES} files{name}");
    table.add_share(&what("a run that makes its room"), first, one, BAR_PERCENT);
    table.add_share(
        &what("a run in the room of its baseline"),
        warm,
        two,
        BAR_PERCENT,
    );
    table.add_share(&what("a changed test"), crossed, three, BAR_PERCENT);
    Ok(())
}

/// 2,200 packages of ten small files.
fn add_node_modules(repository: &Path) -> XtaskResult {
    for package in 0..2_200 {
        let folder = repository.join(format!("node_modules/package{package}"));
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("package.json"), "{}\n")?;
        for file in 0..9 {
            fs::write(
                folder.join(format!("file{file}.js")),
                "module.exports = 1;\n",
            )?;
        }
    }
    Ok(())
}

/// Sixteen files of 64 MiB.
fn add_ignored_data(repository: &Path) -> XtaskResult {
    let folder = repository.join("data");
    fs::create_dir(&folder)?;
    for number in 0..16 {
        let mut random_bytes = std::io::Read::take(File::open("/dev/urandom")?, 64 << 20);
        let mut file = File::create(folder.join(format!("part{number}.bin")))?;
        std::io::copy(&mut random_bytes, &mut file)?;
    }
    Ok(())
}

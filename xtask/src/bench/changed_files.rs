//! Cost of the syntax check of changed files: a run that changes 50 files in several languages in a
//! repository of 2,000 files, with the check and without it.

use std::fmt::Write as _;
use std::time::Duration;

use super::BenchTable;
use super::attempts::FILES;
use super::bench_program::BenchProgram;
use super::timing::{medians, time_command};
use crate::XtaskResult;

const ROUNDS: usize = 15;
const BAR: Duration = Duration::from_millis(50);
/// Lines per file, for a size of about 2 KB.
const LINES: usize = 40;

/// File extension, number of files, beginning, repeated line, and end of a file. `N` is replaced by a
/// different number in each run, so that each run changes the tree.
const KINDS: [(&str, usize, &str, &str, &str); 7] = [
    (
        "py",
        10,
        "seed = N\n",
        "def f(a, b=(1, 2)): return {a: [b for b in b if a > b]}\n",
        "",
    ),
    (
        "js",
        16,
        "const seed = N;\n",
        "function f(a, { b }) { return [a, ...b].map((it) => `${it}`); }\n",
        "",
    ),
    (
        "rs",
        6,
        "const SEED: u64 = N;\n",
        "mod m { fn f<T: Clone>(a: &[T]) -> Vec<T> { a.iter().cloned().collect() } }\n",
        "",
    ),
    (
        "json",
        8,
        "{\"seed\": N",
        ",\n  \"key\": {\"list\": [1, 2.5, true, null], \"text\": \"some words\"}",
        "}\n",
    ),
    (
        "yaml",
        4,
        "seed: N\nlist:\n",
        "  - {key: value, text: \"some words\", deep: [1, 2, 3]}\n",
        "",
    ),
    (
        "toml",
        2,
        "seed = N\n",
        "[[point]]\nat = { x = 1, y = 2 }\ntext = \"some words\"\n",
        "",
    ),
    (
        "sh",
        4,
        "seed=N\n",
        "if [ \"$1\" = x ]; then echo \"$(printf '%s' \"$2\")\"; fi\n",
        "",
    ),
];

pub(super) fn measure(selvedge: &BenchProgram, table: &mut BenchTable) -> XtaskResult {
    let repository = selvedge.repository("changed", FILES)?;
    let agent = repository.with_extension("agent");
    std::fs::write(&agent, agent_script())?;
    let agent = format!("/bin/sh {}", agent.display());
    let run = |look: &str| {
        let mut run = selvedge.run(&repository, &agent, "/bin/true", 0);
        run.env("SELVEDGE_VERIFICATION_SYNTAX", look);
        time_command(run, 0)
    };
    let [with, without] = medians(ROUNDS, [&mut || run("true"), &mut || run("false")])?;
    let what = format!("a look at 50 changed files of {FILES}");
    table.add_overhead(&what, with, without, BAR);
    Ok(())
}

/// A script that rewrites all files.
fn agent_script() -> String {
    let mut script = "mkdir -p changed; n=$$\n".to_owned();
    for (ending, count, begins, line, ends) in KINDS {
        for number in 0..count {
            let text = format!("{begins}{}{ends}", line.repeat(LINES));
            // Writing to a string cannot fail.
            let _ = write!(
                script,
                "cat > changed/{number}.{ending} <<END\n{}END\n",
                escape_heredoc(&text)
            );
        }
    }
    script
}

/// Escapes a text for a here-document, except for `$n`.
fn escape_heredoc(text: &str) -> String {
    let text = text
        .replace('\\', "\\\\")
        .replace('$', "\\$")
        .replace('`', "\\`");
    text.replacen('N', "$n", 1)
}

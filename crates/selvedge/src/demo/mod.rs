//! The repository, task, checks and agent script of `selvedge demo`. The repository needs only `sh`. Only the agent is
//! scripted; everything else is real. Its first attempt makes a typical mistake: it does what the task says, and misses
//! a case that the task does not mention.

use selvedge_core::model::{Step, StepKind};

use crate::scripted_agent::{AgentScript, FileText, ScriptStep};

#[derive(Debug, Clone, Copy)]
pub(crate) struct DemoFile {
    /// The path relative to the repository.
    pub path: &'static str,
    pub contents: &'static str,
    pub mode: u32,
}

/// The task's description.
pub(crate) const TASK: &str = "\
`sh duration.sh 3725` prints `1h 62m 5s`. It should print `1h 2m 5s`, and leave out the parts that \
are zero: 3600 is `1h`, 45 is `45s`. examples.txt has more. Change duration.sh only.";

const PROGRAM: &str = "duration.sh";

/// The files of the repository's first commit.
pub(crate) const FILES: [DemoFile; 4] = [
    DemoFile {
        path: "README.md",
        contents: include_str!("files/README.md"),
        mode: 0o644,
    },
    DemoFile {
        path: PROGRAM,
        contents: include_str!("files/duration.sh"),
        mode: 0o755,
    },
    DemoFile {
        path: "examples.txt",
        contents: include_str!("files/examples.txt"),
        mode: 0o644,
    },
    DemoFile {
        path: "test.sh",
        contents: include_str!("files/test.sh"),
        mode: 0o755,
    },
];

pub(crate) fn checks() -> Vec<Step> {
    let tests = Step::new(StepKind::TestPasses, "sh test.sh");
    let syntax = Step::new(StepKind::Command, "sh -n duration.sh");
    vec![
        Step {
            name: Some("tests".to_owned()),
            ..tests
        },
        Step {
            name: Some("syntax".to_owned()),
            ..syntax
        },
    ]
}

pub(crate) fn script() -> AgentScript {
    let say = |text: &str| ScriptStep::Say(text.to_owned());
    let write = |text: &str| {
        ScriptStep::Write(FileText {
            path: PROGRAM.into(),
            text: text.to_owned(),
        })
    };
    let run = |argv: [&str; 3]| ScriptStep::Run(argv.map(str::to_owned).to_vec());
    // Long enough for a person to notice progress.
    let think = || ScriptStep::SleepMs(250);
    AgentScript::new([
        vec![
            say("I am a scripted agent: no model, no cost. I will take the parts one by one."),
            think(),
            write(include_str!("work/first.sh")),
            run(["sh", PROGRAM, "3725"]),
            think(),
            say("3725 is `1h 2m 5s` now, and parts that are zero are left out. Done."),
        ],
        vec![
            say("The correction names the case I missed: nothing is left of 0 seconds."),
            think(),
            write(include_str!("work/second.sh")),
            run(["sh", PROGRAM, "0"]),
            say("0 is `0s` now, and the rest is as it was."),
        ],
    ])
}

#[cfg(test)]
mod tests;

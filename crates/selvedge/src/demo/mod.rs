//! What `selvedge demo` works on: a small repository with failing tests, a task, the checks, and
//! what the scripted agent does to it. The repository needs `sh` and nothing else. Everything but
//! the agent is the real thing; and the agent's first attempt is wrong in the way that first
//! attempts are: it does what the task says, and forgets the case that the task does not mention.

use selvedge_core::model::{Step, StepKind};

use crate::scripted_agent::{AgentScript, FileText, ScriptStep};

/// A file of the repository.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DemoFile {
    /// Where, relative to the repository.
    pub path: &'static str,
    /// What it contains.
    pub contents: &'static str,
    /// Its permissions.
    pub mode: u32,
}

/// What the agent is asked to do.
pub(crate) const TASK: &str = "\
`sh duration.sh 3725` prints `1h 62m 5s`. It should print `1h 2m 5s`, and leave out the parts that \
are zero: 3600 is `1h`, 45 is `45s`. examples.txt has more. Change duration.sh only.";

const PROGRAM: &str = "duration.sh";

/// The repository before anybody works on it.
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

/// What must hold.
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

/// What the scripted agent does.
pub(crate) fn script() -> AgentScript {
    let say = |text: &str| ScriptStep::Say(text.to_owned());
    let write = |text: &str| {
        ScriptStep::Write(FileText {
            path: PROGRAM.into(),
            text: text.to_owned(),
        })
    };
    let run = |argv: [&str; 3]| ScriptStep::Run(argv.map(str::to_owned).to_vec());
    // Long enough for a person to see that something happens.
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

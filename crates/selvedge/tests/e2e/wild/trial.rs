//! A project's trial: what `init` finds, and the verdicts on a wrong edit, a fix and a cheat.

use std::any::Any;
use std::fmt::Write as _;
use std::time::Instant;

use selvedge_testkit::TestEnv;
use serde_json::Value;

use super::project::{Project, Work, shell, with_machine};

/// The limits, in percent of the runs' time.
const MAX_OWN: f64 = 2.0;
const MAX_RERUNS: f64 = 5.0;

/// The result of a project's trial.
pub(super) struct Trial {
    name: String,
    version: String,
    ecosystem: String,
    runner: String,
    result: Result<Findings, String>,
}

/// Observations.
#[derive(Debug, Default)]
struct Findings {
    /// The commands of the checks that `init` wrote.
    checks: Vec<String>,
    outcomes: Vec<String>,
    times: Times,
    /// Unmet requirements.
    problems: Vec<String>,
}

/// Sums over all runs, in milliseconds.
#[derive(Debug, Default, Clone, Copy)]
struct Times {
    wall: f64,
    /// The number of runs.
    runs: f64,
    /// In agents, setups and checks, the first run of each check on a tree.
    work: f64,
    reruns: f64,
}

/// Prepares and tries a project.
pub(super) fn run(project: &Project) -> Trial {
    run_in(project, &project.prepare())
}

/// Tries a project in its repository.
pub(super) fn run_in(project: &Project, env: &TestEnv) -> Trial {
    let mut findings = Findings::default();
    findings.initialise(project, env);
    if findings.problems.is_empty() {
        for work in Work::ALL {
            findings.try_work(project, env, work);
        }
    }
    Trial::new(project, Ok(findings))
}

impl Findings {
    /// Runs `init`, and commits what it wrote.
    fn initialise(&mut self, project: &Project, env: &TestEnv) {
        let out = with_machine(env.selvedge(["init"]), env).run();
        let status = env.git(["status", "--porcelain"]);
        if out.code != 0 || status.trim() != "?? selvedge.toml" {
            self.problems.push(format!("init: {status}\n{out}"));
            return;
        }
        let mut text = env.read("selvedge.toml");
        let settings: toml::Table = toml::from_str(&text).unwrap();
        let checks = settings.get("checks").and_then(|checks| checks.as_array());
        let commands = checks
            .into_iter()
            .flatten()
            .filter_map(|check| check["run"].as_str());
        self.checks = commands.map(str::to_owned).collect();
        if self.command(project).is_none() {
            let problem = format!(
                "init found no check with `{}`\n{text}\n{out}",
                project.check
            );
            self.problems.push(problem);
            return;
        }
        if !project.known_failures.is_empty() {
            let known = toml::Value::from(project.known_failures.clone());
            let header = "[verification]\n";
            let setting = format!("{header}known_failures = {known}\n");
            text = match text.split_once(&format!("\n{header}")) {
                Some((before, after)) => format!("{before}\n{setting}{after}"),
                None => format!("{setting}\n{text}"),
            };
            env.write("selvedge.toml", text);
        }
        env.commit("Add checks");
    }

    /// The command of the check that must find the bug.
    fn command(&self, project: &Project) -> Option<&str> {
        let mut commands = self.checks.iter();
        let command = commands.find(|command| command.contains(&project.check));
        command.map(String::as_str)
    }

    /// Runs the scripted agent, and compares the verdict with the check's own result.
    fn try_work(&mut self, project: &Project, env: &TestEnv, work: Work) {
        env.git(["reset", "--quiet", "--hard"]);
        env.git(["clean", "--quiet", "-fd"]);
        let edit = project.edit(work);
        let content = edit.apply(env);
        let retries = if work == Work::Wrong { "1" } else { "0" };
        let agent = write_agent(env, &edit.file, &content);
        let run = [
            "run",
            &project.task,
            "--agent-cmd",
            &agent,
            "--retries",
            retries,
        ];
        let run = env.selvedge(run).args(["--format", "json"]);
        let began = Instant::now();
        let out = with_machine(run, env).run();
        self.times.wall += began.elapsed().as_secs_f64() * 1_000.0;
        self.times.runs += 1.0;
        let result: Value = serde_json::from_str(&out.stdout).unwrap_or_default();
        let outcome = result["outcome"].as_str().unwrap_or("no result");
        self.outcomes.push(outcome.replace('_', " "));
        let is_right = match work {
            Work::Fix => out.code == 0,
            Work::Wrong | Work::Cheat => matches!(out.code, 1 | 7),
        };
        let label = work.label();
        if !is_right {
            self.problems.push(format!("{label}: {out}"));
        }
        self.times.add_events(&events_of_last_run(env));
        if work == Work::Wrong {
            let prompts = env.selvedge(["show", "--prompt"]).run().stdout;
            let correction = prompts.split_once("VERIFICATION RETRY");
            if !correction.is_some_and(|(_, text)| text.contains(&project.test)) {
                let problem = format!("the corrective prompt lacks {}:\n{prompts}", project.test);
                self.problems.push(problem);
            }
        }
        self.check_control(project, env, work);
    }

    /// Runs the check on the agent's files outside of Selvedge: only a wrong edit may fail.
    fn check_control(&mut self, project: &Project, env: &TestEnv, work: Work) {
        let edit = project.edit(work);
        env.git(["reset", "--quiet", "--hard"]);
        env.write(&edit.file, edit.apply(env));
        let command = self.command(project).unwrap_or_default().to_owned();
        let out = shell(env, &command);
        let is_expected = match work {
            // A known failure makes the command fail.
            _ if !project.known_failures.is_empty() => true,
            Work::Wrong => out.code != 0,
            Work::Fix | Work::Cheat => out.code == 0,
        };
        if !is_expected {
            let problem = format!("control of {}, `{command}`: {out}", work.label());
            self.problems.push(problem);
        }
    }
}

/// The events of the last run.
fn events_of_last_run(env: &TestEnv) -> Vec<Value> {
    env.selvedge(["show", "--format", "jsonl"]).run().jsonl()
}

impl Times {
    fn add_events(&mut self, events: &[Value]) {
        for event in events {
            let data = &event["data"];
            match event["type"].as_str() {
                Some("session_ended") => self.work += milliseconds(&data["outcome"]),
                Some("baseline_taken") => {
                    let cached = data["baseline"]["cached"].as_u64().unwrap_or_default();
                    if cached == 0 {
                        self.add_checks(&data["baseline"]["checks"]);
                    }
                }
                Some("reported") => {
                    let report = &data["report"];
                    self.add_checks(&report["checks"]);
                    self.add_checks(&report["crossed"]["checks"]);
                    let other_runs = &report["crossed"]["other_runs_ms"];
                    self.work += other_runs.as_f64().unwrap_or_default();
                    self.work += report["setup_ms"].as_f64().unwrap_or_default();
                }
                _ => {}
            }
        }
    }

    fn add_checks(&mut self, checks: &Value) {
        let checks = checks.as_array().into_iter().flatten();
        // Selvedge's own check of the syntax runs beside the others.
        for check in checks.filter(|check| check["type"] != "syntax") {
            self.work += milliseconds(check);
            self.reruns += check["reruns_ms"].as_f64().unwrap_or_default();
        }
    }

    fn own(self) -> f64 {
        self.wall - self.work - self.reruns
    }

    fn own_percent(self) -> f64 {
        100.0 * self.own() / self.wall
    }

    fn own_seconds_per_run(self) -> f64 {
        self.own() / 1_000.0 / self.runs
    }

    fn reruns_percent(self) -> f64 {
        100.0 * self.reruns / self.wall
    }
}

fn milliseconds(value: &Value) -> f64 {
    value["duration_ms"].as_f64().unwrap_or_default()
}

/// Writes an agent that writes one file; returns its command line.
fn write_agent(env: &TestEnv, file: &str, content: &str) -> String {
    let mut script = "set -e\ncat > /dev/null\n".to_owned();
    // Writing to a string cannot fail.
    let _ = writeln!(script, "mkdir -p \"$(dirname '{file}')\"");
    let content = content.strip_suffix('\n').unwrap_or(content);
    let _ = writeln!(
        script,
        "cat > '{file}' <<'END_OF_FILE'\n{content}\nEND_OF_FILE"
    );
    let path = env.root().join("agent.sh");
    std::fs::write(&path, script).unwrap();
    format!("sh '{}'", path.display())
}

impl Trial {
    fn new(project: &Project, result: Result<Findings, String>) -> Self {
        Self {
            name: project.name.clone(),
            version: project.version.clone(),
            ecosystem: project.ecosystem.clone(),
            runner: project.runner.clone(),
            result,
        }
    }

    /// The result for a project that could not be tried.
    pub(super) fn broken(project: &Project, panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        let text = text.unwrap_or("a panic without a message");
        Self::new(project, Err(text.to_owned()))
    }

    /// Unmet requirements, for the message of a failure.
    pub(super) fn problems(&self) -> Vec<String> {
        let problems = match &self.result {
            Ok(findings) => findings.problems.clone(),
            Err(why) => vec![why.clone()],
        };
        problems
            .iter()
            .map(|it| format!("{}: {it}", self.name))
            .collect()
    }

    /// Returns a row of the table.
    pub(super) fn row(&self) -> String {
        let mark = if self.problems().is_empty() {
            ""
        } else {
            "**miss** "
        };
        let cells = match &self.result {
            Err(why) => {
                let why = why.lines().next().unwrap_or_default();
                vec![
                    why.replace('|', "\\|"),
                    String::new(),
                    String::new(),
                    String::new(),
                    String::new(),
                ]
            }
            Ok(findings) => {
                let checks = findings.checks.iter().map(|it| format!("`{it}`"));
                let checks = checks.collect::<Vec<_>>().join(", ").replace('|', "\\|");
                let times = findings.times;
                vec![
                    checks,
                    findings.outcomes.join(", "),
                    format!("{:.1}", times.own_percent()),
                    format!("{:.2}", times.own_seconds_per_run()),
                    format!("{:.1}", times.reruns_percent()),
                ]
            }
        };
        let Self {
            ecosystem,
            name,
            version,
            runner,
            ..
        } = self;
        let cells = cells.join(" | ");
        format!("| {ecosystem} | {name} {version} | {runner} | {mark}{cells} |")
    }

    fn times(&self) -> Times {
        self.result
            .as_ref()
            .map_or_else(|_| Times::default(), |it| it.times)
    }
}

/// Returns the last row: the times of all projects together.
pub(super) fn total(trials: &[Trial]) -> String {
    let mut times = Times::default();
    for trial in trials {
        let own = trial.times();
        times.wall += own.wall;
        times.runs += own.runs;
        times.work += own.work;
        times.reruns += own.reruns;
    }
    let (own, reruns) = (times.own_percent(), times.reruns_percent());
    let seconds = times.own_seconds_per_run();
    let is_kept = own <= MAX_OWN && reruns <= MAX_RERUNS;
    let verdict = if is_kept {
        "within the limits"
    } else {
        "**not within the limits**"
    };
    format!(
        "| total | {} projects | | | {verdict} | {own:.1} | {seconds:.2} | {reruns:.1} |",
        trials.len()
    )
}

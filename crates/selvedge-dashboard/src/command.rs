//! Renders a task as a `selvedge` command line for a POSIX shell that requests the same task again. Fields without an
//! option are passed as JSON, so that nothing is lost silently.

use selvedge_core::config::{FLAG_AGENT_NAME, HumanDuration};
use selvedge_core::model::{
    Budget, DeliveryMode, MicroUsd, RunSpec, Step, StepKind, Task, VerificationPlan,
};

/// Joins words to a command line, each quoted for the shell.
pub fn command<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(quote).collect::<Vec<_>>().join(" ")
}

fn quote(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:@%+=,".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Adds an option if it has a value.
fn push_option(words: &mut Vec<String>, name: &str, value: Option<impl ToString>) {
    words.extend(
        value
            .into_iter()
            .flat_map(|it| [name.to_owned(), it.to_string()]),
    );
}

fn join_words(words: &[String]) -> String {
    command(words.iter().map(String::as_str))
}

/// Whether `--check` can express the whole step.
fn is_plain(step: &Step) -> bool {
    *step == Step::new(StepKind::Command, step.target.clone())
}

fn push_checks(words: &mut Vec<String>, steps: &[Step]) {
    for step in steps {
        push_option(words, "--check", Some(&step.target));
    }
}

/// Adds those limits of the whole run that options can express, and returns them.
fn push_budget(words: &mut Vec<String>, budget: Budget) -> Budget {
    let cost = budget
        .cost_micro_usd
        .filter(|cost| MicroUsd::from_usd(cost.as_usd()) == Some(*cost));
    let tokens = budget
        .tokens
        .filter(|tokens| u32::try_from(*tokens).is_ok());
    let duration = budget
        .duration_ms
        .map(HumanDuration)
        .filter(|time| time.to_string().parse() == Ok(*time));
    push_option(words, "--max-cost", cost.map(MicroUsd::as_usd));
    push_option(words, "--max-tokens", tokens);
    push_option(words, "--max-duration", duration);
    Budget {
        cost_micro_usd: cost,
        tokens,
        duration_ms: duration.map(|time| time.0),
        ..Budget::default()
    }
}

const fn deliver(deliver: DeliveryMode) -> &'static str {
    match deliver {
        DeliveryMode::Patch => "patch",
        DeliveryMode::Branch => "branch",
    }
}

/// Command that runs a local task again in its directory. Checks that are more than commands come from the
/// directory's settings, as in the original run.
pub fn run_again(spec: &RunSpec) -> String {
    let mut words = vec![
        "selvedge".to_owned(),
        "run".to_owned(),
        spec.description.clone(),
    ];
    let program = &spec.agent.program;
    if spec.agent.name == FLAG_AGENT_NAME {
        let program = command(program.iter().map(String::as_str));
        push_option(&mut words, "--agent-cmd", Some(program));
    } else {
        push_option(&mut words, "--agent", Some(&spec.agent.name));
    }
    if let VerificationPlan::Steps { steps } = &spec.verification
        && steps.iter().all(is_plain)
    {
        push_checks(&mut words, steps);
    }
    push_option(&mut words, "--retries", Some(spec.max_verification_retries));
    push_budget(&mut words, spec.budget);
    let tiers = spec.judging.iter().flat_map(|judging| &judging.tiers);
    push_option(&mut words, "--tier", tiers.max());
    let workspace_path = spec.workspace.display().to_string();
    format!(
        "{} && {}",
        command(["cd", &workspace_path]),
        join_words(&words)
    )
}

/// Command that submits the same task to a hub again.
pub fn submit_again(task: &Task) -> String {
    let task = Task {
        task_id: None,
        ..task.clone()
    };
    let mut limits = Vec::new();
    let budget = task.budget.map(|budget| push_budget(&mut limits, budget));
    let steps = task.verification_steps.as_deref();
    let submitted = Task {
        description: task.description.clone(),
        repository: task.repository.clone(),
        revision: task.revision.clone(),
        workspace: task.workspace.clone(),
        deliver: task.deliver,
        agent: task.agent.clone(),
        verification_steps: task.verification_steps.clone(),
        verification_tier: task.verification_tier,
        max_verification_retries: task.max_verification_retries,
        budget,
        labels: task.labels.clone(),
        priority: task.priority,
        ..Task::default()
    };
    if submitted != task
        || !steps.is_none_or(|steps| !steps.is_empty() && steps.iter().all(is_plain))
    {
        // On a single line, so that no line of the JSON can terminate the here-document early.
        let json = serde_json::to_string(&task).unwrap_or_default();
        return format!("selvedge submit --file - <<'TASK'\n{json}\nTASK");
    }
    let mut words = vec!["selvedge".to_owned(), "submit".to_owned(), task.description];
    push_option(&mut words, "--repo", task.repository);
    push_option(&mut words, "--rev", task.revision);
    push_option(&mut words, "--workspace", task.workspace);
    push_option(&mut words, "--deliver", task.deliver.map(deliver));
    push_option(&mut words, "--agent", task.agent);
    push_checks(&mut words, steps.unwrap_or_default());
    push_option(&mut words, "--retries", task.max_verification_retries);
    words.extend(limits);
    push_option(&mut words, "--tier", task.verification_tier);
    push_option(
        &mut words,
        "--labels",
        Some(task.labels.join(",")).filter(|it| !it.is_empty()),
    );
    push_option(&mut words, "--priority", task.priority);
    join_words(&words)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn again(task: serde_json::Value) -> String {
        submit_again(&serde_json::from_value(task).unwrap())
    }

    #[test]
    fn quote_round_trips_through_shell() {
        assert_eq!(
            command(["run", "it's $HOME", "", "--check", "a\nb"]),
            "run 'it'\\''s $HOME' '' --check 'a\nb'"
        );
    }

    #[test]
    fn command_uses_options_where_possible() {
        let plain = json!({
            "task_id": "0190a000-0000-7000-8000-000000000001", "description": "greet; rm -rf /",
            "repository": "https://example.org/a.git", "agent": "claude", "labels": ["gpu", "linux"],
            "verification_steps": [{ "type": "command", "target": "make test" }],
            "max_verification_retries": 2,
            "budget": { "cost_micro_usd": 2_500_000, "tokens": 90_000, "wall_ms": 5_400_000 },
        });
        assert_eq!(
            again(plain.clone()),
            "selvedge submit 'greet; rm -rf /' --repo https://example.org/a.git --agent claude \
             --check 'make test' --retries 2 --max-cost 2.5 --max-tokens 90000 --max-duration '1h 30m' \
             --labels gpu,linux"
        );
        for (key, value) in [
            ("verification_steps", json!([])),
            (
                "verification_steps",
                json!([{ "type": "test_passes", "target": "make test" }]),
            ),
            ("budget", json!({ "tokens": 5_000_000_000_u64 })),
            (
                "budget",
                json!({ "cost_micro_usd": 1, "attempt_tokens": 9 }),
            ),
            ("acceptance_criteria", json!("It greets.\nTASK\nrm -rf /")),
        ] {
            let mut more = plain.clone();
            more[key] = value;
            let submitted = again(more.clone());
            let lines: Vec<&str> = submitted.lines().collect();
            assert_eq!(lines.len(), 3, "{submitted}");
            assert_eq!(
                (lines[0], lines[2]),
                ("selvedge submit --file - <<'TASK'", "TASK")
            );
            let sent: Task = serde_json::from_str(lines[1]).unwrap();
            let wanted: Task = serde_json::from_value(more).unwrap();
            assert_eq!(
                sent,
                Task {
                    task_id: None,
                    ..wanted
                }
            );
        }
    }
}

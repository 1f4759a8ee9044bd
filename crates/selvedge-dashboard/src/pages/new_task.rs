//! The form of a new task, with the command line that submits the same.

use askama::Template;
use selvedge_core::model::{Budget, MicroUsd, Step, StepKind, Task};

use super::frame::PageFrame;
use crate::command::submit_again;
use crate::text::make_visible;

/// The page.
#[derive(Template)]
#[template(path = "new.html")]
pub(crate) struct NewTaskPage {
    frame: PageFrame,
    refused: String,
    description: String,
    criteria: String,
    repository: String,
    revision: String,
    workspace: String,
    agent: String,
    agents: Vec<String>,
    checks: String,
    retries: String,
    cost: String,
    tokens: String,
    minutes: String,
    labels: String,
    /// The fields without an input, as JSON.
    base: String,
    command: Option<String>,
}

/// The fields of the form.
#[derive(Debug, Default)]
pub(crate) struct NewTaskForm<'a> {
    pub(crate) base: &'a str,
    pub(crate) description: &'a str,
    pub(crate) criteria: &'a str,
    pub(crate) repository: &'a str,
    pub(crate) revision: &'a str,
    pub(crate) workspace: &'a str,
    pub(crate) agent: &'a str,
    pub(crate) checks: &'a str,
    pub(crate) retries: &'a str,
    /// Maximum cost in dollars.
    pub(crate) cost: &'a str,
    /// Maximum number of input and output tokens.
    pub(crate) tokens: &'a str,
    /// Maximum duration in minutes.
    pub(crate) minutes: &'a str,
    pub(crate) labels: &'a str,
}

impl NewTaskForm<'_> {
    /// The task. Checks that the user did not edit are taken over unchanged, even if the form cannot express them.
    pub(crate) fn task(&self) -> Result<Task, &'static str> {
        let mut task: Task = match self.base {
            "" => Task::default(),
            base => {
                serde_json::from_str(base).map_err(|_| "the form is damaged; reload the page")?
            }
        };
        let text = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        task.task_id = None;
        task.description = self.description.trim().replace("\r\n", "\n");
        task.acceptance_criteria = text(&self.criteria.replace("\r\n", "\n"));
        task.repository = text(self.repository);
        task.revision = text(self.revision);
        task.workspace = text(self.workspace);
        task.agent = text(self.agent);
        let checks = self.checks.lines().map(str::trim);
        let checks: Vec<&str> = checks.filter(|line| !line.is_empty()).collect();
        let before = task.verification_steps.as_deref().unwrap_or_default();
        let is_same = before
            .iter()
            .map(|step| &*step.target)
            .eq(checks.iter().copied());
        if !is_same {
            let steps = checks
                .iter()
                .map(|line| Step::new(StepKind::Command, *line));
            let steps: Vec<Step> = steps.collect();
            task.verification_steps = (!steps.is_empty()).then_some(steps);
        }
        task.max_verification_retries = match self.retries.trim() {
            "" => None,
            number => Some(number.parse().map_err(|_| "retries must be a number")?),
        };
        let mut budget = task.budget.unwrap_or_default();
        budget.cost_micro_usd = match self.cost.trim() {
            "" => None,
            usd => {
                Some(parse_usd(usd).ok_or("the maximum cost must be an amount in dollars: 2.50")?)
            }
        };
        budget.tokens = match self.tokens.trim() {
            "" => None,
            number => {
                let number = number.parse().ok().filter(|number| *number > 0);
                Some(number.ok_or("the maximum number of tokens must be a whole number")?)
            }
        };
        // A limit that the form shows rounded keeps its exact value.
        if self.minutes.trim() != minutes_text(budget.duration_ms) {
            budget.duration_ms = match self.minutes.trim() {
                "" => None,
                minutes => Some(
                    parse_minutes(minutes)
                        .ok_or("the maximum duration must be a number of minutes")?,
                ),
            };
        }
        task.budget = (budget != Budget::default()).then_some(budget);
        let labels = self.labels.split(',').map(str::trim);
        task.labels = labels
            .filter(|label| !label.is_empty())
            .map(str::to_owned)
            .collect();
        Ok(task)
    }
}

fn parse_usd(text: &str) -> Option<MicroUsd> {
    let usd = text.trim_start_matches('$').parse().ok()?;
    MicroUsd::from_usd(usd).filter(|amount| amount.0 > 0)
}

fn parse_minutes(text: &str) -> Option<u64> {
    let minutes: u64 = text.parse().ok()?;
    minutes.checked_mul(60_000).filter(|millis| *millis > 0)
}

fn minutes_text(millis: Option<u64>) -> String {
    millis.map_or_else(String::new, |millis| millis.div_ceil(60_000).to_string())
}

impl NewTaskPage {
    /// The form for a task. With `command`, the command line is shown.
    pub(crate) fn new(
        frame: PageFrame,
        task: &Task,
        agents: Vec<String>,
        refused: &str,
        command: bool,
    ) -> Self {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let steps = task.verification_steps.as_deref().unwrap_or_default();
        let checks: Vec<&str> = steps.iter().map(|step| &*step.target).collect();
        let retries = task.max_verification_retries;
        let budget = task.budget.unwrap_or_default();
        Self {
            frame,
            refused: make_visible(refused),
            description: task.description.clone(),
            criteria: text(&task.acceptance_criteria),
            repository: text(&task.repository),
            revision: text(&task.revision),
            workspace: text(&task.workspace),
            agent: text(&task.agent),
            agents,
            checks: checks.join("\n"),
            retries: retries.map_or_else(String::new, |it| it.to_string()),
            cost: budget
                .cost_micro_usd
                .map_or_else(String::new, |cost| cost.as_usd().to_string()),
            tokens: budget.tokens.map_or_else(String::new, |it| it.to_string()),
            minutes: minutes_text(budget.duration_ms),
            labels: task.labels.join(", "),
            base: serde_json::to_string(task).unwrap_or_default(),
            command: command.then(|| make_visible(&submit_again(task))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_task_form_keeps_fields_that_it_does_not_show() {
        let base = r#"{"description":"old","expected_outputs":["a.txt"],"verification_steps":[{"type":"test_passes","target":"make test"}]}"#;
        let form = NewTaskForm {
            base,
            description: " new\r\ntask ",
            checks: "make test\n",
            retries: "2",
            labels: "gpu, linux,",
            cost: "$2.5",
            tokens: "90000",
            minutes: "20",
            ..NewTaskForm::default()
        };
        let task = form.task().unwrap();
        let budget = task.budget.unwrap();
        assert_eq!(budget.cost_micro_usd, Some(MicroUsd(2_500_000)));
        assert_eq!(budget.tokens, Some(90_000));
        assert_eq!(budget.duration_ms, Some(1_200_000));
        assert_eq!(
            (task.description.as_str(), task.labels.len()),
            ("new\ntask", 2)
        );
        assert_eq!(task.expected_outputs, ["a.txt"]);
        let steps = task.verification_steps.unwrap();
        assert_eq!(steps[0].kind, StepKind::TestPasses, "unchanged");
        let edited = NewTaskForm {
            checks: "make test\nmake lint",
            ..form
        };
        let steps = edited.task().unwrap().verification_steps.unwrap();
        assert!(steps.iter().all(|step| step.kind == StepKind::Command) && steps.len() == 2);
        for [retries, cost, tokens, minutes] in [
            ["many", "", "", ""],
            ["", "-1", "", ""],
            ["", "", "0", ""],
            ["", "", "", "soon"],
        ] {
            let invalid = NewTaskForm {
                retries,
                cost,
                tokens,
                minutes,
                ..NewTaskForm::default()
            };
            invalid.task().unwrap_err();
        }
    }
}

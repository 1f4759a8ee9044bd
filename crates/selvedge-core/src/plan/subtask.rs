//! Subtasks as tasks of their own.

use crate::model::{Subtask, Task};

/// Converts a subtask to a task. Absent fields are inherited from the whole task.
pub fn subtask_as_task(whole: &Task, subtask: &Subtask) -> Task {
    let either = |own: &Option<String>, whole: &Option<String>| own.clone().or(whole.clone());
    let own = subtask.description.trim_end();
    let description = match whole.description.trim() {
        "" => own.to_owned(),
        whole => format!(
            "{own}\n\nThis is one part of a larger task. Do only this part; the whole, for context:\n{whole}"
        ),
    };
    Task {
        task_id: subtask.task_id,
        description,
        agent: either(&subtask.agent, &whole.agent),
        acceptance_criteria: subtask.acceptance_criteria.clone(),
        expected_outputs: subtask.expected_outputs.clone(),
        expect_test_changes: if subtask.expect_test_changes.is_empty() {
            whole.expect_test_changes.clone()
        } else {
            subtask.expect_test_changes.clone()
        },
        verification_steps: subtask
            .verification_steps
            .clone()
            .or_else(|| whole.verification_steps.clone()),
        verification_tier: subtask.verification_tier.or(whole.verification_tier),
        max_verification_retries: subtask
            .max_verification_retries
            .or(whole.max_verification_retries),
        subtasks: Vec::new(),
        ..whole.clone()
    }
}

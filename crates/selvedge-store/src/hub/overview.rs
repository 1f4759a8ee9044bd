//! Statements of the totals that both databases share; `{filter}` is a condition for the task `t`.

/// Attempts whose end is final, by how they ended.
pub(crate) const CLOSINGS: &str = "
    SELECT a.closed_as, count(*) FROM attempt a JOIN task t ON t.task_no = a.task_no
    WHERE a.closed_as IS NOT NULL AND {filter}
      AND (a.closed_as <> 'interrupted' OR a.attempt_number < t.last_attempt
           OR t.state IN ('succeeded', 'failed', 'cancelled', 'dead'))
    GROUP BY a.closed_as";

/// Attempts after the first one of a task, by how the previous attempt ended. These numbers no longer change.
pub(crate) const RETRIES: &str = "
    SELECT before.closed_as, count(*) FROM attempt a
    JOIN task t ON t.task_no = a.task_no
    JOIN attempt before ON before.task_no = a.task_no AND before.attempt_number = a.attempt_number - 1
    WHERE {filter} AND a.attempt_number > 1 AND before.closed_as IS NOT NULL GROUP BY before.closed_as";

/// Tasks whose work a person accepted.
pub(crate) const ACCEPTED: &str =
    "SELECT count(*) FROM task WHERE outcome = 'verified' AND feedback IS NOT NULL";

/// The condition of tasks that their checks verified.
pub(crate) const VERIFIED_BY_CHECKS: &str = "outcome = 'verified' AND feedback IS NULL";

-- The last attempt whose report passed: a worker's `verified` counts only for that attempt.
ALTER TABLE task ADD COLUMN passed_attempt INTEGER;

UPDATE task SET passed_attempt = last_attempt
WHERE state NOT IN ('succeeded', 'failed', 'cancelled', 'dead')
  AND EXISTS (SELECT 1 FROM report
              WHERE report.task_no = task.task_no AND report.attempt_number = task.last_attempt
                AND json_extract(report.body, '$.status') = 'pass');

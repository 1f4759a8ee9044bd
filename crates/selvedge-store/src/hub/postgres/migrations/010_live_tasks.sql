-- One index of the tasks that workers hold or wait for, instead of two: it counts those of each submitter as well.
DROP INDEX task_held;
DROP INDEX task_live;
CREATE INDEX task_live ON task (submitter_no) WHERE state IN ('offered', 'running', 'backoff', 'cancelling');

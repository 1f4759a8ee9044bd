-- Held tasks are counted in memory: every change of a task wrote this index.
DROP INDEX task_held;

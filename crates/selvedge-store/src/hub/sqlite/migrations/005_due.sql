-- When tasks are due is kept in memory: every change of a task had to write this index, too.
DROP INDEX task_due;

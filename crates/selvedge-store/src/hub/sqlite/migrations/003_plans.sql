-- Plans that may not be over yet, which the hub itself carries through: few among many tasks. An index would be
-- looked at by every change of every task.
CREATE TABLE plan (
    task_no INTEGER NOT NULL PRIMARY KEY
) STRICT;
INSERT INTO plan SELECT task_no FROM task WHERE labels = '["selvedge:plan"]';

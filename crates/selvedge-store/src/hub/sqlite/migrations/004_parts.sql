-- Which part of which plan a task is; both absent for a task of its own.
ALTER TABLE task ADD COLUMN part_of TEXT;
ALTER TABLE task ADD COLUMN subtask TEXT;
UPDATE task
SET part_of = (SELECT body ->> '$.part_of.parent_task_id' FROM task_body b WHERE b.task_no = task.task_no),
    subtask = (SELECT body ->> '$.part_of.subtask' FROM task_body b WHERE b.task_no = task.task_no)
WHERE task_no IN (SELECT task_no FROM task_body WHERE body LIKE '%"parent_task_id"%');

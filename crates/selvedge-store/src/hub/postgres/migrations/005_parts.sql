-- Which part of which plan a task is; both absent for a task of its own.
ALTER TABLE request ADD COLUMN part_of uuid, ADD COLUMN subtask text;
UPDATE request
SET part_of = (body::json #>> '{part_of,parent_task_id}')::uuid, subtask = body::json #>> '{part_of,subtask}'
WHERE body LIKE '%"parent_task_id"%';

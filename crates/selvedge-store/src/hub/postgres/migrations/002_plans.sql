-- Plans that are not over, which the hub itself carries through: few among many tasks.
CREATE INDEX task_plan ON task (task_no) WHERE labels = '["selvedge:plan"]'::jsonb AND outcome IS NULL;

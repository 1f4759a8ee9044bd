-- Every change of a task is an update of its row: what that costs bounds how many tasks a hub completes.

-- One index of the tasks that workers hold or wait for, instead of two: it counts those of each submitter as well.
DROP INDEX task_held;
DROP INDEX task_live;
CREATE INDEX task_live ON task (submitter_no) WHERE state IN ('offered', 'running', 'backoff', 'cancelling');

-- After the update, these refuse it as well; before it, they lock each row once more.
DROP TRIGGER over_stays_over ON task;
DROP TRIGGER epoch_rises ON task;
CREATE TRIGGER over_stays_over AFTER UPDATE ON task FOR EACH ROW
    WHEN (OLD.state IN ('succeeded', 'failed', 'cancelled', 'dead') AND NEW.state <> OLD.state)
    EXECUTE FUNCTION refuse('a task that is over never changes its state');
CREATE TRIGGER epoch_rises AFTER UPDATE ON task FOR EACH ROW
    WHEN (NEW.epoch < OLD.epoch)
    EXECUTE FUNCTION refuse('an epoch never falls');

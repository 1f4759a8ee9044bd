-- What was called a tenant is a project. Triggers are renamed with the columns.
ALTER TABLE task RENAME COLUMN tenant TO project;
ALTER TABLE idempotency RENAME COLUMN tenant TO project;
ALTER TABLE token RENAME COLUMN tenant TO project;
ALTER TABLE audit RENAME COLUMN tenant TO project;
ALTER TABLE login_session RENAME COLUMN tenant TO project;
ALTER TABLE webhook RENAME COLUMN tenant TO project;
ALTER TABLE schedule RENAME COLUMN tenant TO project;

-- Settings are JSON. The name of a deleted project is never used again.
CREATE TABLE project (
    name       TEXT    NOT NULL PRIMARY KEY,
    settings   TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    deleted_at INTEGER
) STRICT, WITHOUT ROWID;
INSERT INTO project
SELECT name, '{}', unixepoch() * 1000, NULL
FROM (SELECT 'default' AS name UNION SELECT project FROM token UNION SELECT project FROM task);

-- Who has submitted tasks to a project: tokens, by name, and people, by their identities. Names of people change, and may
-- be equal.
CREATE TABLE submitter (
    submitter_no INTEGER NOT NULL PRIMARY KEY,
    project      TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    person       TEXT    NOT NULL DEFAULT '',   -- JSON: issuer and subject; '' for tokens
    token_name   TEXT    NOT NULL GENERATED ALWAYS AS (CASE person WHEN '' THEN name ELSE '' END) STORED,
    UNIQUE (project, person, token_name)
) STRICT;
INSERT INTO submitter (project, name) SELECT DISTINCT project, submitted_by FROM task;

-- NULL for plans, which no worker runs, and for tasks that had ended before there were projects.
ALTER TABLE task ADD COLUMN submitter_no INTEGER;
UPDATE task SET submitter_no = (
    SELECT submitter_no FROM submitter s WHERE s.project = task.project AND s.name = task.submitted_by)
WHERE state NOT IN ('succeeded', 'failed', 'cancelled', 'dead') AND labels <> '["selvedge:plan"]';

DROP INDEX task_waiting;
CREATE INDEX task_waiting ON task (submitter_no, rank) WHERE state = 'queued';
CREATE INDEX task_held ON task (submitter_no) WHERE state = 'offered' OR state = 'running' OR state = 'cancelling';

-- The costs of a submitter's tasks by day (UTC).
CREATE TABLE daily_cost (
    day           INTEGER NOT NULL,
    submitter_no  INTEGER NOT NULL,
    micro_usd     INTEGER NOT NULL,
    unknown_calls INTEGER NOT NULL,
    PRIMARY KEY (day, submitter_no)
) STRICT, WITHOUT ROWID;
-- The costs of today, of ended tasks as well.
INSERT INTO daily_cost
SELECT c.at / 86400000 AS day, s.submitter_no, CAST(total(c.micro_usd) AS INTEGER),
       count(*) FILTER (WHERE c.micro_usd IS NULL OR c.source = 'unknown')
FROM cost c JOIN task t USING (task_no) JOIN submitter s ON s.project = t.project AND s.name = t.submitted_by
WHERE c.at / 86400000 >= unixepoch() / 86400 AND t.labels <> '["selvedge:plan"]'
GROUP BY day, s.submitter_no;
CREATE TRIGGER cost_of_day AFTER INSERT ON cost
BEGIN
    INSERT INTO daily_cost
    SELECT NEW.at / 86400000, submitter_no, coalesce(NEW.micro_usd, 0), NEW.micro_usd IS NULL OR NEW.source = 'unknown'
    FROM task WHERE task_no = NEW.task_no AND submitter_no IS NOT NULL
    ON CONFLICT DO UPDATE SET
        -- A sum that overflows is a floating-point number.
        micro_usd = min(micro_usd + excluded.micro_usd, 9223372036854775807),
        unknown_calls = unknown_calls + excluded.unknown_calls;
END;

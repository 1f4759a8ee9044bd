-- What was called a tenant is a project.
ALTER TABLE request RENAME COLUMN tenant TO project;
ALTER TABLE idempotency RENAME COLUMN tenant TO project;
ALTER TABLE token RENAME COLUMN tenant TO project;
ALTER TABLE audit RENAME COLUMN tenant TO project;
ALTER TABLE login_session RENAME COLUMN tenant TO project;
ALTER TABLE webhook RENAME COLUMN tenant TO project;
ALTER TABLE schedule RENAME COLUMN tenant TO project;

CREATE OR REPLACE FUNCTION add_webhook_deliveries() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    kind text := CASE NEW.state WHEN 'dead' THEN 'task.dead'
                                WHEN 'needs_review' THEN 'task.needs_review'
                                ELSE 'task.finished' END;
BEGIN
    INSERT INTO webhook_delivery (message_id, webhook_id, event, task_id, state, outcome, reason, attempts, at, due_at)
    SELECT 'msg_' || replace(gen_random_uuid()::text, '-', ''), w.webhook_id, kind, r.task_id, NEW.state, NEW.outcome,
           NEW.reason, NEW.last_attempt, NEW.updated_at, NEW.updated_at
    FROM request r JOIN webhook w ON w.project = r.project
    WHERE r.task_no = NEW.task_no AND (w.events = '[]' OR w.events::jsonb @> to_jsonb(kind));
    RETURN NULL;
END $$;

-- Settings are JSON. The name of a deleted project is never used again.
CREATE TABLE project (
    name       text   PRIMARY KEY,
    settings   text   NOT NULL,
    created_at bigint NOT NULL,
    deleted_at bigint
);
INSERT INTO project
SELECT name, '{}', (extract(epoch FROM clock_timestamp()) * 1000)::bigint, NULL
FROM (SELECT 'default' AS name UNION SELECT project FROM token UNION SELECT project FROM request) AS known;

-- Who has submitted tasks to a project: tokens, by name, and people, by their identities. Names of people change, and may
-- be equal.
CREATE TABLE submitter (
    submitter_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project      text   NOT NULL,
    name         text   NOT NULL,
    person       text   NOT NULL DEFAULT '',    -- JSON: issuer and subject; '' for tokens
    token_name   text   NOT NULL GENERATED ALWAYS AS (CASE person WHEN '' THEN name ELSE '' END) STORED,
    UNIQUE (project, person, token_name)
);
INSERT INTO submitter (project, name) SELECT DISTINCT project, submitted_by FROM request;

-- NULL for plans, which no worker runs, and for tasks that had ended before there were projects.
ALTER TABLE task ADD COLUMN submitter_no bigint;
UPDATE task t SET submitter_no = s.submitter_no
FROM request r JOIN submitter s ON s.project = r.project AND s.name = r.submitted_by
WHERE r.task_no = t.task_no AND t.state NOT IN ('succeeded', 'failed', 'cancelled', 'dead')
  AND t.labels <> '["selvedge:plan"]'::jsonb;

DROP INDEX task_waiting;
CREATE INDEX task_waiting ON task (submitter_no, rank, task_no) WHERE state = 'queued';
CREATE INDEX task_held ON task (submitter_no) WHERE state IN ('offered', 'running', 'cancelling');

-- The costs of a submitter's tasks by day (UTC). Each connection adds to rows of its own, so that no transaction waits
-- for another one.
CREATE TABLE daily_cost (
    day           bigint  NOT NULL,
    submitter_no  bigint  NOT NULL,
    backend       integer NOT NULL,
    micro_usd     bigint  NOT NULL,
    unknown_calls bigint  NOT NULL,
    PRIMARY KEY (day, submitter_no, backend)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
-- The costs of today, of ended tasks as well.
INSERT INTO daily_cost
SELECT c.at / 86400000, s.submitter_no, 0, least(coalesce(sum(c.micro_usd), 0), 9223372036854775807)::bigint,
       count(*) FILTER (WHERE c.micro_usd IS NULL OR c.source = 'unknown')
FROM cost c JOIN task t USING (task_no) JOIN request r USING (task_no)
     JOIN submitter s ON s.project = r.project AND s.name = r.submitted_by
WHERE c.at / 86400000 >= extract(epoch FROM clock_timestamp())::bigint / 86400
  AND t.labels <> '["selvedge:plan"]'::jsonb
GROUP BY 1, 2;
CREATE FUNCTION add_daily_costs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO daily_cost AS d
    SELECT n.at / 86400000, t.submitter_no, pg_backend_pid(),
           least(coalesce(sum(n.micro_usd), 0), 9223372036854775807)::bigint,
           count(*) FILTER (WHERE n.micro_usd IS NULL OR n.source = 'unknown')
    FROM new_costs n JOIN task t ON t.task_no = n.task_no
    WHERE t.submitter_no IS NOT NULL GROUP BY 1, 2
    ON CONFLICT (day, submitter_no, backend) DO UPDATE SET
        micro_usd = least(d.micro_usd::numeric + excluded.micro_usd, 9223372036854775807)::bigint,
        unknown_calls = d.unknown_calls + excluded.unknown_calls;
    RETURN NULL;
END $$;
CREATE TRIGGER cost_of_day AFTER INSERT ON cost REFERENCING NEW TABLE AS new_costs FOR EACH STATEMENT
    EXECUTE FUNCTION add_daily_costs();

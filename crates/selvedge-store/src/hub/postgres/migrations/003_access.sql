-- The identity of the database: browsers must not mix up the cookies of two hubs on one host.
CREATE TABLE database_identity (
    only_row    boolean PRIMARY KEY CHECK (only_row),
    database_id uuid    NOT NULL
);
INSERT INTO database_identity VALUES (true, gen_random_uuid());

-- Sessions of the dashboard, without the values of their cookies.
CREATE TABLE login_session (
    session_id   uuid   PRIMARY KEY,
    token_id     uuid   NOT NULL REFERENCES token (token_id),
    hash         bytea  NOT NULL UNIQUE CHECK (length(hash) = 32),
    created_at   bigint NOT NULL,
    last_used_at bigint NOT NULL,
    expires_at   bigint NOT NULL,
    idle_ms      bigint NOT NULL,
    ended_at     bigint
);

-- Who did what. Entries are only added, until their retention ends. Numbers are given before the commit: a reader that
-- continues after a number must wait until no earlier transaction can still add one below it.
CREATE TABLE audit (
    seq            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at             bigint NOT NULL,
    tenant         text   NOT NULL,
    actor          text   NOT NULL,
    token_id       uuid,
    channel        text   NOT NULL,
    action         text   NOT NULL,
    subject        text   NOT NULL,
    detail         text   NOT NULL,
    transaction_id bigint NOT NULL DEFAULT txid_current()
);
CREATE TRIGGER audit_stays BEFORE UPDATE OR TRUNCATE ON audit
    EXECUTE FUNCTION refuse('the audit log is never changed');
CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit FOR EACH ROW
    WHEN (OLD.at > (extract(epoch FROM now() - interval '30 days') * 1000)::bigint)
    EXECUTE FUNCTION refuse('the audit log is kept for at least 30 days');

-- Written by the readiness probe.
CREATE TABLE write_probe (
    only_row boolean PRIMARY KEY CHECK (only_row),
    at       bigint NOT NULL
);

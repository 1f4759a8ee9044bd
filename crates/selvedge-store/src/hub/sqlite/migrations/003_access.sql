-- The identity of the database: browsers must not mix up the cookies of two hubs on one host.
CREATE TABLE database_identity (
    only_row    INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1),
    database_id TEXT    NOT NULL
) STRICT;
INSERT INTO database_identity VALUES (1, lower(hex(randomblob(16))));

-- Sessions of the dashboard, without the values of their cookies.
CREATE TABLE login_session (
    session_id   TEXT    NOT NULL PRIMARY KEY,
    token_id     TEXT    NOT NULL REFERENCES token (token_id),
    hash         BLOB    NOT NULL UNIQUE CHECK (length(hash) = 32),
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    idle_ms      INTEGER NOT NULL,
    ended_at     INTEGER
) STRICT, WITHOUT ROWID;

-- Who did what. Entries are only added, until their retention ends.
CREATE TABLE audit (
    seq      INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    at       INTEGER NOT NULL,
    tenant   TEXT    NOT NULL,
    actor    TEXT    NOT NULL,
    token_id TEXT,
    channel  TEXT    NOT NULL,
    action   TEXT    NOT NULL,
    subject  TEXT    NOT NULL,
    detail   TEXT    NOT NULL
) STRICT;
CREATE TRIGGER audit_stays BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is never changed'); END;
CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit
WHEN OLD.at > unixepoch('now', '-30 days') * 1000
BEGIN SELECT RAISE(ABORT, 'the audit log is kept for at least 30 days'); END;

-- Written by the readiness probe.
CREATE TABLE write_probe (
    only_row INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1),
    at       INTEGER NOT NULL
) STRICT;

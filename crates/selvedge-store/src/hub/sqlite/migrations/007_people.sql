-- A session belongs to a token, or to a person of an identity provider.
CREATE TABLE new_login_session (
    session_id   TEXT    NOT NULL PRIMARY KEY,
    token_id     TEXT    REFERENCES token (token_id),
    person       TEXT,                          -- JSON: issuer and subject
    name         TEXT,
    tenant       TEXT,
    scopes       TEXT,                          -- JSON
    hash         BLOB    NOT NULL UNIQUE CHECK (length(hash) = 32),
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    idle_ms      INTEGER NOT NULL,
    ended_at     INTEGER,
    CHECK ((token_id IS NULL) = (person IS NOT NULL AND name IS NOT NULL AND tenant IS NOT NULL
                                 AND scopes IS NOT NULL))
) STRICT, WITHOUT ROWID;
INSERT INTO new_login_session (session_id, token_id, hash, created_at, last_used_at, expires_at, idle_ms, ended_at)
SELECT session_id, token_id, hash, created_at, last_used_at, expires_at, idle_ms, ended_at FROM login_session;
DROP TABLE login_session;
ALTER TABLE new_login_session RENAME TO login_session;

-- The people who submitted tasks. Names may be equal.
CREATE TABLE task_submitter (
    task_id TEXT NOT NULL PRIMARY KEY,
    person  TEXT NOT NULL                       -- JSON: issuer and subject
) STRICT, WITHOUT ROWID;

ALTER TABLE audit ADD COLUMN person TEXT;       -- JSON: issuer and subject

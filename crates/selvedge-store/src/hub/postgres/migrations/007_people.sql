-- A session belongs to a token, or to a person of an identity provider.
ALTER TABLE login_session
    ALTER COLUMN token_id DROP NOT NULL,
    ADD COLUMN person text,                     -- JSON: issuer and subject
    ADD COLUMN name   text,
    ADD COLUMN tenant text,
    ADD COLUMN scopes text,                     -- JSON
    ADD CHECK ((token_id IS NULL) = (person IS NOT NULL AND name IS NOT NULL AND tenant IS NOT NULL
                                     AND scopes IS NOT NULL));

-- The people who submitted tasks. Names may be equal.
CREATE TABLE task_submitter (
    task_id uuid PRIMARY KEY,
    person  text NOT NULL                       -- JSON: issuer and subject
);

ALTER TABLE audit ADD COLUMN person text;       -- JSON: issuer and subject

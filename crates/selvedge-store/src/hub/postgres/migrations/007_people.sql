-- A session belongs to a token, or to a person of an identity provider.
ALTER TABLE login_session
    ALTER COLUMN token_id DROP NOT NULL,
    ADD COLUMN person text,                     -- JSON: issuer and subject
    ADD COLUMN name   text,
    ADD COLUMN tenant text,
    ADD COLUMN scopes text,                     -- JSON
    ADD CHECK ((token_id IS NULL) = (person IS NOT NULL AND name IS NOT NULL AND tenant IS NOT NULL
                                     AND scopes IS NOT NULL));

-- Sign-ins at the identity provider that were completed, so that none is completed twice.
CREATE TABLE completed_sign_in (
    hash       bytea  PRIMARY KEY CHECK (length(hash) = 32),
    expires_at bigint NOT NULL
);

-- The people who submitted tasks. Names may be equal.
CREATE TABLE task_submitter (
    task_id uuid PRIMARY KEY,
    person  text NOT NULL                       -- JSON: issuer and subject
);

ALTER TABLE audit ADD COLUMN person text;       -- JSON: issuer and subject

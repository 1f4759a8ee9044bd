-- Chunks of blobs that are in an object store instead of `blob_chunk`. A blob has either these or those.
CREATE TABLE blob_object (
    hash   text   NOT NULL REFERENCES blob (hash) ON DELETE CASCADE,
    start  bigint NOT NULL,
    size   bigint NOT NULL,
    digest text   NOT NULL CHECK (length(digest) = 64), -- SHA-256 of the chunk
    key    text   NOT NULL UNIQUE,
    PRIMARY KEY (hash, start)
);

-- The state of the SHA-256 of what was received, while a blob with objects is not whole.
ALTER TABLE blob ADD COLUMN hash_state bytea;

-- Objects that no blob refers to: reserved ones, which are about to be written, and those to be deleted.
CREATE TABLE unused_object (
    key         text    PRIMARY KEY,
    is_reserved boolean NOT NULL,
    due_at      bigint  NOT NULL
);
CREATE INDEX unused_object_due ON unused_object (due_at);
CREATE FUNCTION add_unused_object() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO unused_object VALUES (OLD.key, false, 0);
    RETURN NULL;
END $$;
CREATE TRIGGER blob_object_unused AFTER DELETE ON blob_object FOR EACH ROW EXECUTE FUNCTION add_unused_object();

-- Chunks of blobs that are in an object store instead of `blob_chunk`. A blob has either these or those.
CREATE TABLE blob_object (
    hash   TEXT    NOT NULL REFERENCES blob (hash) ON DELETE CASCADE,
    start  INTEGER NOT NULL,
    size   INTEGER NOT NULL,
    digest TEXT    NOT NULL CHECK (length(digest) = 64), -- SHA-256 of the chunk
    key    TEXT    NOT NULL UNIQUE,
    PRIMARY KEY (hash, start)
) STRICT;

-- The state of the SHA-256 of what was received, while a blob with objects is not whole.
ALTER TABLE blob ADD COLUMN hash_state BLOB;

-- Objects that no blob refers to: reserved ones, which are about to be written, and those to be deleted.
CREATE TABLE unused_object (
    key         TEXT    NOT NULL PRIMARY KEY,
    is_reserved INTEGER NOT NULL CHECK (is_reserved IN (0, 1)),
    due_at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX unused_object_due ON unused_object (due_at);
CREATE TRIGGER blob_object_unused AFTER DELETE ON blob_object
BEGIN
    INSERT INTO unused_object VALUES (OLD.key, 0, 0);
END;

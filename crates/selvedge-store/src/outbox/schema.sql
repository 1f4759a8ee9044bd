-- What a worker owes its hub. Rows of a task go when the hub has acknowledged its end.
CREATE TABLE held (
    task_id TEXT NOT NULL PRIMARY KEY,
    lease_epoch INTEGER NOT NULL,
    -- The offer as it came, the secret of the lease in it.
    assign TEXT NOT NULL,
    -- The last entry of this grant that was written down.
    last_seq INTEGER NOT NULL DEFAULT 0,
    -- The attempt that is open; 0 for none.
    run_number INTEGER NOT NULL DEFAULT 0
) STRICT;

-- The task's journal as this worker knows it, over all its grants.
CREATE TABLE event (
    task_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    envelope TEXT NOT NULL,
    PRIMARY KEY (task_id, seq)
) STRICT, WITHOUT ROWID;

-- Entries that are not acknowledged.
CREATE TABLE entry (
    task_id TEXT NOT NULL,
    lease_epoch INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    -- The message, but for the hashes of its files.
    message TEXT NOT NULL,
    -- Files to be uploaded before it: a JSON list of names.
    files TEXT NOT NULL,
    PRIMARY KEY (task_id, lease_epoch, seq)
) STRICT, WITHOUT ROWID;

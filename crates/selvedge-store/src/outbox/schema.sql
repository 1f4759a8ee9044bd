-- Tasks that a worker holds. All rows of a task are removed once the hub has acknowledged its end.
CREATE TABLE held (
    task_id TEXT NOT NULL PRIMARY KEY,
    lease_epoch INTEGER NOT NULL,
    -- The assignment as received, including the secret of the lease.
    assign TEXT NOT NULL,
    -- The last stored entry of this lease.
    last_seq INTEGER NOT NULL DEFAULT 0,
    -- The open attempt; 0 for none.
    attempt_number INTEGER NOT NULL DEFAULT 0
) STRICT;

-- The task's journal as this worker knows it, over all its leases.
CREATE TABLE event (
    task_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    envelope TEXT NOT NULL,
    PRIMARY KEY (task_id, seq)
) STRICT, WITHOUT ROWID;

-- Entries that the hub has not acknowledged.
CREATE TABLE entry (
    task_id TEXT NOT NULL,
    lease_epoch INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    -- The message, without the hashes of its files.
    message TEXT NOT NULL,
    -- Names of the files to be uploaded before it, as a JSON list.
    files TEXT NOT NULL,
    PRIMARY KEY (task_id, lease_epoch, seq)
) STRICT, WITHOUT ROWID;

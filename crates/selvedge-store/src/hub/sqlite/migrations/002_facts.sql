-- What statistics need of a run, made from its journal up to an event; made anew where it is missing.
CREATE TABLE facts (
    task_no   INTEGER NOT NULL PRIMARY KEY,
    event_seq INTEGER NOT NULL,
    body      TEXT    NOT NULL
) STRICT;

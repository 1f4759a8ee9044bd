-- What statistics need of a run, made from its journal up to an event; made anew where it is missing.
CREATE TABLE facts (
    task_no   bigint NOT NULL PRIMARY KEY,
    event_seq bigint NOT NULL,
    body      text   NOT NULL
);

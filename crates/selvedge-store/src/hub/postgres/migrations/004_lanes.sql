-- The last transaction of each lane that was committed: whoever loses its connection meanwhile looks here.
CREATE TABLE lane (
    lane_id uuid   NOT NULL PRIMARY KEY,
    batch   bigint NOT NULL,
    used_at bigint NOT NULL
);

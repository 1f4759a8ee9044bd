-- The last transaction of each lane that was committed: whoever loses its connection meanwhile looks here. None up to
-- the one that was given up can be committed any more.
CREATE TABLE lane (
    lane_id  uuid   NOT NULL PRIMARY KEY,
    batch    bigint NOT NULL,
    given_up bigint NOT NULL,
    used_at  bigint NOT NULL
);

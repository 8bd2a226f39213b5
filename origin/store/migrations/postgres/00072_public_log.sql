-- +goose Up

-- The public logs of scores, of which the one with the highest number is written. epoch is the id of the event log:
-- a log ends when that changes, because a database of an earlier time would contradict published checkpoints.
-- event is the newest event that is in the log, and sweep the brand after which all are still to be compared with
-- it (NULL: none). key_number counts signing keys, and key_at is since when the newest one signs.
CREATE TABLE public_log (
    number      BIGINT NOT NULL PRIMARY KEY,
    name        TEXT COLLATE "C" NOT NULL,
    epoch       TEXT COLLATE "C" NOT NULL,
    size        BIGINT NOT NULL,
    checkpoint  TEXT COLLATE "C" NOT NULL,
    event       BIGINT NOT NULL,
    sweep       TEXT COLLATE "C",
    key_number  BIGINT NOT NULL,
    key_at      BIGINT NOT NULL,
    lease_owner TEXT COLLATE "C",
    lease_until BIGINT
);

-- The leaves of a log: at level -1 bundles of 256 entries of 32 bytes, which commit to a score and disclose nothing
-- of it; from level 1 on tiles of the hashes of full tiles below. Level 0 is computed from the entries.
CREATE TABLE public_log_tile (
    log    BIGINT NOT NULL,
    level  BIGINT NOT NULL,
    number BIGINT NOT NULL,
    body   BYTEA NOT NULL,
    PRIMARY KEY (log, level, number)
);

-- The newest leaf of each brand. Entries cannot be attributed to a brand without its secret, which is deleted with
-- the brand. mark is the beginning of the entry, by which a changed score is recognized.
CREATE TABLE public_log_brand (
    brand  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    secret BYTEA NOT NULL,
    log    BIGINT NOT NULL,
    leaf   BIGINT NOT NULL,
    at     BIGINT NOT NULL,
    mark   BIGINT NOT NULL
);

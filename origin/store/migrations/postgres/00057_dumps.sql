-- +goose Up

-- Files with the scores of all brands. event is the newest event that they contain; module is JSON. The
-- contents are objects whose keys begin with the id. A withdrawn dump has no files.
CREATE TABLE dump (
    id           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    day          TEXT COLLATE "C" NOT NULL,
    event        BIGINT NOT NULL,
    log          TEXT COLLATE "C" NOT NULL,
    module       TEXT COLLATE "C" NOT NULL,
    brands       BIGINT NOT NULL,
    bytes        BIGINT NOT NULL,
    sha256       TEXT COLLATE "C" NOT NULL,
    csv_bytes    BIGINT NOT NULL,
    csv_sha256   TEXT COLLATE "C" NOT NULL,
    created_at   BIGINT NOT NULL,
    withdrawn_at BIGINT
);
CREATE INDEX dump_sha256 ON dump (sha256);
CREATE INDEX dump_csv_sha256 ON dump (csv_sha256);

-- The event since which a brand is listed without a break; 0: since before this column existed. A dump
-- from then on has the brand.
ALTER TABLE score_change ADD COLUMN listed BIGINT NOT NULL DEFAULT 0;
CREATE INDEX score_change_gone_event ON score_change (event) WHERE gone_at IS NOT NULL;

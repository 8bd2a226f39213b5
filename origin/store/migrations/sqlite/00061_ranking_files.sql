-- +goose Up

-- Files with what rankings know of all brands, from which edges start. epoch is the name of the log, event the
-- newest event that a file contains; module is JSON. The content is an object whose key ends with the id.
CREATE TABLE ranking_file (
    id          TEXT NOT NULL PRIMARY KEY,
    epoch       TEXT NOT NULL,
    event       BIGINT NOT NULL,
    module      TEXT NOT NULL,
    day         TEXT NOT NULL,
    lines       BIGINT NOT NULL,
    bytes       BIGINT NOT NULL,
    sha256      TEXT NOT NULL,
    head_bytes  BIGINT NOT NULL,
    head_sha256 TEXT NOT NULL,
    created_at  BIGINT NOT NULL
);
UPDATE standing SET due_at = 0; -- computes the values that files contain

-- +goose Up

-- How scores relate to measured answers, as JSON, under the digest of its input.
CREATE TABLE validity (
    digest TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    as_of  BIGINT NOT NULL,
    body   TEXT COLLATE "C" NOT NULL
);
CREATE INDEX validity_as_of ON validity (as_of);

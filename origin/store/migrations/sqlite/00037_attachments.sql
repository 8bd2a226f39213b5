-- +goose Up

-- Files of missions. The content is an object whose key is the id; sealed_key decrypts it. A
-- removed attachment keeps its row, without name and key.
CREATE TABLE attachment (
    id           TEXT NOT NULL PRIMARY KEY,
    mission      TEXT NOT NULL REFERENCES mission (id),
    content_type TEXT NOT NULL,
    name         TEXT NOT NULL,
    size         BIGINT NOT NULL,
    digest       TEXT NOT NULL,
    author_id    TEXT NOT NULL,
    author_name  TEXT NOT NULL,
    sealed_key   TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    removed_at   BIGINT,
    removed_by   TEXT NOT NULL DEFAULT ''
);
CREATE INDEX attachment_mission ON attachment (mission, id);

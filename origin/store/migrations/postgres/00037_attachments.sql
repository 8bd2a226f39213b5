-- +goose Up

-- Files of missions. The content is an object whose key is the id; sealed_key decrypts it. A
-- removed attachment keeps its row, without name and key.
CREATE TABLE attachment (
    id           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    mission      TEXT COLLATE "C" NOT NULL REFERENCES mission (id),
    content_type TEXT COLLATE "C" NOT NULL,
    name         TEXT COLLATE "C" NOT NULL,
    size         BIGINT NOT NULL,
    digest       TEXT COLLATE "C" NOT NULL,
    author_id    TEXT COLLATE "C" NOT NULL,
    author_name  TEXT COLLATE "C" NOT NULL,
    sealed_key   TEXT COLLATE "C" NOT NULL,
    created_at   BIGINT NOT NULL,
    removed_at   BIGINT,
    removed_by   TEXT COLLATE "C" NOT NULL DEFAULT ''
);
CREATE INDEX attachment_mission ON attachment (mission, id);

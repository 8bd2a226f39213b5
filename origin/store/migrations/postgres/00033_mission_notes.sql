-- +goose Up

-- Notes about missions. external_id is the id of the note at a client; NULL: it has none. A
-- redacted note keeps its row, without its text.
CREATE TABLE mission_note (
    id          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    mission     TEXT COLLATE "C" NOT NULL REFERENCES mission (id),
    external_id TEXT COLLATE "C",
    text        TEXT COLLATE "C" NOT NULL,
    visibility  TEXT COLLATE "C" NOT NULL,
    author_id   TEXT COLLATE "C" NOT NULL,
    author_name TEXT COLLATE "C" NOT NULL,
    created_at  BIGINT NOT NULL,
    redacted_at BIGINT
);
CREATE UNIQUE INDEX mission_note_external ON mission_note (mission, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX mission_note_mission ON mission_note (mission, id);

-- Who caused an event: 'person NAME' or 'key ID'; empty for timers and jobs.
ALTER TABLE event ADD COLUMN actor TEXT COLLATE "C" NOT NULL DEFAULT '';

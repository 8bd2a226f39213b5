-- +goose Up

-- What became of requests that edges accepted while no origin could be reached. missions is a list of ids in
-- JSON. The content of a request is not here: it is in its missions, or was refused.
CREATE TABLE intake (
    id          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    account     TEXT COLLATE "C" NOT NULL,
    key_id      TEXT COLLATE "C" NOT NULL,
    state       TEXT COLLATE "C" NOT NULL,
    source      TEXT COLLATE "C" NOT NULL,
    external_id TEXT COLLATE "C" NOT NULL,
    missions    TEXT COLLATE "C" NOT NULL,
    code        TEXT COLLATE "C" NOT NULL,
    detail      TEXT COLLATE "C" NOT NULL,
    accepted_at BIGINT NOT NULL,
    decided_at  BIGINT NOT NULL
);
CREATE INDEX intake_decided ON intake (state, decided_at, id);
CREATE INDEX intake_account ON intake (account);

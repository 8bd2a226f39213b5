-- +goose Up

-- What became of requests that edges accepted while no origin could be reached. missions is a list of ids in
-- JSON. The content of a request is not here: it is in its missions, or was refused.
CREATE TABLE intake (
    id          TEXT NOT NULL PRIMARY KEY,
    account     TEXT NOT NULL,
    key_id      TEXT NOT NULL,
    state       TEXT NOT NULL,
    source      TEXT NOT NULL,
    external_id TEXT NOT NULL,
    missions    TEXT NOT NULL,
    code        TEXT NOT NULL,
    detail      TEXT NOT NULL,
    accepted_at BIGINT NOT NULL,
    decided_at  BIGINT NOT NULL
);
CREATE INDEX intake_decided ON intake (state, decided_at, id);
CREATE INDEX intake_account ON intake (account);

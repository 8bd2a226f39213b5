-- +goose Up

-- Who vouches for a module and what its check said; null: nobody, and nothing.
ALTER TABLE module ADD COLUMN signature TEXT;
ALTER TABLE module ADD COLUMN report TEXT;

-- The newest activation of 100 percent names the module in force; a newer one of
-- less names a module on trial.
ALTER TABLE activation ADD COLUMN percent BIGINT NOT NULL DEFAULT 100;

-- What each edge said of itself last.
CREATE TABLE node (
    id      TEXT PRIMARY KEY,
    report  TEXT NOT NULL,
    seen_at BIGINT NOT NULL
);

-- What a module would change, one row each.
CREATE TABLE preview (
    digest       TEXT PRIMARY KEY REFERENCES module (digest),
    against      TEXT NOT NULL REFERENCES module (digest),
    state        TEXT NOT NULL,
    done         BIGINT NOT NULL,
    total        BIGINT NOT NULL,
    error        TEXT NOT NULL,
    result       TEXT,
    requested_at BIGINT NOT NULL,
    lease_until  BIGINT,
    lease_owner  TEXT
);

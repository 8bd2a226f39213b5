-- +goose Up

-- Who vouches for a module and what its check said; null: nobody, and nothing.
ALTER TABLE module ADD COLUMN signature TEXT COLLATE "C";
ALTER TABLE module ADD COLUMN report TEXT COLLATE "C";

-- The newest activation of 100 percent names the module in force; a newer one of
-- less names a module on trial.
ALTER TABLE activation ADD COLUMN percent BIGINT NOT NULL DEFAULT 100;

-- What each edge said of itself last.
CREATE TABLE node (
    id      TEXT COLLATE "C" PRIMARY KEY,
    report  TEXT COLLATE "C" NOT NULL,
    seen_at BIGINT NOT NULL
);

-- What a module would change, one row each.
CREATE TABLE preview (
    digest       TEXT COLLATE "C" PRIMARY KEY REFERENCES module (digest),
    against      TEXT COLLATE "C" NOT NULL REFERENCES module (digest),
    state        TEXT COLLATE "C" NOT NULL,
    done         BIGINT NOT NULL,
    total        BIGINT NOT NULL,
    error        TEXT COLLATE "C" NOT NULL,
    result       TEXT COLLATE "C",
    requested_at BIGINT NOT NULL,
    lease_until  BIGINT,
    lease_owner  TEXT COLLATE "C"
);

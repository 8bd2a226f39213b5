-- +goose Up

-- Named sets of limits of accounts; 0 is the default of the service.
CREATE TABLE offer (
    id           TEXT COLLATE "C" PRIMARY KEY,
    name         TEXT COLLATE "C" NOT NULL,
    kind         TEXT COLLATE "C" NOT NULL,
    reads        BIGINT NOT NULL,
    writes       BIGINT NOT NULL,
    endpoints    BIGINT NOT NULL,
    missions     BIGINT NOT NULL,
    history_days BIGINT NOT NULL,
    max_key_days BIGINT NOT NULL,
    scopes       TEXT COLLATE "C" NOT NULL,
    note         TEXT COLLATE "C" NOT NULL,
    version      BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL
);

-- A sub-account has a parent and no offer: it shares the limits of its parent.
ALTER TABLE account ADD COLUMN offer TEXT COLLATE "C" REFERENCES offer (id);
ALTER TABLE account ADD COLUMN parent TEXT COLLATE "C" REFERENCES account (id);
ALTER TABLE account ADD COLUMN removed_at BIGINT;
CREATE INDEX account_offer ON account (offer) WHERE offer IS NOT NULL;
CREATE INDEX account_parent ON account (parent, id) WHERE parent IS NOT NULL;

-- How many missions an account with a limit has created on a day in UTC, its sub-accounts included.
CREATE TABLE account_use (
    account  TEXT COLLATE "C" PRIMARY KEY REFERENCES account (id),
    day      BIGINT NOT NULL,
    missions BIGINT NOT NULL
);

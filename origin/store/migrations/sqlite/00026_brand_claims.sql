-- +goose Up

-- Claims of brands by their owners. brand is NULL until the brand of a new site is
-- registered. secret is the MAC of the secret of the claim, empty when it is not valid any
-- longer; network is the MAC of the client network that opened it, for its daily limit.
-- due_at is when a proof is checked again or a time limit ends.
CREATE TABLE claim (
    id          TEXT NOT NULL PRIMARY KEY,
    brand       TEXT REFERENCES brand (slug),
    account     TEXT NOT NULL DEFAULT '',
    state       TEXT NOT NULL,
    secret      TEXT NOT NULL,
    network     TEXT NOT NULL,
    body        TEXT NOT NULL,
    created_at  BIGINT NOT NULL,
    due_at      BIGINT,
    lease_until BIGINT,
    lease_owner TEXT
);
-- One claim holds a brand and one contests it, whatever two processes do in the same second.
CREATE UNIQUE INDEX claim_holder ON claim (brand) WHERE state IN ('verified', 'lapsing');
CREATE UNIQUE INDEX claim_contest ON claim (brand) WHERE state = 'contested';
CREATE INDEX claim_brand ON claim (brand);
CREATE INDEX claim_account ON claim (account) WHERE account <> '';
CREATE INDEX claim_network ON claim (network, created_at);
CREATE INDEX claim_due ON claim (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX claim_lease ON claim (lease_owner) WHERE lease_owner IS NOT NULL;

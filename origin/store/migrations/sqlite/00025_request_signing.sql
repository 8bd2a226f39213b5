-- +goose Up

-- How many audits in a row the site of a brand refused; 0 after one that read it.
ALTER TABLE brand ADD COLUMN audit_refusals BIGINT NOT NULL DEFAULT 0;

-- The keys that sign the requests of the auditor, by their JWK thumbprint. Private keys are
-- encrypted under a key that is derived from the application secret. The key in use is
-- the one that came into use last. number orders the keys and keeps two processes from
-- adding one at the same time.
CREATE TABLE signing_key (
    id         TEXT NOT NULL PRIMARY KEY,
    number     BIGINT NOT NULL UNIQUE,
    public_key TEXT NOT NULL,
    sealed_key TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    use_from   BIGINT NOT NULL
);

-- +goose Up

-- Why the last audit asked for failed for good; empty while it waits or runs.
ALTER TABLE audit ADD COLUMN failure TEXT NOT NULL DEFAULT '';

-- Claims since the last one that ended with a result: what each of several claims
-- took with its process is not claimed again.
ALTER TABLE delivery ADD COLUMN claims BIGINT NOT NULL DEFAULT 0;
ALTER TABLE preview ADD COLUMN claims BIGINT NOT NULL DEFAULT 0;

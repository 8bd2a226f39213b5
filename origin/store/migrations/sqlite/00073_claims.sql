-- +goose Up

-- How often a row was claimed without a result. Beyond a limit it is postponed, so that a job that crashes its
-- process does not crash every process. Older programs leave it as it is.
ALTER TABLE claim ADD COLUMN claims BIGINT NOT NULL DEFAULT 0;
ALTER TABLE daily_job ADD COLUMN claims BIGINT NOT NULL DEFAULT 0;
ALTER TABLE test_clock ADD COLUMN claims BIGINT NOT NULL DEFAULT 0;

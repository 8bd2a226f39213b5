-- +goose Up

-- The range of a score in thousandths, by which brands are ranked; NULL: not ranked. And the
-- rank that those who hear of the brand were sent last, as JSON; NULL: none.
ALTER TABLE standing ADD COLUMN low BIGINT;
ALTER TABLE standing ADD COLUMN high BIGINT;
ALTER TABLE standing ADD COLUMN rank TEXT COLLATE "C";
UPDATE standing SET due_at = 0; -- computes low and high

-- Jobs that one process runs once a day; one without a row is due.
CREATE TABLE daily_job (
    name        TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    due_at      BIGINT NOT NULL,
    lease_owner TEXT COLLATE "C",
    lease_until BIGINT
);

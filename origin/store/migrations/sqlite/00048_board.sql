-- +goose Up

-- The visits of a period: those that start after it are left out within the index, which may have years of
-- later visits.
DROP INDEX mission_planned;
CREATE INDEX mission_planned ON mission (account, scheduled_end, scheduled_start) WHERE scheduled_end IS NOT NULL;

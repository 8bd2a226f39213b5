-- +goose Up

-- Since when a timer that has not stopped is breached, and when a running one that was reported
-- to be at risk is due; the earliest of a mission, NULL if it has no such timer.
ALTER TABLE sla ADD COLUMN breached_at BIGINT;
ALTER TABLE sla ADD COLUMN at_risk_due BIGINT;
UPDATE sla SET
    breached_at = (SELECT MIN(CAST(round(unixepoch(t.value ->> 'breachedAt', 'subsec') * 1000) * 1000 AS BIGINT))
        FROM json_each(sla.timers) t WHERE t.value ->> 'stoppedAt' IS NULL AND t.value ->> 'state' = 'BREACHED'),
    at_risk_due = (SELECT MIN(CAST(round(unixepoch(t.value ->> 'dueAt', 'subsec') * 1000) * 1000 AS BIGINT))
        FROM json_each(sla.timers) t WHERE t.value ->> 'warned' > 0 AND t.value ->> 'state' = 'RUNNING')
    WHERE deadline IS NOT NULL;
CREATE INDEX sla_breached ON sla (breached_at) WHERE breached_at IS NOT NULL;
CREATE INDEX sla_at_risk ON sla (at_risk_due) WHERE at_risk_due IS NOT NULL;
DROP INDEX sla_event_kind;

-- Lists of failed deliveries to all endpoints.
CREATE INDEX delivery_failures ON delivery (id) WHERE state = 'failed';

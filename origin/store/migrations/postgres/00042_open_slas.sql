-- +goose Up

-- Since when a timer that has not stopped is breached, and when a running one that was reported
-- to be at risk is due; the earliest of a mission, NULL if it has no such timer.
ALTER TABLE sla ADD COLUMN breached_at BIGINT;
ALTER TABLE sla ADD COLUMN at_risk_due BIGINT;
UPDATE sla SET
    breached_at = (SELECT MIN((EXTRACT(EPOCH FROM (t.value ->> 'breachedAt')::timestamptz) * 1000000)::bigint)
        FROM json_array_elements(sla.timers::json) t (value)
        WHERE t.value ->> 'stoppedAt' IS NULL AND t.value ->> 'state' = 'BREACHED'),
    at_risk_due = (SELECT MIN((EXTRACT(EPOCH FROM (t.value ->> 'dueAt')::timestamptz) * 1000000)::bigint)
        FROM json_array_elements(sla.timers::json) t (value)
        WHERE (t.value ->> 'warned')::int > 0 AND t.value ->> 'state' = 'RUNNING')
    WHERE deadline IS NOT NULL;
CREATE INDEX sla_breached ON sla (breached_at) WHERE breached_at IS NOT NULL;
CREATE INDEX sla_at_risk ON sla (at_risk_due) WHERE at_risk_due IS NOT NULL;
DROP INDEX sla_event_kind;

-- Lists of failed deliveries to all endpoints.
CREATE INDEX delivery_failures ON delivery (id) WHERE state = 'failed';

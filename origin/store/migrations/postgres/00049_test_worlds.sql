-- +goose Up

-- The test world of a row: the id of its account if that is a test account, which ends with ~test,
-- and empty otherwise. Claims and lists of live rows use indexes without the rows of worlds.
ALTER TABLE account ADD COLUMN world TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE mission ADD COLUMN world TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE sla ADD COLUMN world TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE payment ADD COLUMN world TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE pending_alert ADD COLUMN world TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE endpoint ADD COLUMN world TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE delivery ADD COLUMN world TEXT COLLATE "C" NOT NULL DEFAULT '';

-- The time of a world is the real time plus this, in microseconds.
ALTER TABLE account ADD COLUMN clock_offset BIGINT NOT NULL DEFAULT 0;
CREATE INDEX account_world ON account (id) WHERE world <> '';

-- Deliveries of a world on the day of the row.
ALTER TABLE account_use ADD COLUMN deliveries BIGINT NOT NULL DEFAULT 0;

DROP INDEX mission_status;
CREATE INDEX mission_status ON mission (status, id) WHERE world = '';
CREATE INDEX mission_world ON mission (id) WHERE world <> '';

DROP INDEX sla_due;
DROP INDEX sla_stale;
DROP INDEX sla_breached;
DROP INDEX sla_at_risk;
CREATE INDEX sla_due ON sla (due_at) WHERE due_at IS NOT NULL AND world = '';
CREATE INDEX sla_stale ON sla (rules) WHERE rules IS NOT NULL AND world = '';
CREATE INDEX sla_breached ON sla (breached_at) WHERE breached_at IS NOT NULL AND world = '';
CREATE INDEX sla_at_risk ON sla (at_risk_due) WHERE at_risk_due IS NOT NULL AND world = '';
CREATE INDEX sla_world_due ON sla (world, due_at) WHERE due_at IS NOT NULL AND world <> '';
CREATE INDEX sla_world_stale ON sla (rules) WHERE rules IS NOT NULL AND world <> '';

DROP INDEX payment_check;
DROP INDEX payment_status;
CREATE INDEX payment_check ON payment (check_at) WHERE check_at IS NOT NULL AND world = '';
CREATE INDEX payment_status ON payment (status, id) WHERE world = '';
CREATE INDEX payment_world_check ON payment (world, check_at) WHERE check_at IS NOT NULL AND world <> '';
CREATE INDEX payment_world ON payment (id) WHERE world <> '';

DROP INDEX pending_alert_due;
CREATE INDEX pending_alert_due ON pending_alert (due_at) WHERE world = '';
CREATE INDEX pending_alert_world_due ON pending_alert (world, due_at) WHERE world <> '';

DROP INDEX endpoint_wake;
CREATE INDEX endpoint_wake ON endpoint (wake_at) WHERE wake_at IS NOT NULL AND deleted_at IS NULL AND world = '';
CREATE INDEX endpoint_world_wake ON endpoint (world, wake_at)
    WHERE wake_at IS NOT NULL AND deleted_at IS NULL AND world <> '';

DROP INDEX delivery_failures;
CREATE INDEX delivery_failures ON delivery (id) WHERE state = 'failed' AND world = '';
CREATE INDEX delivery_world ON delivery (id) WHERE world <> '';

-- +goose Up

-- Deliveries that wait for their turn, so that finding topics without a due
-- delivery reads these rows alone.
CREATE INDEX delivery_waiting ON delivery (endpoint, topic, event) WHERE state = 'waiting';

-- 1 where the body of a saved response is encrypted, because it may hold a secret
-- that is shown once. A status of 0 is a request that is being answered.
ALTER TABLE idempotency ADD COLUMN sealed BIGINT NOT NULL DEFAULT 0;

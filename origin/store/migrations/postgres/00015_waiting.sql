-- +goose Up

-- Deliveries that wait for their turn, so that finding topics without a due
-- delivery reads these rows alone.
CREATE INDEX delivery_waiting ON delivery (endpoint, topic, event) WHERE state = 'waiting';

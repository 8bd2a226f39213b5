-- +goose Up

-- The event of the delivery of an attempt, by which rows can be partitioned. Older programs leave it out.
ALTER TABLE attempt ADD COLUMN event BIGINT;

-- The time of an activation, which outlives its event. Older programs leave it out.
ALTER TABLE activation ADD COLUMN at BIGINT;
UPDATE activation SET at = (SELECT e.at FROM event e WHERE e.number = activation.event);

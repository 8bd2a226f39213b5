-- +goose Up

-- Lists of live deliveries to all endpoints are found by the first: without it they would read the
-- newer deliveries of test worlds, of which each world has up to 100,000 a day. Resets delete the
-- deliveries of one world by the second.
CREATE INDEX delivery_live ON delivery (id) WHERE world = '';
CREATE INDEX delivery_of_world ON delivery (world, id) WHERE world <> '';

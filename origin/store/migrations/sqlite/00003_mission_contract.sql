-- +goose Up

-- The newest stamp that was given out: stamps are in commit order and no two are
-- alike, whatever the clocks of several origins say.
ALTER TABLE log ADD COLUMN at BIGINT NOT NULL DEFAULT 0;

-- What a list can be narrowed to stands beside the request it came from.
ALTER TABLE mission ADD COLUMN priority TEXT NOT NULL DEFAULT 'MEDIUM';
UPDATE mission SET priority = json_extract(request, '$.priority') WHERE json_extract(request, '$.priority') IS NOT NULL;

-- The request a mission was opened with, once it says something else.
ALTER TABLE mission ADD COLUMN intake TEXT;
ALTER TABLE mission ADD COLUMN scheduled_start BIGINT;
ALTER TABLE mission ADD COLUMN scheduled_end BIGINT;
ALTER TABLE mission ADD COLUMN assignee TEXT;
ALTER TABLE mission ADD COLUMN occurrences TEXT;

-- Status and priority have few values: a list that asks for some of them, or for
-- all of one and some of the other, is put together from one stretch for each
-- pair, so these serve every combination.
CREATE INDEX mission_state ON mission (account, status, priority, id);
CREATE INDEX mission_source ON mission (account, source_key, status, priority, id);
-- Pollers walk this; filters are judged on the entry itself.
CREATE INDEX mission_changed ON mission (account, updated_at, id, source_key, status, priority);

-- Answers kept for repeats of the request they were given to.
CREATE TABLE idempotency (
    account TEXT NOT NULL REFERENCES account (id),
    name    TEXT NOT NULL,
    request TEXT NOT NULL,
    mission TEXT REFERENCES mission (id),
    status  BIGINT NOT NULL,
    fields  TEXT NOT NULL,
    body    TEXT NOT NULL,
    at      BIGINT NOT NULL,
    PRIMARY KEY (account, name)
);
CREATE INDEX idempotency_age ON idempotency (at);

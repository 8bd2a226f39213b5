-- +goose Up

-- What an endpoint wants, how it is known and how it has been doing. Credentials
-- and secrets are encrypted. An older program leaves wake_at at 0, which is: look.
ALTER TABLE endpoint ADD COLUMN settings TEXT COLLATE "C" NOT NULL DEFAULT '{}';
ALTER TABLE endpoint ADD COLUMN credentials TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE endpoint ADD COLUMN old_secrets TEXT COLLATE "C" NOT NULL DEFAULT '[]';
ALTER TABLE endpoint ADD COLUMN public_key TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE endpoint ADD COLUMN ordered BIGINT NOT NULL DEFAULT 0;
ALTER TABLE endpoint ADD COLUMN state TEXT COLLATE "C" NOT NULL DEFAULT 'enabled';
ALTER TABLE endpoint ADD COLUMN state_reason TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE endpoint ADD COLUMN state_at BIGINT;
ALTER TABLE endpoint ADD COLUMN changed_at BIGINT;
ALTER TABLE endpoint ADD COLUMN health TEXT COLLATE "C" NOT NULL DEFAULT '{}';
ALTER TABLE endpoint ADD COLUMN failing_since BIGINT;
ALTER TABLE endpoint ADD COLUMN open_until BIGINT;
ALTER TABLE endpoint ADD COLUMN rate_at BIGINT;
ALTER TABLE endpoint ADD COLUMN wake_at BIGINT DEFAULT 0;
CREATE INDEX endpoint_wake ON endpoint (wake_at) WHERE wake_at IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX endpoint_failing ON endpoint (failing_since) WHERE failing_since IS NOT NULL;

-- topic is what a delivery to an ordered endpoint is about; base is how many
-- attempts lie before its present schedule.
ALTER TABLE delivery ADD COLUMN topic TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE delivery ADD COLUMN base BIGINT NOT NULL DEFAULT 0;
DROP INDEX delivery_due;
DROP INDEX delivery_lease;
CREATE INDEX delivery_ready ON delivery (endpoint, due_at, id) WHERE state = 'due' AND lease_owner IS NULL;
CREATE INDEX delivery_leased ON delivery (endpoint) WHERE lease_owner IS NOT NULL;
CREATE INDEX delivery_topic ON delivery (endpoint, topic, event) WHERE topic <> '';
CREATE INDEX delivery_endpoint ON delivery (endpoint, id);
CREATE INDEX delivery_failed ON delivery (endpoint, id) WHERE state = 'failed';

ALTER TABLE attempt ADD COLUMN detail TEXT COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE event ADD COLUMN account TEXT COLLATE "C" NOT NULL DEFAULT '';
UPDATE event SET account = (SELECT m.account FROM mission m WHERE m.id = event.subject)
    WHERE type LIKE 'mission.%' AND EXISTS (SELECT 1 FROM mission m WHERE m.id = event.subject);
CREATE INDEX event_account ON event (account, number) WHERE account <> '';

-- A replay is work that survives a restart.
CREATE TABLE replay (
    id          TEXT COLLATE "C" PRIMARY KEY,
    endpoint    TEXT COLLATE "C" NOT NULL REFERENCES endpoint (id),
    request     TEXT COLLATE "C" NOT NULL,
    state       TEXT COLLATE "C" NOT NULL,
    at_delivery TEXT COLLATE "C" NOT NULL,
    at_event    BIGINT NOT NULL,
    looked      BIGINT NOT NULL,
    queued      BIGINT NOT NULL,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL
);
CREATE INDEX replay_running ON replay (id) WHERE state = 'running';
CREATE INDEX replay_endpoint ON replay (endpoint, id);

-- An activation outlives its event, whose turn it is to be forgotten one day.
ALTER TABLE activation DROP CONSTRAINT activation_event_fkey;

-- +goose Up

-- How often start, end, place or status of a mission changed: SEQUENCE in a
-- calendar. Until now it was derived from the version, less the alerts.
ALTER TABLE mission ADD COLUMN sequence BIGINT NOT NULL DEFAULT 0;
UPDATE mission SET sequence = version - 1 - heard WHERE version - 1 > heard;

-- Repeated alerts took stamps that the log did not record. Stamps must grow.
UPDATE log SET at = (SELECT MAX(m.updated_at) FROM mission m)
    WHERE at < (SELECT MAX(m.updated_at) FROM mission m);

-- Alerts that fire again while a mission that people ended is in its cooldown:
-- unless they are resolved before due_at, a new mission is opened then.
CREATE TABLE pending_alert (
    mission     TEXT NOT NULL PRIMARY KEY REFERENCES mission (id),
    alert       TEXT NOT NULL,
    due_at      BIGINT NOT NULL,
    lease_until BIGINT,
    lease_owner TEXT
);
CREATE INDEX pending_alert_due ON pending_alert (due_at);
CREATE INDEX pending_alert_lease ON pending_alert (lease_owner) WHERE lease_owner IS NOT NULL;

-- What a calendar feed last was: its entity tag, since when, and the number of
-- the newest event when its missions were read.
ALTER TABLE calendar ADD COLUMN feed_etag TEXT;
ALTER TABLE calendar ADD COLUMN feed_changed_at BIGINT;
ALTER TABLE calendar ADD COLUMN feed_head BIGINT;

-- +goose Up

-- Whose mission it is, as calendars ask for it.
ALTER TABLE mission ADD COLUMN assignee_id TEXT COLLATE "C" GENERATED ALWAYS AS ((assignee::json) ->> 'id') STORED;
CREATE INDEX mission_planned ON mission (account, scheduled_end) WHERE scheduled_end IS NOT NULL;
CREATE INDEX mission_assigned ON mission (account, assignee_id, scheduled_end) WHERE scheduled_end IS NOT NULL;

-- Hearing of an alert again is a new version of its mission, and no news to a
-- calendar: how often that was, the stamp of the last time, and the stamp of the
-- last change that was something else.
ALTER TABLE mission ADD COLUMN heard BIGINT NOT NULL DEFAULT 0;
ALTER TABLE mission ADD COLUMN heard_at BIGINT;
ALTER TABLE mission ADD COLUMN told_at BIGINT;

CREATE TABLE calendar (
    id           TEXT COLLATE "C" PRIMARY KEY,
    account      TEXT COLLATE "C" NOT NULL REFERENCES account (id),
    name         TEXT COLLATE "C" NOT NULL,
    scope        TEXT COLLATE "C" NOT NULL,
    assignees    TEXT COLLATE "C" NOT NULL,
    details      BIGINT NOT NULL,
    hash         TEXT COLLATE "C" NOT NULL UNIQUE,
    created_at   BIGINT NOT NULL,
    rotated_at   BIGINT,
    revoked_at   BIGINT,
    last_used_at BIGINT
);

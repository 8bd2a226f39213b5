-- +goose Up

-- Secret links to pages of technicians. hash is that of the token in the address, generation
-- counts its replacements, and pin_hash is empty without a PIN. pin_failures are those of the hour
-- that began at pin_since.
CREATE TABLE technician_link (
    id            TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    account       TEXT COLLATE "C" NOT NULL REFERENCES account (id),
    assignee_id   TEXT COLLATE "C" NOT NULL,
    assignee_name TEXT COLLATE "C" NOT NULL,
    hash          TEXT COLLATE "C" NOT NULL UNIQUE,
    generation    BIGINT NOT NULL,
    pin_hash      TEXT COLLATE "C" NOT NULL,
    pin_failures  BIGINT NOT NULL DEFAULT 0,
    pin_since     BIGINT,
    ends_at       BIGINT NOT NULL,
    created_at    BIGINT NOT NULL,
    rotated_at    BIGINT,
    revoked_at    BIGINT,
    last_used_at  BIGINT
);
CREATE UNIQUE INDEX technician_link_live ON technician_link (account, assignee_id) WHERE revoked_at IS NULL;

-- Days on pages of technicians are those of the time zone of the account; empty: UTC. With
-- device_time, SLA timers take the times that devices report.
ALTER TABLE account ADD COLUMN time_zone TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE account ADD COLUMN device_time BIGINT NOT NULL DEFAULT 0;

-- When a mission entered its status: moved_at as it is compared with later times, NULL before the
-- first transition since this migration, and occurred_at as a device reported it, NULL without.
ALTER TABLE mission ADD COLUMN moved_at BIGINT;
ALTER TABLE mission ADD COLUMN occurred_at BIGINT;
ALTER TABLE mission_note ADD COLUMN occurred_at BIGINT;

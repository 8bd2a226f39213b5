-- +goose Up

-- The customer of an account whose endpoint it is, and the labels that a mission must have for its
-- events to be delivered, as JSON; empty: none. An event has the labels of its mission at its time;
-- empty for events of no mission, and for events before this migration.
ALTER TABLE endpoint ADD COLUMN customer TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE endpoint ADD COLUMN filter TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE event ADD COLUMN labels TEXT COLLATE "C" NOT NULL DEFAULT '';

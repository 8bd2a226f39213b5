-- +goose Up

-- The last change of the public score of each brand, in the order of events, for readers that follow all
-- scores. A brand that was removed, renamed or unlisted leaves a row with gone_at for 30 days.
CREATE TABLE score_change (
    slug    TEXT NOT NULL PRIMARY KEY,
    event   BIGINT NOT NULL,
    gone_at BIGINT
);
CREATE INDEX score_change_event ON score_change (event, slug);
CREATE INDEX score_change_gone ON score_change (gone_at) WHERE gone_at IS NOT NULL;
INSERT INTO score_change (slug, event) SELECT b.slug, l.number FROM brand b, log l
    WHERE b.public = 1 AND b.unlisted_at IS NULL;

-- Standings are computed again, for they have no confidence yet.
UPDATE standing SET due_at = 0 WHERE module <> '';

-- +goose Up

-- The score of each brand that has facts, by the active module, from which changes are measured.
-- A row is due when its facts changed or age changes its score, and stale when its
-- module is not the active one.
CREATE TABLE standing (
    brand   TEXT NOT NULL PRIMARY KEY REFERENCES brand (slug),
    module  TEXT NOT NULL,
    facts   TEXT NOT NULL,
    body    TEXT NOT NULL,
    due_at  BIGINT
);
CREATE INDEX standing_due ON standing (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX standing_module ON standing (module);
INSERT INTO standing (brand, module, facts, body, due_at) SELECT slug, '', '', '{}', 0 FROM brand
    WHERE facts_digest IS NOT NULL;

-- The brands that webhook endpoints watch, with the standing that was last sent.
CREATE TABLE watch (
    endpoint TEXT NOT NULL REFERENCES endpoint (id),
    brand    TEXT NOT NULL REFERENCES brand (slug),
    sent     TEXT NOT NULL,
    PRIMARY KEY (endpoint, brand)
);
CREATE INDEX watch_brand ON watch (brand);

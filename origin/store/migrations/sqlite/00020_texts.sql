-- +goose Up

-- Sketches of the main texts of brands' pages, to find the brand at which a text was
-- seen first: of the pages read by the last audits, bounded for each brand. A page keeps
-- the sketch and the time of its first text for as long as its text resembles it, so
-- that a text that changes bit by bit does not become older than it is.
CREATE TABLE page_text (
    brand      TEXT NOT NULL REFERENCES brand (slug),
    url        TEXT NOT NULL,
    domain     TEXT NOT NULL,
    sketch     TEXT NOT NULL,
    key0       BIGINT NOT NULL,
    key1       BIGINT NOT NULL,
    key2       BIGINT NOT NULL,
    key3       BIGINT NOT NULL,
    first_seen BIGINT NOT NULL,
    last_seen  BIGINT NOT NULL,
    PRIMARY KEY (brand, url)
);
CREATE INDEX page_text_key0 ON page_text (key0);
CREATE INDEX page_text_key1 ON page_text (key1);
CREATE INDEX page_text_key2 ON page_text (key2);
CREATE INDEX page_text_key3 ON page_text (key3);

-- Other domains that the site of a brand claims as its own, separated by spaces.
ALTER TABLE brand ADD COLUMN domains TEXT NOT NULL DEFAULT '';

-- +goose Up
-- The generator of llms.txt finds a brand by the address of its site.
CREATE INDEX brand_url ON brand (url);

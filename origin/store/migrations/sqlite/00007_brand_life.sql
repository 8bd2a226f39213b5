-- +goose Up

-- Facts without their evidence: what scoring the past needs, at a tenth of the
-- size. Documents that were kept before have none.
ALTER TABLE facts ADD COLUMN bare TEXT;
CREATE INDEX revision_digest ON revision (digest);

-- Slugs a brand had before, or is also found under.
CREATE TABLE brand_alias (
    slug       TEXT PRIMARY KEY,
    brand      TEXT NOT NULL REFERENCES brand (slug),
    created_at BIGINT NOT NULL
);
CREATE INDEX brand_alias_brand ON brand_alias (brand);

-- Answer samples. A later one of the same engine, surface and locale counts in
-- place of those before it, which stay.
CREATE TABLE visibility (
    brand      TEXT NOT NULL REFERENCES brand (slug),
    engine     TEXT NOT NULL,
    surface    TEXT NOT NULL,
    locale     TEXT NOT NULL,
    to_at      BIGINT NOT NULL,
    prompt_set TEXT NOT NULL,
    body       TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (brand, engine, surface, locale, to_at, prompt_set)
);

-- When a brand is to be audited again, and by which rules it was last.
ALTER TABLE brand ADD COLUMN audit_due BIGINT;
ALTER TABLE brand ADD COLUMN audit_rules TEXT NOT NULL DEFAULT '';
CREATE INDEX brand_audit_due ON brand (audit_due);

-- How far an audit has come.
ALTER TABLE audit ADD COLUMN step TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN steps BIGINT NOT NULL DEFAULT 0;

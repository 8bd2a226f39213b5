-- +goose Up

-- Facts without their evidence: what scoring the past needs, at a tenth of the
-- size. Documents that were kept before have none.
ALTER TABLE facts ADD COLUMN bare TEXT COLLATE "C";
CREATE INDEX revision_digest ON revision (digest);

-- Slugs a brand had before, or is also found under.
CREATE TABLE brand_alias (
    slug       TEXT COLLATE "C" PRIMARY KEY,
    brand      TEXT COLLATE "C" NOT NULL REFERENCES brand (slug),
    created_at BIGINT NOT NULL
);
CREATE INDEX brand_alias_brand ON brand_alias (brand);

-- Answer samples. A later one of the same engine, surface and locale counts in
-- place of those before it, which stay.
CREATE TABLE visibility (
    brand      TEXT COLLATE "C" NOT NULL REFERENCES brand (slug),
    engine     TEXT COLLATE "C" NOT NULL,
    surface    TEXT COLLATE "C" NOT NULL,
    locale     TEXT COLLATE "C" NOT NULL,
    to_at      BIGINT NOT NULL,
    prompt_set TEXT COLLATE "C" NOT NULL,
    body       TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (brand, engine, surface, locale, to_at, prompt_set)
);

-- When a brand is to be audited again, and by which rules it was last.
ALTER TABLE brand ADD COLUMN audit_due BIGINT;
ALTER TABLE brand ADD COLUMN audit_rules TEXT COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX brand_audit_due ON brand (audit_due);

-- How far an audit has come.
ALTER TABLE audit ADD COLUMN step TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN steps BIGINT NOT NULL DEFAULT 0;

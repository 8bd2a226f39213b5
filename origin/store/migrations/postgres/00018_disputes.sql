-- +goose Up

-- Text of a brand's site that reads as written to steer a model, as the last
-- audit found it. Rows with confirmed = 0 are not public in any form.
CREATE TABLE suspicion (
    brand     TEXT COLLATE "C" NOT NULL REFERENCES brand (slug),
    position  BIGINT NOT NULL,
    body      TEXT COLLATE "C" NOT NULL,
    confirmed BIGINT NOT NULL,
    PRIMARY KEY (brand, position)
);
CREATE INDEX suspicion_unconfirmed ON suspicion (brand) WHERE confirmed = 0;

-- Objections to findings. passages are the suspicions that a dispute is about;
-- those of upheld disputes are ignored by later audits of the brand.
CREATE TABLE dispute (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    brand      TEXT COLLATE "C" NOT NULL REFERENCES brand (slug),
    signal     TEXT COLLATE "C" NOT NULL,
    kind       TEXT COLLATE "C" NOT NULL,
    state      TEXT COLLATE "C" NOT NULL,
    body       TEXT COLLATE "C" NOT NULL,
    email      TEXT COLLATE "C" NOT NULL,
    passages   TEXT COLLATE "C" NOT NULL,
    opened_at  BIGINT NOT NULL,
    decided_at BIGINT,
    decided_by TEXT COLLATE "C" NOT NULL,
    answer     TEXT COLLATE "C" NOT NULL
);
CREATE INDEX dispute_brand ON dispute (brand, state, id);
CREATE INDEX dispute_state ON dispute (state, id);

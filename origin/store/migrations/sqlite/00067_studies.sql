-- +goose Up

-- Studies of answers in form 2: the checked document of one engine, JSON compressed by Zstandard, under the
-- digest of the JSON. superseded: a document with a correction, kept because results name it.
CREATE TABLE study (
    digest     TEXT NOT NULL PRIMARY KEY,
    id         TEXT NOT NULL,
    engine     TEXT NOT NULL,
    niche      TEXT NOT NULL,
    locale     TEXT NOT NULL,
    to_at      BIGINT NOT NULL,
    body       BLOB NOT NULL,
    file_hash  TEXT NOT NULL,
    signer     TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    superseded BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX study_id ON study (id, engine);
CREATE INDEX study_engine ON study (niche, locale, engine, to_at);

-- What a study shows, of all its engines, as JSON compressed by Zstandard. Only the newest result of a
-- study is active.
CREATE TABLE study_result (
    digest     TEXT NOT NULL PRIMARY KEY,
    id         TEXT NOT NULL,
    niche      TEXT NOT NULL,
    locale     TEXT NOT NULL,
    to_at      BIGINT NOT NULL,
    method     TEXT NOT NULL,
    body       BLOB NOT NULL,
    created_at BIGINT NOT NULL,
    superseded BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX study_result_id ON study_result (id);
CREATE INDEX study_result_niche ON study_result (niche, to_at);

-- The part of the active result of a study that is about one brand, as JSON.
CREATE TABLE study_brand (
    brand  TEXT NOT NULL,
    study  TEXT NOT NULL,
    niche  TEXT NOT NULL,
    locale TEXT NOT NULL,
    to_at  BIGINT NOT NULL,
    body   TEXT NOT NULL,
    PRIMARY KEY (brand, study)
);

-- +goose Up
-- Whom a sign-in provider knows: its address and its name for somebody are who it
-- is. Who is here has no password; session and role hang on the administrator.
CREATE TABLE admin_identity (
    issuer     TEXT NOT NULL,
    subject    TEXT NOT NULL,
    user_name  TEXT NOT NULL UNIQUE REFERENCES admin_user (name),
    created_at BIGINT NOT NULL,
    seen_at    BIGINT NOT NULL,
    PRIMARY KEY (issuer, subject)
);

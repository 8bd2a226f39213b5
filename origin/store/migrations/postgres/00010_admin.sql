-- +goose Up
-- Accounts have a name that people know them by.
ALTER TABLE account ADD COLUMN name TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE account ADD COLUMN note TEXT COLLATE "C" NOT NULL DEFAULT '';

-- Where a key may be used from, which key took its place, and who used it last.
ALTER TABLE api_key ADD COLUMN networks TEXT COLLATE "C" NOT NULL DEFAULT '[]';
ALTER TABLE api_key ADD COLUMN replaces TEXT COLLATE "C";
ALTER TABLE api_key ADD COLUMN replaced_by TEXT COLLATE "C";
ALTER TABLE api_key ADD COLUMN replaced_at BIGINT;
ALTER TABLE api_key ADD COLUMN revoked_why TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE api_key ADD COLUMN used_from TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE api_key ADD COLUMN used_by TEXT COLLATE "C" NOT NULL DEFAULT '';
-- Days before its end that its account was last told of: 0, 14 or 3.
ALTER TABLE api_key ADD COLUMN told_days BIGINT NOT NULL DEFAULT 0;

-- What an administrator may, and the second factor: its sealed secret and the
-- newest step that was used, so that no code works twice.
ALTER TABLE admin_user ADD COLUMN role TEXT COLLATE "C" NOT NULL DEFAULT 'admin';
ALTER TABLE admin_user ADD COLUMN totp TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE admin_user ADD COLUMN totp_step BIGINT NOT NULL DEFAULT 0;

ALTER TABLE session ADD COLUMN address TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE session ADD COLUMN agent TEXT COLLATE "C" NOT NULL DEFAULT '';
-- When the password was last given in it.
ALTER TABLE session ADD COLUMN proved_at BIGINT NOT NULL DEFAULT 0;

-- Every act of an administrator. A row's sum covers the row and the sum of the
-- one before, so that neither can change or go unseen. Rows are only ever added.
CREATE TABLE audit_log (
    number  BIGINT PRIMARY KEY,
    at      BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    actor TEXT COLLATE "C" NOT NULL,
    act TEXT COLLATE "C" NOT NULL,
    target TEXT COLLATE "C" NOT NULL,
    was     TEXT COLLATE "C" NOT NULL,
    becomes TEXT COLLATE "C" NOT NULL,
    address TEXT COLLATE "C" NOT NULL,
    agent   TEXT COLLATE "C" NOT NULL,
    request TEXT COLLATE "C" NOT NULL,
    sum TEXT COLLATE "C" NOT NULL
);

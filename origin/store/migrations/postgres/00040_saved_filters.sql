-- +goose Up

-- Filters of the list of missions that an administrator saved, as the query of its address.
CREATE TABLE saved_filter (
    user_name TEXT COLLATE "C" NOT NULL REFERENCES admin_user (name),
    name      TEXT COLLATE "C" NOT NULL,
    query     TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (user_name, name)
);

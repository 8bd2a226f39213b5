-- +goose Up

-- Filters of the list of missions that an administrator saved, as the query of its address.
CREATE TABLE saved_filter (
    user_name TEXT NOT NULL REFERENCES admin_user (name),
    name      TEXT NOT NULL,
    query     TEXT NOT NULL,
    PRIMARY KEY (user_name, name)
);

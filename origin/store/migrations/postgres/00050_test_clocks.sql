-- +goose Up

-- The clock of a test account from its first advance on: the goal, in the time of the world, and what the last
-- advance fired. Its offset is a column of the account.
CREATE TABLE test_clock (
    account     TEXT COLLATE "C" PRIMARY KEY REFERENCES account (id),
    goal        BIGINT NOT NULL,
    advancing   BIGINT NOT NULL,
    stopped_at  BIGINT,
    sla         BIGINT NOT NULL,
    payments    BIGINT NOT NULL,
    retries     BIGINT NOT NULL,
    webhooks    BIGINT NOT NULL,
    lease_until BIGINT,
    lease_owner TEXT COLLATE "C"
);
CREATE INDEX test_clock_advancing ON test_clock (account) WHERE advancing = 1;
CREATE INDEX test_clock_lease ON test_clock (lease_owner) WHERE lease_owner IS NOT NULL;

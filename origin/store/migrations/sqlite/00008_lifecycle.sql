-- +goose Up

-- Policies and calendars that an operator put in the place of the program's
-- own; an empty body is the program's own again. The greatest revision is that
-- of all rules together.
CREATE TABLE sla_rule (
    kind       TEXT NOT NULL,
    name       TEXT NOT NULL,
    body       TEXT NOT NULL,
    revision   BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (kind, name)
);

-- The clocks of a mission. due_at is when there is something to take down next;
-- rules is the revision they were counted by, while any of them counts.
CREATE TABLE sla (
    mission     TEXT NOT NULL PRIMARY KEY REFERENCES mission (id),
    policy      TEXT NOT NULL,
    timers      TEXT NOT NULL,
    revision    BIGINT NOT NULL,
    rules       BIGINT,
    due_at      BIGINT,
    lease_until BIGINT,
    lease_owner TEXT
);
CREATE INDEX sla_due ON sla (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX sla_stale ON sla (rules) WHERE rules IS NOT NULL;
CREATE INDEX sla_lease ON sla (lease_owner) WHERE lease_owner IS NOT NULL;

-- What was told of a clock, so that nothing is told twice.
CREATE TABLE sla_event (
    mission TEXT NOT NULL REFERENCES mission (id),
    metric  TEXT NOT NULL,
    cycle   BIGINT NOT NULL,
    kind    TEXT NOT NULL,
    turn    BIGINT NOT NULL,
    event   TEXT NOT NULL UNIQUE,
    at      BIGINT NOT NULL,
    PRIMARY KEY (mission, metric, cycle, kind, turn)
);

-- check_at is when a payment will be overdue, while it may still become so.
CREATE TABLE payment (
    id          TEXT NOT NULL PRIMARY KEY,
    mission     TEXT NOT NULL UNIQUE REFERENCES mission (id),
    direction   TEXT NOT NULL,
    amount      BIGINT,
    currency    TEXT,
    terms       TEXT NOT NULL,
    status      TEXT NOT NULL,
    due_at      BIGINT,
    paid_at     BIGINT,
    failure     TEXT,
    refunded    BIGINT NOT NULL,
    version     BIGINT NOT NULL,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL,
    overdue_at  BIGINT,
    check_at    BIGINT,
    lease_until BIGINT,
    lease_owner TEXT
);
CREATE INDEX payment_check ON payment (check_at) WHERE check_at IS NOT NULL;
CREATE INDEX payment_lease ON payment (lease_owner) WHERE lease_owner IS NOT NULL;
CREATE INDEX payment_status ON payment (status, id);

CREATE TABLE refund (
    id         TEXT NOT NULL PRIMARY KEY,
    payment    TEXT NOT NULL REFERENCES payment (id),
    amount     BIGINT NOT NULL,
    reference  TEXT NOT NULL,
    reason     TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (payment, reference)
);

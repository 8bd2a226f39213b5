-- +goose Up

-- Policies and calendars that an operator put in the place of the program's
-- own; an empty body is the program's own again. The greatest revision is that
-- of all rules together.
CREATE TABLE sla_rule (
    kind       TEXT COLLATE "C" NOT NULL,
    name       TEXT COLLATE "C" NOT NULL,
    body       TEXT COLLATE "C" NOT NULL,
    revision   BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (kind, name)
);

-- The clocks of a mission. due_at is when there is something to take down next;
-- rules is the revision they were counted by, while any of them counts.
CREATE TABLE sla (
    mission     TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES mission (id),
    policy      TEXT COLLATE "C" NOT NULL,
    timers      TEXT COLLATE "C" NOT NULL,
    revision    BIGINT NOT NULL,
    rules       BIGINT,
    due_at      BIGINT,
    lease_until BIGINT,
    lease_owner TEXT COLLATE "C"
);
CREATE INDEX sla_due ON sla (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX sla_stale ON sla (rules) WHERE rules IS NOT NULL;
CREATE INDEX sla_lease ON sla (lease_owner) WHERE lease_owner IS NOT NULL;

-- What was told of a clock, so that nothing is told twice.
CREATE TABLE sla_event (
    mission TEXT COLLATE "C" NOT NULL REFERENCES mission (id),
    metric  TEXT COLLATE "C" NOT NULL,
    cycle   BIGINT NOT NULL,
    kind    TEXT COLLATE "C" NOT NULL,
    turn    BIGINT NOT NULL,
    event   TEXT COLLATE "C" NOT NULL UNIQUE,
    at      BIGINT NOT NULL,
    PRIMARY KEY (mission, metric, cycle, kind, turn)
);

-- check_at is when a payment will be overdue, while it may still become so.
CREATE TABLE payment (
    id          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    mission     TEXT COLLATE "C" NOT NULL UNIQUE REFERENCES mission (id),
    direction   TEXT COLLATE "C" NOT NULL,
    amount      BIGINT,
    currency    TEXT COLLATE "C",
    terms       TEXT COLLATE "C" NOT NULL,
    status      TEXT COLLATE "C" NOT NULL,
    due_at      BIGINT,
    paid_at     BIGINT,
    failure     TEXT COLLATE "C",
    refunded    BIGINT NOT NULL,
    version     BIGINT NOT NULL,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL,
    overdue_at  BIGINT,
    check_at    BIGINT,
    lease_until BIGINT,
    lease_owner TEXT COLLATE "C"
);
CREATE INDEX payment_check ON payment (check_at) WHERE check_at IS NOT NULL;
CREATE INDEX payment_lease ON payment (lease_owner) WHERE lease_owner IS NOT NULL;
CREATE INDEX payment_status ON payment (status, id);

CREATE TABLE refund (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    payment    TEXT COLLATE "C" NOT NULL REFERENCES payment (id),
    amount     BIGINT NOT NULL,
    reference  TEXT COLLATE "C" NOT NULL,
    reason     TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (payment, reference)
);

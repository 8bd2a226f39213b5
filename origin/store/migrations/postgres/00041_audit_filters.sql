-- +goose Up
-- The filters of the audit log; its pages are in the order of numbers.
CREATE INDEX audit_log_actor ON audit_log (actor, number);
CREATE INDEX audit_log_target ON audit_log (target, number);
CREATE INDEX audit_log_act ON audit_log (act, number);
CREATE INDEX audit_log_at ON audit_log (at);

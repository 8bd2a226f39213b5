-- +goose Up
-- The traceparent of the request that caused an event; empty where none did.
ALTER TABLE event ADD COLUMN trace TEXT NOT NULL DEFAULT '';

// Package store keeps the record: brands and their facts, missions, keys,
// sessions, modules, webhooks, and the event log they are told in.
//
// What comes in are rows to write and questions about rows; what goes out are
// rows. Every write goes through Write, which gathers what is waiting into one
// durable transaction. The package decides nothing: it knows no rule of a
// mission, no permission and no secret in the clear, and it is the only home of
// SQL.
package store

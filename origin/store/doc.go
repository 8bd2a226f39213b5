// Package store keeps the database: brands and their facts, missions, payments,
// keys, sessions, modules, webhooks, and the event log.
//
// What comes in are rows to write and queries; what goes out are rows. All writes
// go through Store.Write, which commits those of concurrent callers in one durable
// transaction. The package is the only one with SQL. It makes no decisions: it
// does not know the rules of missions, permissions or plain secrets.
//
// Methods that read belong to parts of Store by noun (BrandReader, MissionReader);
// those that write belong to parts of Tx (BrandTx, MissionTx), which can read too.
package store

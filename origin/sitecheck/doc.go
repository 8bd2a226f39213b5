// Package sitecheck audits a site that any client named, without a key and without a registered
// brand, and scores what was found by the active module.
//
// A check is one row for a day. It writes no brand, no facts of one, no event and no cache.
// Limits keep it from being a scanner for hire: budgets of the client's network, of the host,
// of its domain and of the network that was dialled, all in the database, so that they hold
// on every origin and without Redis; few requests; and the pause between requests to a host,
// which audits of brands share.
package sitecheck

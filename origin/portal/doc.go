// Package portal serves the webhook pages that an account opens to its customers: endpoints, their
// messages with requests and responses, tests, replays, pauses and new endpoints. A link works once
// and begins a session of an hour.
//
// Input: links that the API creates, and requests of browsers. Output: pages, and changes by package
// webhook. A session sees the endpoints of its link alone; Session.Endpoint is the only way to one. The
// package must not know missions, keys or names of accounts.
package portal

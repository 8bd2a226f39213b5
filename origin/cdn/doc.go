// Package cdn purges CDNs in front of the edges: it follows the event log and sends each CDN the
// surrogate keys of what changed, or their addresses, in the order of events.
//
// In go the settings of CDNs and the event log, out come requests to the APIs of CDNs. A position is
// stored with each CDN and moves only after a purge succeeded, so that neither a restart nor a CDN
// that is unreachable loses a purge. Retries, a crash and a second worker repeat purges, so each kind of request must
// allow that. The package must not know HTML, or which responses edges send.
package cdn

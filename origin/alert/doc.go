// Package alert understands what alerting tools send.
//
// What comes in is the body of a notification by Alertmanager (version "4") or
// Grafana (version "1"), as its sender templated it; what goes out are signals:
// what fires, under which key, and the mission it would be. The reading is
// tolerant, because these senders drop what is refused: what is too long is cut,
// what has the wrong type is taken for absent, what is unknown is let be.
//
// The package decides nothing about missions that exist. It knows no HTTP, no
// clock and no database.
package alert

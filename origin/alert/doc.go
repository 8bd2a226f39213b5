// Package alert decodes the notifications of alerting tools.
//
// Input: the body of a notification by Alertmanager (version "4") or Grafana (version
// "1"), as templated by its sender. Output: signals: what fires, under which key, and
// the mission for it. Decoding is tolerant, because these senders drop a notification
// that is rejected: values that are too long are truncated, values of the wrong type
// and unknown members are ignored.
//
// The package decides nothing about existing missions. It must not know HTTP, clocks
// or databases.
package alert

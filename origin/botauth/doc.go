// Package botauth signs the requests of the auditor, so that sites and their bot protection
// can recognise it (Web Bot Auth, draft-ietf-webbotauth-httpsig-protocol-01 of 2026-10-29).
//
// Signer adds an HTTP Message Signature (RFC 9421) to a request. Service keeps its Ed25519 keys
// in the database, encrypted, replaces them on schedule, and makes the key directory in
// which verifiers find the public halves.
//
// The package must not know which requests are signed, nor what a site answers.
package botauth

// Package acme orders TLS certificates from a certification authority (ACME, RFC 8555) and
// renews them when the CA advises it (ARI, RFC 9773).
//
// Work on a name happens under a lease, so that any number of origins make one order for it.
// Each step is stored before the next request to the CA: a process that stops continues with
// the order it made. Names come in through Config, Renew and Import; chains and keys go out to
// edges, encrypted for them, and answers to the challenges of the CA. Keys are stored encrypted
// under the application secret. The package must not know how certificates are served.
package acme

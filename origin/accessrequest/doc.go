// Package accessrequest manages requests for API keys: anyone sends one, an administrator approves or
// declines it, and its sender has the key of an approved one shown once.
//
// The texts of a request come from strangers. They are stored as they are, shown to administrators as
// text, and appear neither in mail, nor in events, nor in the audit log.
//
// The package must not know HTTP or HTML.
package accessrequest

// Package access decides who may do what: accounts, API keys, administrators and
// their sessions. It knows no HTTP route and no cookie.
package access

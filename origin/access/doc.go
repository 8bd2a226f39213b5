// Package access decides who may do what: accounts, API keys, administrators and
// their sessions. It is independent of routes and cookies.
package access

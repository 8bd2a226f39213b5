// Package oidc authenticates users at an OpenID Connect provider: authorization code
// flow with PKCE (RFC 7636), state and nonce (OpenID Connect Core 1.0).
//
// Its input is the operator's provider and rules, and the callback of a browser; its
// output is an Identity from a verified ID token. It is independent of sessions, the database and
// pages, and sends no request before the first sign-in.
package oidc

// Package oidc asks an OpenID Connect provider who somebody is: authorization code
// flow with PKCE (RFC 7636), state and nonce (OpenID Connect Core 1.0).
//
// In go the operator's choice of provider and rules of who may enter, and what a
// browser brought back; out comes a Person whose ID token was verified. It knows
// no session, no database and no page, and asks the provider for nothing before
// somebody wants to sign in.
package oidc

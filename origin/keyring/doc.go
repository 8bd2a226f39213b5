// Package keyring derives the keys that protect stored secrets from the
// application secret: MACs for tokens that are only compared, ciphers for secrets
// that must be read again.
package keyring

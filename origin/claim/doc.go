// Package claim lets the owners of websites claim their brands: it looks for proofs of
// control, gives a verified claim an account with an API key, checks proofs again every
// week, and decides contests and transfers. It must not know what an owner may do with a
// brand; store.Manages decides who holds one.
package claim

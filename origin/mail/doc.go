// Package mail sends the owners of brands a digest of the events of a brand: at most one a day,
// and at once if the claim of the brand is in danger. Addresses must be confirmed; the
// row of an address is its outbox, with the lease and the attempts of the mail that is due. The
// operator's SMTP relay delivers. The package is independent of pages and claims.
package mail

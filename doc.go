// Package fieldmark is the language of the product: the nouns that more than
// one room speaks of (brands and their facts, scores, missions, keys, modules,
// events, webhooks) and the pure rules that must hold on both sides of a wire.
//
// What comes in is text and numbers from outside; what goes out are values
// that cannot be wrong: a Slug, a Digest, a KeyToken exist only after their Parse
// function accepted them. The JSON of a noun is its wire form and its webhook
// payload: it only ever grows, and golden files pin it.
//
// The package imports the standard library only. It knows no file, no network,
// no clock and no goroutine, and it never holds anything private: secrets,
// leases and attempt counters belong to origin/store.
package fieldmark

// Package brand keeps the brands: their slugs, the facts that audits of their
// websites found, the history of both, and samples of answers that mention them.
// It knows no score: an edge derives it from the facts.
package brand

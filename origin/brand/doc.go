// Package brand keeps the brands: their slugs, the facts that audits of their
// websites found, the history of both, and samples of answers that mention them.
// It has no scores: an edge derives them from the facts.
package brand

// Package card is the declarative scorecard.
package card

// Package shop is an example of a scorer in Go: it marks online shops, as
// card.json beside it does. The module is made by the package above.
package shop

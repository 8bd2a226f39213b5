// Package panel finds the brands of a panel in answers, by rules that are data.
//
// Input are the panel and an answer: its Markdown and the addresses it cites. Output is a Reading: which brands
// the answer names, in which order, which it cites, and what it states about them. The package uses no engine,
// no file and no network: addresses are compared, never fetched.
package panel

// Package plan reads the input of a study: its plan, its set of questions and its panel of brands.
//
// Input are three YAML files. Output is a checked Plan with the hashes that identify it, or every fault with its
// file, line and column. The package sends nothing, reads no key and does not know the time: whether a plan can
// begin today is decided by its caller.
package plan

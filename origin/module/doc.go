// Package module keeps the scoring modules: it accepts uploaded modules that pass
// their checks, compares them with the active one, and decides which module scores
// which share of the brands. It cannot run a module; a Checker does.
package module

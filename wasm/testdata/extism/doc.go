// Package extism holds the built-in scorer as an Extism plugin, to be measured
// beside itself as a scoring module: `make extism`.
package extism

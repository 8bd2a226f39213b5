// Package exposition writes metrics in the Prometheus text format: samples that several
// sources wrote come out grouped by metric, each with its type and a sentence of help.
//
// The package measures nothing.
package exposition

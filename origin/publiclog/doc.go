// Package publiclog keeps the public log of scores: which facts a module scored for each brand, and when.
//
// In go the event log and the active modules, out come tiles, signed checkpoints and proofs in the form of
// package internal/translog. One transaction appends leaves, signs the checkpoint and moves the position
// in the event log, so no change is missed and none is logged twice, whenever a process stops and however
// many origins there are. The package must not know how its files are served.
package publiclog

// Package translog is the format of the public log of scores: records and their salted entries, tiles and
// entry bundles (C2SP tlog-tiles), signed checkpoints, cosignatures and inclusion proofs.
//
// In come bytes of a log, out come verified values, or the reason why they are refused. Hashing, proofs
// and signatures are those of golang.org/x/mod/sumdb. The package must not know where a log is stored,
// or how it is reached.
package translog

// Package witness holds the command that follows the public log of scores of a server, cosigns its
// checkpoints (C2SP tlog-cosignature), and ends with an error if the log contradicts what it signed before.
//
// In come the public files of a log, out come cosigned checkpoints in a folder. What the witness has seen is
// on disk before a cosignature is published, so that no restart makes it cosign two histories of a log. The
// package must not know how a server stores its log.
package witness

// Package rankingfile reads and writes files of the format fm-ranking-1: what a ranking keeps of every public
// brand, so that an edge need not score all brands when it starts.
//
// Input: lines in the order of slugs, or the bytes of a file that may be hostile. Output: frames and a footer
// that describes them, or lines of which each was checked. The package does no I/O, and is independent
// of the database and of HTTP.
//
// A file is a sequence of zstd frames of at most 65,536 lines, and ends with the footer, which is JSON in a
// skippable frame (RFC 8878, section 3.1.2). The footer comes last so that a writer needs no second pass; readers
// learn its size and digest with the name of the file. The footer has the digest of each frame, so a frame is
// verified before it is decompressed.
package rankingfile

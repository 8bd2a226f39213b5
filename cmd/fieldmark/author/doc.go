// Package author holds the commands that do not require a running server: auditing a
// website, writing and checking llms.txt files, verifying a score, and writing, testing,
// packing and signing scoring modules.
//
// They read and write files. The exception is the score command, which reads public
// documents from an edge.
package author

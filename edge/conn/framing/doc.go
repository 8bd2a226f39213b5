// Package framing finds where HTTP/1.1 messages end (RFC 9112), and refuses what
// two parsers could read differently.
//
// Bytes of a connection come in as they are read; how many of them belong to the
// message under way goes out. Requests is strict: what it lets through has one
// line break, one length, one host and one address, so that whatever reads the
// bytes next, here or at an origin, sees the same requests in them. Responses is
// lenient and only finds the end, so that bytes after it are never taken for the
// answer to another question.
//
// It must not know what is done with the messages. It reads heads in place and
// copies only a line that arrived in pieces.
package framing

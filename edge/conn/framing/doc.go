// Package framing finds where HTTP/1.1 messages end (RFC 9112), and refuses requests
// that two parsers could read differently.
//
// Bytes of a connection come in as they are read; how many of them belong to the
// present message goes out. RequestFramer is strict: every request that it accepts has
// one kind of line break, one length, one host and one target, so that any parser that
// reads the bytes next, here or at an origin, finds the same requests in them. That
// prevents request smuggling. ResponseFramer is lenient and only finds the end, so that
// bytes after a response are never taken for the response to another request.
//
// The package must not know what happens to the messages. It reads header sections in
// place and copies only a line that arrives in pieces.
package framing

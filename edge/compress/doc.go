// Package compress has the compression of response bodies and negotiates the content encoding
// of a response (RFC 9110, sections 8.4 and 12.5.3).
//
// Bodies and Accept-Encoding fields come in; compressed bodies and the encoding to
// send go out. It must not know what the bodies are about, where they are stored, or
// how a response is written.
package compress

// Package coding makes the compressed forms of an answer's content and says which
// of them a reader gets.
//
// Bodies and Accept-Encoding fields come in; compressed bodies and a choice go
// out. It must not know what the bodies are about, where they are kept, or how an
// answer is sent.
package coding

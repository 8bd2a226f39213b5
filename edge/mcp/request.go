package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"

	"github.com/valyala/fasthttp"
)

// Revisions of the protocol.
const (
	// Modern is the revision whose requests carry their version and have no session.
	Modern = "2026-07-28"
	// legacy is the newest of the revisions that begin with an initialize request.
	legacy = "2025-11-25"
	// unnamed is the version of a request that names none (2026-07-28, streamable HTTP).
	unnamed = "2025-03-26"
)

// supported lists the revisions, the newest first.
var supported = [...]string{Modern, legacy, "2025-06-18", unnamed}

// Names of the members of _meta that a modern request must have.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
)

// Error codes of JSON-RPC 2.0 and of revision 2026-07-28.
const (
	codeParse              = -32700
	codeInvalidRequest     = -32600
	codeMethodNotFound     = -32601
	codeInvalidParams      = -32602
	codeHeaderMismatch     = -32020
	codeUnsupportedVersion = -32022
)

// maxID bounds the id of a request, which every answer repeats, in bytes.
// A UUID has 36 characters; a longer id would let a client fill the answer.
const maxID = 128

// rpcError is an error of the protocol. The errors of tools are results (see failure).
type rpcError struct {
	status  int // of HTTP
	code    int
	message string
	version []byte // with codeUnsupportedVersion: the one that was requested
}

// message is one request or notification. Its members are parts of the body.
// Nothing is copied, so it is valid only as long as the body.
type message struct {
	id     []byte // JSON; nil: a notification
	method []byte
	params []byte // JSON; nil: none

	name, arguments []byte // of tools/call: a text and JSON
	version         []byte // in _meta
	hasName         bool
	hasMeta         bool
	hasVersion      bool
	hasCapabilities bool

	modern bool
}

// parse parses a body. The message is usable for its id even with an error.
func (m *message) parse(body []byte) *rpcError {
	// json.Valid first: the cursor of membersOf may then trust the syntax.
	if !utf8.Valid(body) || !json.Valid(body) {
		return &rpcError{status: 400, code: codeParse, message: "the body is not JSON in UTF-8"}
	}
	// Batches were removed from the protocol in revision 2025-06-18.
	if body = trimSpace(body); body[0] != '{' {
		return invalid("the body must be one JSON-RPC message; batches are not accepted")
	}
	var version []byte
	// A member given twice is read differently by different parsers, so it is refused.
	var seen [4]bool
	for all := membersOf(body); ; {
		name, value, ok := all.next()
		if !ok {
			break
		}
		i := -1
		switch string(name) {
		case "jsonrpc":
			i, version = 0, value
		case "id":
			i, m.id = 1, value
		case "method":
			i = 2
			if m.method, ok = textOf(value); !ok {
				return invalid("method must be a string")
			}
		case "params":
			i, m.params = 3, value
		}
		if i >= 0 {
			if seen[i] {
				return invalid("a member is given twice")
			}
			seen[i] = true
		}
	}
	// The id is dropped before the answer, which would repeat it.
	if m.id != nil && !validID(m.id) {
		m.id = nil
		return invalid("id must be a string or an integer of at most 128 bytes")
	}
	if string(version) != `"2.0"` {
		return invalid(`jsonrpc must be "2.0"`)
	}
	if len(m.method) == 0 {
		return invalid("method is missing; responses are not accepted, as this server sends no requests")
	}
	if m.params != nil && m.params[0] != '{' {
		return &rpcError{status: 400, code: codeInvalidParams, message: "params must be an object"}
	}
	return m.parseParams()
}

// validID reports whether raw is a string or an integer, short enough to be repeated.
// null and fractions are refused: the protocol allows neither as an id.
func validID(raw []byte) bool {
	if len(raw) > maxID {
		return false
	}
	return raw[0] == '"' || len(bytes.Trim(raw, "-0123456789")) == 0
}

// parseParams parses the parameters that all methods have, and those of tools/call.
// Unknown parameters are ignored, as JSON-RPC extends requests by them; unknown arguments of a
// tool are not.
func (m *message) parseParams() *rpcError {
	var seen [3]bool
	for all := membersOf(m.params); ; {
		name, value, ok := all.next()
		if !ok {
			return nil
		}
		i := -1
		switch string(name) {
		case "name":
			i = 0
			m.name, m.hasName = textOf(value)
		case "arguments":
			i, m.arguments = 1, value
		case "_meta":
			i, m.hasMeta = 2, true
			if err := m.parseMeta(value); err != nil {
				return err
			}
		}
		if i >= 0 {
			if seen[i] {
				return &rpcError{status: 400, code: codeInvalidParams, message: "a parameter is given twice"}
			}
			seen[i] = true
		}
	}
}

// A missing or wrong member is rejected by negotiate, because only some revisions need it.
func (m *message) parseMeta(raw []byte) *rpcError {
	for all := membersOf(raw); ; {
		name, value, ok := all.next()
		if !ok {
			return nil
		}
		switch string(name) {
		case metaVersion:
			if m.hasVersion {
				return &rpcError{status: 400, code: codeInvalidParams, message: "a member of _meta is given twice"}
			}
			m.version, m.hasVersion = textOf(value)
		case metaCapabilities:
			m.hasCapabilities = value[0] == '{'
		}
	}
}

// negotiate decides which revision a request is of and compares its header with its body. A
// proxy that trusts the header and a server that trusts the body must not be led to see two
// requests (2026-07-28, server validation), so nothing is decided by the header alone.
// Requests without the field in the older revisions are common: clients send it only after
// initialize.
func (m *message) negotiate(h *fasthttp.RequestHeader) *rpcError {
	version, ok := field(h, "Mcp-Protocol-Version")
	switch {
	case !ok:
		return mismatch("MCP-Protocol-Version is given twice")
	case m.hasVersion && version == nil:
		return mismatch("MCP-Protocol-Version is missing")
	case m.hasVersion && !bytes.Equal(version, m.version):
		return mismatch("MCP-Protocol-Version differs from the version in _meta")
	// The older revisions have no fields to compare.
	case version == nil || isLegacy(version):
		return nil
	case string(version) != Modern:
		return &rpcError{status: 400, code: codeUnsupportedVersion, message: "Unsupported protocol version",
			version: version}
	}
	m.modern = true
	if !m.hasVersion || !m.hasCapabilities {
		return &rpcError{status: 400, code: codeInvalidParams,
			message: "params._meta must have " + metaVersion + " and " + metaCapabilities}
	}
	if method, ok := field(h, "Mcp-Method"); !ok || !bytes.Equal(method, m.method) {
		return mismatch("Mcp-Method is missing or differs from method")
	}
	if string(m.method) != "tools/call" {
		return nil
	}
	// The name of a tool is in a field too, so a proxy can limit tools without reading bodies.
	name, ok := field(h, "Mcp-Name")
	if name, ok = decodeSentinel(name, ok); !ok || !bytes.Equal(name, m.name) {
		return mismatch("Mcp-Name is missing or differs from params.name")
	}
	return nil
}

// isLegacy reports whether a version is one of those before Modern that are served.
func isLegacy(version []byte) bool {
	for _, v := range supported[1:] {
		if string(version) == v {
			return true
		}
	}
	return false
}

// field returns a header field, nil if it is missing; ok is false if it is given twice.
// A field given twice could be read differently by a proxy and by this server.
func field(h *fasthttp.RequestHeader, name string) (value []byte, ok bool) {
	switch all := h.PeekAll(name); len(all) {
	case 0:
		return nil, true
	case 1:
		return all[0], true
	}
	return nil, false
}

// decodeSentinel decodes a value in the Base64 form of the protocol, which carries what a
// header field cannot.
// Strict refuses padding bits that are not zero, so each value has one form.
func decodeSentinel(value []byte, ok bool) ([]byte, bool) {
	const prefix, suffix = "=?base64?", "?="
	if !ok || !bytes.HasPrefix(value, []byte(prefix)) || !bytes.HasSuffix(value[len(prefix):], []byte(suffix)) {
		return value, ok && value != nil
	}
	decoded, err := base64.StdEncoding.Strict().AppendDecode(nil, value[len(prefix):len(value)-len(suffix)])
	return decoded, err == nil
}

// invalid returns the error of a request that is not one of JSON-RPC.
func invalid(message string) *rpcError {
	return &rpcError{status: 400, code: codeInvalidRequest, message: message}
}

// mismatch returns the error of a header that contradicts the body.
func mismatch(message string) *rpcError {
	return &rpcError{status: 400, code: codeHeaderMismatch, message: message}
}

package observe

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"mime"
	"net/http"
	"strings"
)

// MaxDocument is how many bytes of a document for machines are read. Cards and catalogues have a
// few kilobytes; a longer one is not read at all.
const MaxDocument = 256 << 10

// Media types that the documents must have.
const (
	TypeKeys       = "application/http-message-signatures-directory+json"
	TypeAPICatalog = "application/linkset+json"
	TypeRSL        = "application/rsl+xml"
)

// RSLNamespace is the namespace of the root element of an RSL document (RSL 1.0, 2025-12-10).
const RSLNamespace = "https://rslstandard.org/rsl"

// Paths of documents on a site.
const (
	PathTDMRep     = "/.well-known/tdmrep.json"
	PathKeys       = "/.well-known/http-message-signatures-directory"
	PathAgentCard  = "/.well-known/agent-card.json"
	PathAPICatalog = "/.well-known/api-catalog"
)

// CardPaths returns where drafts and the final text of SEP-2127 put the card of an MCP server or a
// list of cards, in the order in which they are requested.
func CardPaths() []string {
	return []string{"/.well-known/mcp/server-card.json", "/.well-known/mcp/server-card",
		"/.well-known/mcp/catalog.json", "/.well-known/ai-catalog.json"}
}

// Keys returns the number of public keys in a directory of Web Bot Auth
// (draft-meunier-webbotauth-httpsig-directory-00), and whether the response has a signature, which
// is not verified. It returns 0 unless the response is such a directory.
func Keys(header http.Header, body []byte) (keys int, signed bool) {
	var d struct {
		Keys []struct {
			Kty string `json:"kty"`
		} `json:"keys"`
	}
	if mediaType(header) != TypeKeys || !decode(body, &d) {
		return 0, false
	}
	for _, k := range d.Keys {
		if k.Kty != "" {
			keys++
		}
	}
	return keys, keys > 0 && header.Get("Signature") != "" && header.Get("Signature-Input") != ""
}

// Card returns the name of an MCP server from its card, which has name and remotes, or that of the
// first entry of a catalogue with the type of such a card. It returns "" for any other document.
func Card(body []byte) string {
	var card struct {
		Name    string            `json:"name"`
		Remotes []json.RawMessage `json:"remotes"`
		Entries []struct {
			Name        string `json:"name"`
			DisplayName string `json:"displayName"`
			Identifier  string `json:"identifier"`
			Type        string `json:"type"`
			MediaType   string `json:"mediaType"`
			URL         string `json:"url"`
		} `json:"entries"`
	}
	if !decode(body, &card) {
		return ""
	}
	if card.Name != "" && card.Remotes != nil {
		return card.Name
	}
	for _, e := range card.Entries {
		if strings.Contains(e.Type+e.MediaType, "mcp-server") {
			for _, name := range []string{e.DisplayName, e.Name, e.Identifier, e.URL} {
				if name != "" {
					return name
				}
			}
		}
	}
	return ""
}

// AgentCard returns the name of an agent from its A2A card, which also states where the agent is: by
// url before version 1.0, by supportedInterfaces since. It returns "" for any other document.
func AgentCard(body []byte) string {
	var card struct {
		Name       string            `json:"name"`
		URL        string            `json:"url"`
		Interfaces []json.RawMessage `json:"supportedInterfaces"`
	}
	if !decode(body, &card) || card.URL == "" && len(card.Interfaces) == 0 {
		return ""
	}
	return card.Name
}

// APICatalog returns the number of link contexts in a catalogue of APIs (RFC 9727), 0 unless the
// response is one.
func APICatalog(header http.Header, body []byte) int {
	var d struct {
		Linkset []map[string]json.RawMessage `json:"linkset"`
	}
	if mediaType(header) != TypeAPICatalog || !decode(body, &d) {
		return 0
	}
	return len(d.Linkset)
}

// TDM reports whether a tdmrep.json (W3C TDM Reservation Protocol, section 6) is valid, and whether
// it reserves the rights of a path: the first location that matches decides.
func TDM(body []byte, path string) (reserved, valid bool) {
	var rules []struct {
		Location    string       `json:"location"`
		Reservation *json.Number `json:"tdm-reservation"`
	}
	if !decode(body, &rules) {
		return false, false
	}
	for i, r := range rules {
		if i == maxStatements {
			break
		}
		if r.Reservation == nil || r.Location == "" {
			continue
		}
		valid = true
		if len(r.Location) <= maxStatement && matches(r.Location, path) {
			return r.Reservation.String() == "1", true
		}
	}
	return false, valid
}

// maxProlog is how many tokens may precede the root element: a declaration, comments and white space.
const maxProlog = 32

// RSL reports whether a body is an RSL document, by its root element.
func RSL(body []byte) bool {
	if len(body) > MaxDocument {
		return false
	}
	d := xml.NewDecoder(bytes.NewReader(body))
	for range maxProlog {
		token, err := d.Token()
		if err != nil {
			return false
		}
		if root, ok := token.(xml.StartElement); ok {
			return root.Name.Local == "rsl" && root.Name.Space == RSLNamespace
		}
	}
	return false
}

// decode decodes JSON. A page of HTML, which many servers send for every path, is no JSON.
func decode(body []byte, to any) bool {
	return len(body) <= MaxDocument && json.Unmarshal(bytes.TrimPrefix(body, []byte("\uFEFF")), to) == nil
}

// mediaType returns the media type of a response in lower case, without parameters.
func mediaType(header http.Header) string {
	t, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return t
}

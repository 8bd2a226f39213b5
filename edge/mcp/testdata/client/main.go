// Command client calls the tools of a Fieldmark with the official Go SDK, in two revisions of the protocol: client
// ADDRESS KEY SITE. The key may write, and SITE is a website that may be checked.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	log.SetFlags(0)
	address, key, site := os.Args[1], os.Args[2], os.Args[3]
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		c := &client{ctx: ctx, version: version, session: connect(ctx, address, key, version)}
		c.tools()
		c.missions()
		c.check(site)
		check(c.session.Close())
		fmt.Println(version, "is good")
	}
}

func connect(ctx context.Context, address, key, version string) *mcp.ClientSession {
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx,
		&mcp.StreamableClientTransport{Endpoint: address, HTTPClient: &http.Client{Transport: bearer(key)}},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	check(err)
	if got := session.InitializeResult().ProtocolVersion; got != version {
		log.Fatalf("the server speaks %s, want %s", got, version)
	}
	return session
}

// bearer sends a key with each request.
type bearer string

func (key bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(key))
	return http.DefaultTransport.RoundTrip(r)
}

type client struct {
	ctx     context.Context
	version string
	session *mcp.ClientSession
}

type arguments map[string]any

// call calls a tool and decodes its result or its error into result. The SDK does not compare the structured content
// with the text, which must be the same JSON.
func (c *client) call(tool string, a arguments, result any) (failed bool) {
	r, err := c.session.CallTool(c.ctx, &mcp.CallToolParams{Name: tool, Arguments: a})
	check(err)
	if len(r.Content) != 1 {
		log.Fatalf("%s %s: %d parts of content", c.version, tool, len(r.Content))
	}
	text := r.Content[0].(*mcp.TextContent).Text
	if !r.IsError {
		structured, err := json.Marshal(r.StructuredContent)
		check(err)
		if !same(structured, []byte(text)) {
			log.Fatalf("%s %s: the structured content is %s, the text %s", c.version, tool, structured, text)
		}
	}
	if err := json.Unmarshal([]byte(text), result); err != nil {
		log.Fatalf("%s %s: %v: %s", c.version, tool, err, text)
	}
	return r.IsError
}

func same(a, b []byte) bool {
	var x, y any
	check(json.Unmarshal(a, &x))
	check(json.Unmarshal(b, &y))
	a, _ = json.Marshal(x)
	b, _ = json.Marshal(y)
	return string(a) == string(b)
}

// tools lists the tools and reads a score.
func (c *client) tools() {
	list, err := c.session.ListTools(c.ctx, nil)
	check(err)
	if len(list.Tools) != 14 {
		log.Fatalf("%s: %d tools, want 14", c.version, len(list.Tools))
	}
	var score struct {
		Slug  string
		Score float64
	}
	if c.call("score", arguments{"brand": "alpenglow"}, &score) || score.Score <= 0 {
		log.Fatalf("%s: score: %+v", c.version, score)
	}
	var e failure
	if !c.call("score", arguments{"brand": "no-such-brand"}, &e) || e.Code != "not_found" {
		log.Fatalf("%s: the score of an unknown brand: %+v", c.version, e)
	}
}

type failure struct{ Code string }

type mission struct {
	ID      string
	Status  string
	Version int
	Text    string `json:"untrustedDescription"`
}

type written struct {
	failure
	Would, Mission mission
	Confirm        string
	Acts           bool
}

// missions opens, edits and cancels a mission: each in two steps, of which the second, sent twice, acts once.
func (c *client) missions() {
	m := c.write("mission_open", arguments{"source": "go-sdk", "externalId": c.version, "title": "Replace it"},
		mission{Status: "NEW", Version: 1})
	edit := func(version int, text string) arguments {
		return arguments{"id": m.ID, "version": version, "change": arguments{"description": text}}
	}
	m = c.write("mission_edit", edit(1, "On the roof"), mission{Status: "NEW", Version: 2, Text: "On the roof"})
	for tool, a := range map[string]arguments{"mission_edit": edit(1, "In the cellar"),
		"mission_cancel": {"id": m.ID, "version": 1}} {
		var refused written
		if !c.call(tool, a, &refused) || refused.Code != "version_mismatch" {
			log.Fatalf("%s: %s of version 1 after an edit: %+v", c.version, tool, refused)
		}
	}
	// Between a dry run and its confirmation the mission may change: the token is of a version.
	var late, first written
	if c.call("mission_edit", edit(2, "Late"), &late) || c.call("mission_edit", edit(2, "First"), &first) {
		log.Fatalf("%s: %+v %+v", c.version, late, first)
	}
	confirm := func(w written, text string) arguments {
		a := edit(2, text)
		a["confirm"] = w.Confirm
		return a
	}
	if c.call("mission_edit", confirm(first, "First"), &first) || first.Mission.Version != 3 {
		log.Fatalf("%s: the first of two edits: %+v", c.version, first)
	}
	if !c.call("mission_edit", confirm(late, "Late"), &late) || late.Code != "version_mismatch" {
		log.Fatalf("%s: the second of two edits: %+v", c.version, late)
	}
	c.write("mission_cancel", arguments{"id": m.ID, "version": 3, "reason": arguments{"code": "customer_request"}},
		mission{Status: "CANCELED", Version: 4, Text: "First"})
}

// write calls a tool without a token, then twice with it. The mission has then changed once.
func (c *client) write(tool string, a arguments, want mission) mission {
	var tried written
	if c.call(tool, a, &tried) || tried.Acts || tried.Confirm == "" || tried.Would.Status != want.Status {
		log.Fatalf("%s: %s without a token: %+v", c.version, tool, tried)
	}
	if found := c.find(); found.Version != want.Version-1 {
		log.Fatalf("%s: after a dry run of %s the mission is %+v", c.version, tool, found)
	}
	a["confirm"] = tried.Confirm
	for range 2 {
		var done written
		if c.call(tool, a, &done) || !done.Acts {
			log.Fatalf("%s: %s with its token: %+v", c.version, tool, done)
		}
		want.ID = done.Mission.ID
		if found := c.find(); done.Mission != want || found != want {
			log.Fatalf("%s: %s leaves %+v and answers %+v, want %+v", c.version, tool, found, done.Mission, want)
		}
	}
	return want
}

// find returns the mission of this client; it has version 0 before it is opened.
func (c *client) find() (m mission) {
	var list struct {
		failure
		Items []mission
	}
	if c.call("mission_find", arguments{"source": "go-sdk", "externalId": c.version}, &list) || len(list.Items) > 1 {
		log.Fatalf("%s: mission_find: %+v", c.version, list)
	}
	if len(list.Items) == 1 {
		m = list.Items[0]
	}
	return m
}

// check begins a check of a website, which may return a recent one, and calls with its id until it has the report:
// as long as the result has a note.
func (c *client) check(site string) {
	type result struct {
		failure
		ID, State, Note string
		Grade           string
	}
	var begun, ended result
	if c.call("check_site", arguments{"url": site}, &begun) || begun.ID == "" {
		log.Fatalf("%s: check_site: %+v", c.version, begun)
	}
	if begun.Note == "" || begun.Grade != "" {
		log.Fatalf("%s: a check that was begun has a report: %+v", c.version, begun)
	}
	for ended = begun; ended.Note != ""; {
		time.Sleep(time.Second) // a key may make 600 calls a minute
		ended = result{}
		if c.call("check_site", arguments{"id": begun.ID}, &ended) {
			log.Fatalf("%s: check_site with an id: %+v", c.version, ended)
		}
	}
	if ended.ID != begun.ID || ended.State != "done" || ended.Grade == "" {
		log.Fatalf("%s: the check ends as %+v", c.version, ended)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

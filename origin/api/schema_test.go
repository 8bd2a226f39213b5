package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/fieldmark/fieldmark"
)

// compileSchema compiles a JSON Schema with a third-party validator, which also checks
// formats.
func compileSchema(t testing.TB, name string, schema []byte, pointer string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("https://fieldmark.example/"+name, doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("https://fieldmark.example/" + name + pointer)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return compiled
}

func validate(t testing.TB, what string, schema *jsonschema.Schema, data []byte) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err == nil {
		err = schema.Validate(v)
	}
	if err != nil {
		t.Errorf("%s: %v in %.2000s", what, err, data)
	}
}

// TestEventSchemas validates the examples of the event catalogue, every golden event and
// the events of complete mission lifecycles against the schemas of the catalogue.
func TestEventSchemas(t *testing.T) {
	fx := newFixture(t, nil)
	var types fieldmark.List[fieldmark.EventTypeInfo]
	fx.mustSend(200, request{method: "GET", path: hooksPath + "/event-types"}, &types)
	schemas := map[fieldmark.EventType]*jsonschema.Schema{}
	for _, info := range types.Data {
		schemas[info.Type] = compileSchema(t, string(info.Type), info.Schema, "")
		validate(t, "example of "+string(info.Type), schemas[info.Type], info.Example.Data)
		if err := schemas[info.Type].Validate(map[string]any{}); err == nil {
			t.Errorf("%s: the schema accepts an empty object", info.Type)
		}
	}
	golden := filepath.Join("..", "..", "testdata", "wire")
	seen := 0
	for kind, schema := range schemas {
		data, err := os.ReadFile(filepath.Join(golden, string(kind)+".json"))
		if err != nil || kind == fieldmark.EventPing { // ping.json is a response, not an event
			continue
		}
		seen++
		validate(t, "golden "+string(kind), schema, data)
	}
	for _, name := range []string{"mission.json", "mission_lifecycle.json"} {
		data, err := os.ReadFile(filepath.Join(golden, name))
		if err != nil {
			t.Fatal(err)
		}
		seen++
		validate(t, "golden "+name, schemas[fieldmark.EventMissionUpdated], data)
	}
	if seen < 10 {
		t.Errorf("%d golden events, want those of sla, payment and mission", seen)
	}
	fx.live(t)
	page, err := fx.service.Events.After(t.Context(), fieldmark.EventCursor{Number: 0}, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[fieldmark.EventType]bool{}
	for _, e := range page.Events {
		if schema := schemas[e.Type]; schema != nil {
			kinds[e.Type] = true
			validate(t, "event "+string(e.Type), schema, e.Data)
		}
	}
	if len(kinds) < 12 {
		t.Errorf("events of %d types, want more: %v", len(kinds), kinds)
	}
}

// live changes missions so that they get events of many types, with and without each
// optional member.
func (fx *fixture) live(t testing.TB) {
	t.Helper()
	full := fx.createPlanned("full", "ann", time.Now().Add(time.Hour), time.Hour, `,"priority":"HIGH","description":"d",
		"category":"c","estimatedMinutes":30,
		"location":{"name":"Depot","address":{"line1":"Hof 1","country":"AT"},"geo":{"lat":48.2,"lng":16.4},
		"timeZone":"Europe/Vienna"},
		"contact":{"name":"Eva","email":"eva@example.com"},"window":{"earliest":"2026-12-01T08:00:00Z",
		"latest":"2026-12-01T09:00:00Z"},
		"skills":["a"],"assets":[{"id":"1"}],"links":[{"href":"https://example.com/"}],"labels":{"a":"b"},
		"metadata":{"a":null},
		"payment":{"amount":{"value":100,"currency":"EUR"},"terms":"NET 14"}`)
	for _, to := range []string{"SCHEDULED", "DISPATCHED", "EN_ROUTE", "ON_HOLD", "EN_ROUTE", "IN_PROGRESS",
		"COMPLETED",
		"CLOSED"} {
		fx.mustSend(200, request{method: "POST", path: fieldmark.PathMissions + "/" + full.ID + "/transitions",
			key:  fx.operatorKey(),
			body: `{"status":"` + to + `","reason":{"code":"SITE_ACCESS","text":"x"}}`}, nil)
	}
	pay := "/api/admin/v1/payments/" + full.Payment.ID
	for _, body := range []string{`{"status":"PROCESSING"}`,
		`{"status":"FAILED","failure":{"code":"refused","willRetry":true}}`, `{"status":"PROCESSING"}`,
		`{"status":"PAID"}`} {
		fx.mustSend(200, request{method: "POST", path: pay + "/transitions", key: fx.admin, body: body}, nil)
	}
	fx.mustSend(200, request{method: "POST", path: pay + "/refunds", key: fx.admin,
		body: `{"amount":40,"reference":"r-1"}`}, nil)
	plain := fx.createMission("plain")
	fx.mustSend(200, request{method: "PATCH", path: fieldmark.PathMissions + "/" + plain.ID,
		key:  fx.keyWithEveryScope(),
		body: `{"priority":"LOW"}`}, nil)
	fx.transitionTo(plain.ID, fieldmark.MissionScheduled, fieldmark.MissionNew, fieldmark.MissionCanceled)
	fx.wantReport("fires", alertmanager, group("g", "Down/warning"), "1: 1c 0m 0r 0i")
	fx.wantReport("over", alertmanager, group("g", "Down/warning/resolved"), "1: 0c 0m 1r 0i")
	fx.wantReport("back", alertmanager, strings.ReplaceAll(group("g", "Down/warning"), "Down", "Again"),
		"1: 0c 1m 0r 0i")
}

// TestIntegrationAddresses validates every URL in deploy/integrations against the OpenAPI
// document, as an API gateway does: the path, and the names and values of the parameters.
func TestIntegrationAddresses(t *testing.T) {
	fx := newFixture(t, nil)
	document := fx.mustSend(200, request{method: "GET", path: fieldmark.PathOpenAPI}, nil).Body.Bytes()
	for _, address := range documentedAddresses(t) {
		validateRequest(t, document, "post", address)
	}
	for _, query := range []string{"mode=group", "mode=alert", "onResolved=keep", "onResolved=cancel", "watchdog=open",
		"priority=HIGH", "priority=P1", "cooldown=15m"} {
		validateRequest(t, document, "post", fieldmark.PathAlerts+"grafana?"+query)
		fx.mustSend(200, request{method: "POST", path: fieldmark.PathAlerts + "grafana?" + query, key: fx.creator,
			body: group("g", "A/none")}, nil)
	}
	for _, query := range []string{"status=NEW&status=CLOSED", "priority=P1", "priority=URGENT"} {
		validateRequest(t, document, "get", fieldmark.PathMissions+"?"+query)
		for _, spelling := range []string{query, strings.ToLower(query)} {
			fx.mustSend(200, request{method: "GET", path: fieldmark.PathMissions + "?" + spelling, key: fx.reader}, nil)
		}
	}
}

// documentedAddresses lists the paths and queries of the API in deploy/integrations.
func documentedAddresses(t testing.TB) (all []string) {
	t.Helper()
	address := regexp.MustCompile(`/api/public/v1/[^\s"'` + "`" + `,)]*`)
	err := filepath.WalkDir(integrations, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all = append(all, address.FindAllString(string(text), -1)...)
		return err
	})
	if err != nil || len(all) < 8 {
		t.Fatalf("addresses in %s: %q, %v", integrations, all, err)
	}
	return all
}

// validateRequest validates the path and query of a request against the document.
func validateRequest(t testing.TB, document []byte, method, address string) {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]struct{ Parameters []struct{ Name, In string } }
	}
	unmarshal(t, document, &doc)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	op, ok := doc.Paths[u.Path][method]
	if !ok {
		t.Errorf("%s %s is not in the document", method, u.Path)
		return
	}
	query := u.Query()
	for i, p := range op.Parameters {
		given := query[p.Name]
		if delete(query, p.Name); p.In != "query" || given == nil {
			continue
		}
		escape := strings.NewReplacer("~", "~0", "/", "~1")
		pointer := fmt.Sprintf("#/paths/%s/%s/parameters/%d/schema", escape.Replace(u.Path), method, i)
		schema := compileSchema(t, "openapi.json", document, pointer)
		var value any = given[0]
		if schema.Types != nil && slices.Contains(schema.Types.ToStrings(), "array") {
			list := make([]any, len(given))
			for i, one := range given {
				list[i] = one
			}
			value = list
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s %s: %s: %v", method, address, p.Name, err)
		}
	}
	if len(query) > 0 {
		t.Errorf("%s %s: %v are not in the document", method, address, query)
	}
}

func unmarshal(t testing.TB, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

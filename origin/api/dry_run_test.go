package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
)

// dryRuns are the writes that take dryRun.
var dryRuns = []string{"openMission", "openMissions", "editMission", "cancelMission", "moveMission", "planMission",
	"addNote", "moveAnyMission", "completeMission", "setPayment", "markPayment", "refundPayment"}

// Every write either has no effect with dryRun=true, or refuses the parameter: a client that asks for a dry run
// never changes anything.
func TestDryRunOfEveryWrite(t *testing.T) {
	fx := newFixture(t, nil)
	url, every := receiver(t), fx.keyWithEveryScopeAndWebhooks()
	all, honored := bodies(url), 0
	for path, methods := range describedOperations(t) {
		for method, op := range methods {
			if method == "get" || op.OperationID == "getScores" { // edges answer it alone, without the origin
				continue
			}
			a := request{method: strings.ToUpper(method), key: every,
				body: strings.ReplaceAll(all[op.OperationID], `"idem"`, `"`+op.OperationID+`"`)}
			if strings.HasPrefix(path, adminPath) {
				a.key = fx.admin
			}
			described := op.takes("dryRun")
			if described != slices.Contains(dryRuns, op.OperationID) {
				t.Errorf("%s describes dryRun: %t", op.OperationID, described)
			}
			if !described {
				a.path = strings.NewReplacer("{", "", "}", "").Replace(path) + "?dryRun=true"
				if strings.HasPrefix(path, fieldmark.PathBrands) || strings.HasPrefix(path, fieldmark.PathClaims) {
					a.key = fx.own(fieldmark.Slug("dry-"+strings.ToLower(op.OperationID)), "Dry").key
				}
				rec := fx.send(a)
				if p := fx.problem(rec); p.Code != fieldmark.CodeInvalidParameter || len(p.Errors) != 1 ||
					p.Errors[0].Pointer != "?dryRun" {
					t.Errorf("%s %s: %d %s, want 400 with ?dryRun", a.method, a.path, rec.Code, rec.Body)
				}
				continue
			}
			honored++
			fx.dryRun(op.OperationID, a, fx.fillPath(path, url))
		}
	}
	if honored != len(dryRuns) {
		t.Errorf("%d writes take dryRun, want %d", honored, len(dryRuns))
	}
}

// dryRun sends a request as a dry run, which must not change a byte of the database, and then in earnest, which
// must have the same response.
func (fx *fixture) dryRun(operation string, a request, path string) {
	t := fx.t
	t.Helper()
	a = a.keyed("dry-" + operation)
	before := storetest.Dump(t, fx.at)
	a.path = path + "?dryRun=true"
	tried := fx.send(a)
	if tried.Code != http.StatusOK || tried.Header().Get(fieldmark.HeaderDryRun) != "true" ||
		tried.Header().Get("Location") != "" || tried.Header().Get("ETag") != "" {
		t.Fatalf("%s dry: %d %v %s", operation, tried.Code, tried.Header(), tried.Body)
	}
	if !bytes.Equal(before, storetest.Dump(t, fx.at)) {
		t.Errorf("%s: a dry run changed the database", operation)
	}
	a.path = path + "?dryRun=false"
	done := fx.send(a)
	if done.Code >= 300 || done.Header().Get(fieldmark.HeaderDryRun) != "" {
		t.Fatalf("%s in earnest: %d %s", operation, done.Code, done.Body)
	}
	if got, want := members(t, tried.Body.Bytes()), members(t, done.Body.Bytes()); !slices.Equal(got, want) {
		t.Errorf("%s dry: %s\nin earnest: %s", operation, tried.Body, done.Body)
	}
	if operation == "openMission" && !strings.Contains(tried.Body.String(), `"id":"msn_dry`) {
		t.Errorf("the id of a mission that does not exist: %s", tried.Body)
	}
}

// members returns the members of a JSON object with their values, but for ids and times.
func members(t testing.TB, body []byte) []string {
	t.Helper()
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	var all []string
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, value := range v {
				walk(at+"/"+name, value)
			}
		case []any:
			for i, value := range v {
				walk(fmt.Sprint(at, "/", i), value)
			}
		case string:
			if strings.HasSuffix(at, "At") || strings.HasSuffix(strings.ToLower(at), "id") ||
				len(v) > 5 && v[4] == '-' {
				v = "*"
			}
			all = append(all, at+"="+v)
		default:
			all = append(all, fmt.Sprint(at, "=", v))
		}
	}
	walk("", v)
	slices.Sort(all)
	return all
}

// A dry run is refused as the request would be, and finds what exists.
func TestDryRunRefusals(t *testing.T) {
	fx := newFixture(t, nil)
	const tried = "?dryRun=true"
	m := fx.createMission("exists")
	same := request{method: "POST", path: fieldmark.PathMissions + tried, key: fx.creator,
		body: fmt.Sprintf(`{"source":%q,"externalId":%q,"title":%q}`, m.Source, m.ExternalID, m.Title)}
	var found fieldmark.Mission
	rec := fx.mustSend(200, same, &found)
	if found.ID != m.ID || rec.Header().Get(fieldmark.HeaderDeduplicated) != "true" {
		t.Errorf("a dry run of the same request: %s, want mission %s", rec.Body, m.ID)
	}
	twice := `{"source":"crm","externalId":"twice","title":"Mast"}`
	var batch fieldmark.BatchReport
	fx.mustSend(200, request{method: "POST", path: fieldmark.PathMissionBatch + tried, key: fx.creator,
		body: `{"missions":[` + twice + `,` + twice + `]}`}, &batch)
	if r := batch.Results; r[0].Mission.ID != r[1].Mission.ID || r[0].Status != 201 || r[1].Status != 200 {
		t.Errorf("a dry run of one mission twice: %+v", r)
	}
	every := fx.keyWithEveryScopeAndWebhooks()
	for _, tt := range []struct {
		method, path, body string
		code               fieldmark.Code
	}{
		{"POST", "", fmt.Sprintf(`{"source":%q,"externalId":%q,"title":"Other"}`, m.Source, m.ExternalID),
			fieldmark.CodeMissionExists},
		{"POST", "", `{"source":"crm"}`, fieldmark.CodeValidationFailed},
		{"POST", "/" + m.ID + "/transitions", `{"status":"CLOSED"}`, fieldmark.CodeInvalidTransition},
		{"POST", "/" + batch.Results[0].Mission.ID + "/cancel", "", fieldmark.CodeNotFound},
		{"POST", "/" + m.ID + "/notes", `{"text":" "}`, fieldmark.CodeValidationFailed},
	} {
		a := request{method: tt.method, path: fieldmark.PathMissions + tt.path + tried, key: every, body: tt.body}
		rec := fx.send(a.keyed("refused"))
		if p := fx.problem(rec); p.Code != tt.code || rec.Header().Get(fieldmark.HeaderReplayed) != "" {
			t.Errorf("%s %s %s: %d %s, want %s", a.method, a.path, a.body, rec.Code, rec.Body, tt.code)
		}
	}
	if n := fx.missions(); n != 1 {
		t.Errorf("%d missions, want 1", n)
	}
}

// Dry runs share transactions with other writes, and leave no gap in the numbers of their events.
func TestDryRunsBetweenWrites(t *testing.T) {
	fx := newFixture(t, nil)
	const n = 40
	var wg sync.WaitGroup
	before, err := fx.store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		for _, query := range []string{"?dryRun=true", ""} {
			a := request{method: "POST", path: fieldmark.PathMissions + query, key: fx.creator,
				body: fmt.Sprintf(`{"source":"crm","externalId":"%d","title":"Mast"}`, i)}
			wg.Go(func() {
				if rec := fx.send(a); rec.Code >= 300 {
					t.Errorf("%s: %d %s", a.path, rec.Code, rec.Body)
				}
			})
		}
	}
	wg.Wait()
	after, err := fx.store.Head(t.Context())
	if err != nil || after-before != n {
		t.Errorf("%d events of %d missions (%v)", after-before, n, err)
	}
	if got := fx.missions(); got != n {
		t.Errorf("%d missions, want %d", got, n)
	}
}

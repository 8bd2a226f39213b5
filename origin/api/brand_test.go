package api_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/studytest"
)

func TestBrandLifecycle(t *testing.T) {
	fx := newFixture(t, nil)
	fx.putBrand("acme")
	var doc struct {
		fieldmark.Brand
		Aliases []fieldmark.Slug `json:"aliases"`
	}
	put := request{method: "PUT", path: adminPath + "brands/acme/aliases", key: fx.admin,
		body: `{"aliases":["anvils"]}`}
	fx.mustSend(200, put, &doc)
	fx.mustSend(200, request{method: "POST", path: adminPath + "brands/acme/rename", key: fx.admin,
		body: `{"slug":"acme-tools"}`},
		&doc)
	for _, slug := range []string{"acme", "anvils", "acme-tools"} {
		fx.mustSend(200, request{method: "GET", path: adminPath + "brands/" + slug, key: fx.admin}, &doc)
		if doc.Slug != "acme-tools" || len(doc.Aliases) != 2 {
			t.Errorf("%s: %+v", slug, doc)
		}
	}
	// A PUT accepts the body of a GET.
	read := fx.mustSend(200, request{method: "GET", path: adminPath + "brands/acme-tools", key: fx.admin},
		nil).Body.String()
	fx.mustSend(200, request{method: "PUT", path: adminPath + "brands/acme-tools", key: fx.admin, body: read}, nil)

	for _, tt := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "brands/acme-tools/rename", `{"slug":"Not one"}`, 422},
		{"POST", "brands/acme-tools/rename", `{"slug":"anvils"}`, 200}, // its own alias
		{"POST", "brands/nobody/rename", `{"slug":"x"}`, 404},
		{"PUT", "brands/anvils", `{"name":"A","url":"https://a.example/","niche":"a","language":"en"}`, 200},
		{"PUT", "brands/acme", `{"name":"A","url":"https://a.example/","niche":"a","language":"en"}`, 409},
		{"PUT", "brands/anvils/aliases", `{"aliases":["anvils"]}`, 422},
		{"PUT", "brands/anvils/aliases", `{}`, 422},
		{"DELETE", "brands/nobody", "", 404},
		{"DELETE", "brands/anvils", "", 204},
		{"GET", "brands/acme", "", 404},
	} {
		rec := fx.send(request{method: tt.method, path: adminPath + tt.path, key: fx.admin, body: tt.body})
		if rec.Code != tt.status {
			t.Errorf("%s %s %s: %d %s, want %d", tt.method, tt.path, tt.body, rec.Code, rec.Body, tt.status)
		}
	}
	if rec := fx.send(request{method: "DELETE", path: adminPath + "brands/acme", key: fx.reader}); rec.Code != 403 {
		t.Errorf("without the scope: %d", rec.Code)
	}
}

func TestVisibilityImport(t *testing.T) {
	fx := newFixture(t, nil)
	fx.putBrand("acme")
	path := adminPath + "visibility/import"
	today := time.Now().UTC().Format(time.DateOnly)
	record := `{"brand":"acme","engine":"chatgpt","surface":"api","locale":"en","promptSetId":"s",` +
		`"promptSetHash":"sha256:` + strings.Repeat("0a", 32) +
		`","prompts":20,"runs":5,"answers":100,"mentions":40,"cited":80,"citations":20,"voices":90,"from":"` + today +
		`","to":"` + today + `","provider":"us"}`
	var report fieldmark.VisibilityImport
	fx.mustSend(200, request{method: "POST", path: path, key: fx.admin,
		body: "[" + record + "," + strings.Replace(record,
			`"mentions":40`, `"mentions":400`, 1) + "]"}, &report)
	if report.Added != 1 || len(report.Rejected) == 0 || report.Rejected[0].Pointer != "/1/mentions" ||
		report.FileHash == "" {
		t.Errorf("JSON: %+v", report)
	}
	csv := "brand,engine,surface,locale,promptSetId,promptSetHash,prompts,runs,answers,mentions,cited,citations," +
		"voices,from,to,provider\n" +
		"acme,claude,app,de-at,s,sha256:" + strings.Repeat("0a",
		32) + ",20,5,100,40,80,20,90," + today + "," + today + ",us\nacme,claude\n"
	report = fieldmark.VisibilityImport{}
	fx.mustSend(200, request{method: "POST", path: path, key: fx.admin, body: csv,
		header: map[string]string{"Content-Type": "text/csv; charset=utf-8"}}, &report)
	if report.Added != 1 || len(report.Rejected) != 1 || report.Rejected[0].Pointer != "/3" {
		t.Errorf("CSV: %+v", report)
	}
	for _, tt := range []struct {
		kind, body string
		status     int
	}{
		{"application/json", `{}`, 422}, {"application/json", `[{"rocket":1}]`, 422}, {"application/json",
			`[{"answers":"x"}]`, 422},
		{"text/csv", "rocket\n", 422}, {"text/plain", "brand\n", 415},
	} {
		rec := fx.send(request{method: "POST", path: path, key: fx.admin, body: tt.body,
			header: map[string]string{"Content-Type": tt.kind}})
		if rec.Code != tt.status {
			t.Errorf("%s %s: %d %s, want %d", tt.kind, tt.body, rec.Code, rec.Body, tt.status)
		}
	}
}

// TestStudyImport: a study is taken with Content-Encoding: gzip too, and names the brands that are not known.
func TestStudyImport(t *testing.T) {
	fx := newFixture(t, nil)
	fx.putBrand("acme")
	var file bytes.Buffer
	w := gzip.NewWriter(&file)
	_, err := w.Write([]byte(studytest.CSV(studytest.New("ropes", "one", time.Now().UTC(), "acme", "nobody"))))
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	for i, encoding := range []string{"gzip", ""} {
		var report fieldmark.VisibilityImport
		header := map[string]string{"Content-Type": "text/csv"}
		if encoding != "" {
			header["Content-Encoding"] = encoding
		}
		fx.mustSend(200, request{method: "POST", path: adminPath + "visibility/import", key: fx.admin,
			body: file.String(), header: header}, &report)
		if report.Added != 1-i || report.Unchanged != i || len(report.Warnings) != 1 ||
			!strings.Contains(report.Warnings[0].Detail, "nobody") {
			t.Errorf("%q: %+v", encoding, report)
		}
	}
	rec := fx.send(request{method: "POST", path: adminPath + "visibility/import", key: fx.admin, body: file.String(),
		header: map[string]string{"Content-Type": "text/csv", "Content-Encoding": "br"}})
	if rec.Code != 415 {
		t.Errorf("br: %d, want 415", rec.Code)
	}
}

func TestBrandHistory(t *testing.T) {
	fx := newFixture(t, nil)
	fx.putBrand("acme")
	facts := fieldmark.Facts{Version: fieldmark.FactsVersion, URL: "https://acme.example/", Pages: 1,
		AsOf: fieldmark.At(time.Now().Add(-time.Hour))}
	if _, err := fx.service.Brands.PutFacts(t.Context(), "acme", facts); err != nil {
		t.Fatal(err)
	}
	base := fieldmark.PathInternalFacts + "/acme"
	var state fieldmark.BrandState
	fx.mustSend(200, request{method: "GET", path: base + "?asOf=" + time.Now().UTC().Format(time.RFC3339),
		key: nodeToken}, &state)
	digest, err := facts.Digest()
	if err != nil || state.FactsDigest != digest {
		t.Errorf("as of now: %+v, %v; want %s", state, err, digest)
	}
	state = fieldmark.BrandState{}
	fx.mustSend(200, request{method: "GET", path: base + "?asOf=2000-01-01T00:00:00Z", key: nodeToken}, &state)
	if state.Facts != nil {
		t.Errorf("as of then: %+v", state)
	}
	var h fieldmark.BrandHistory
	rec := fx.mustSend(200, request{method: "GET", path: base + "/history?from=2000-01-01T00:00:00Z", key: nodeToken},
		&h)
	if len(h.Revisions) != 1 || rec.Header().Get(fieldmark.HeaderAsOf) == "" || h.Studies != nil {
		t.Errorf("history %+v as of %q", h, rec.Header().Get(fieldmark.HeaderAsOf))
	}
	fx.checkStudies(base)
	for path, want := range map[string]int{
		base + "/" + string(digest): 200, base + "/sha256:" + strings.Repeat("0", 64): 404, base + "/x": 404,
		fieldmark.PathInternalFacts + "/nobody/" + string(digest): 404, base + "?asOf=x": 400,
		base + "/history?to=x":                          400,
		fieldmark.PathInternalFacts + "/nobody/history": 404, fieldmark.PathInternalFacts +
			"/nobody?asOf=2000-01-01T00:00:00Z": 404,
	} {
		if rec := fx.send(request{method: "GET", path: path, key: nodeToken}); rec.Code != want {
			t.Errorf("%s: %d, want %d", path, rec.Code, want)
		}
	}
}

// checkStudies: the studies of a history are the newest that ended in its period, and say what changed since the one
// before of the same engine and locale.
func (fx *fixture) checkStudies(base string) {
	fx.t.Helper()
	now := time.Now().UTC()
	// More than a history has: the first two, of which the second has another model, are left out in the end.
	for i := range fieldmark.MaxHistoryStudies + 2 {
		one := studytest.New(fmt.Sprintf("ropes-%02d", i), "one", now.AddDate(0, 0, i-30), "acme", "other")
		one.Model = "m-" + strconv.Itoa(min(i, 1))
		switch i {
		case 2:
			one.PanelHash = fieldmark.Digest(strings.Replace(studytest.Hash, "0a", "0b", 1))
		case 3:
			one.Search = "off"
		case 4: // another locale, of which nothing is before it
			one.Locale, one.PromptSet = "en", "ropes-en"
		}
		file := studytest.CSV(one)
		fx.mustSend(200, request{method: "POST", path: adminPath + "visibility/import", key: fx.admin, body: file,
			header: map[string]string{"Content-Type": "text/csv"}}, nil)
	}
	read := func(to time.Time) (lines []string) {
		var h fieldmark.BrandHistory
		fx.mustSend(200, request{method: "GET", key: nodeToken, path: base + "/history?from=2000-01-01T00:00:00Z&to=" +
			to.Format(time.RFC3339)}, &h)
		for _, p := range h.Studies {
			for _, e := range p.Engines {
				if e.MentionRate == nil || e.CitationRate == nil {
					fx.t.Errorf("%s: %+v without rates", p.ID, e)
				}
				lines = append(lines, strings.TrimSpace(fmt.Sprintln(p.ID, p.Locale, e.Engine, e.Model, e.Changed)))
			}
		}
		return lines
	}
	early := []string{"ropes-00 de-AT one m-0 []", "ropes-01 de-AT one m-1 [model]", "ropes-02 de-AT one m-1 [panel]",
		"ropes-03 de-AT one m-1 [search panel]", "ropes-04 en one m-1 []", "ropes-05 de-AT one m-1 [search]"}
	// The history ends at noon of the day on which the last study ends.
	noon := now.AddDate(0, 0, 5-30).Truncate(24 * time.Hour).Add(12 * time.Hour)
	if diff := cmp.Diff(early, read(noon)); diff != "" {
		fx.t.Errorf("studies (-want +got):\n%s", diff)
	}
	all := read(now)
	// As many as fit of the first locale, and the only one of the other.
	if len(all) != fieldmark.MaxHistoryStudies+1 || all[0] != "ropes-01 de-AT one m-1 []" {
		fx.t.Errorf("%d studies, the first is %v; want the newest %d of each locale", len(all), all[0],
			fieldmark.MaxHistoryStudies)
	}
}

// openDispute audits a new brand and opens a dispute of one of its findings.
func (fx *fixture) openDispute(slug fieldmark.Slug) (d fieldmark.DisputeStatus) {
	fx.t.Helper()
	fx.putBrand(slug)
	facts := fieldmark.Facts{Version: fieldmark.FactsVersion, URL: "https://acme.example/", Pages: 1,
		AsOf: fieldmark.At(time.Now())}
	if _, err := fx.service.Brands.PutFacts(fx.t.Context(), slug, facts); err != nil {
		fx.t.Fatal(err)
	}
	fx.mustSend(201, request{method: "POST", path: fieldmark.PathBrands + string(slug) + "/disputes",
		body: dispute}, &d)
	return d
}

const dispute = `{"signal":"access.https","kind":"wrong","text":"Our site has redirected since March.",` +
	`"email":"web@acme.example"}`

func TestDisputes(t *testing.T) {
	fx := newFixture(t, nil)
	d := fx.openDispute("acme")
	public := fieldmark.PathBrands + "acme/disputes"
	one := adminPath + "disputes/" + d.ID
	for _, tt := range []struct {
		method, path, key, body string
		status                  int
		want                    string // part of the response
	}{
		{"POST", public, "", dispute, 409, `"code":"dispute_exists"`},
		{"POST", public, "", `{"signal":"x","kind":"wrong","text":"short","email":"x"}`, 422, `"/email"`},
		{"POST", public, "", `{"signal":"x","kind":"wrong","text":"short","email":"x"}`, 422, `"/text"`},
		{"POST", public, "", strings.Replace(dispute, "access.https", "manipulation", 1), 422, `"/signal"`},
		{"POST", public, "", strings.Replace(dispute, `"kind"`, `"sort"`, 1), 422, `"unknown_field"`},
		{"POST", fieldmark.PathBrands + "nobody/disputes", "", dispute, 404, `"code":"not_found"`},
		{"GET", public, "", "", 200, d.ID},
		{"GET", public + "/" + d.ID, "", "", 200, `"state":"open"`},
		{"GET", public + "/dsp_x", "", "", 404, `"code":"not_found"`},
		{"GET", one, "", "", 401, ""},
		{"GET", one, fx.reader, "", 403, ""},
		{"GET", one, fx.admin, "", 200, "web@acme.example"},
		{"GET", adminPath + "disputes?brand=acme", fx.admin, "", 200, d.ID},
		{"GET", adminPath + "disputes?state=upheld", fx.admin, "", 200, `"data":[]`},
		{"GET", adminPath + "disputes?cursor=x", fx.admin, "", 400, ""},
		{"GET", adminPath + "brands/acme/suspicions", fx.reader, "", 403, ""},
		{"GET", adminPath + "brands/acme/suspicions", fx.admin, "", 200, `"suspicions":[]`},
		{"POST", one + "/decision", fx.admin, `{"state":"open","answer":""}`, 422, `"/state"`},
		{"POST", one + "/decision", fx.admin, `{"state":"upheld","answer":"You are right."}`, 200, `"decidedBy":"key_`},
		{"POST", one + "/decision", fx.admin, `{"state":"upheld","answer":"Again."}`, 409, `"code":"dispute_decided"`},
		{"GET", public + "/" + d.ID, "", "", 200, `"answer":"You are right."`},
		{"GET", public, "", "", 200, `"data":[]`},
	} {
		rec := fx.send(request{method: tt.method, path: tt.path, key: tt.key, body: tt.body})
		if rec.Code != tt.status || !strings.Contains(rec.Body.String(), tt.want) {
			t.Errorf("%s %s %s: %d %s; want %d with %s", tt.method, tt.path, tt.body, rec.Code, rec.Body, tt.status,
				tt.want)
		}
		if tt.key == "" && strings.Contains(rec.Body.String(), "acme.example") {
			t.Errorf("%s %s names the sender: %s", tt.method, tt.path, rec.Body)
		}
	}
}

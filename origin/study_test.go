package origin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/studytest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/visibility"
	"github.com/fieldmark/fieldmark/origin/visibility/study"
)

func importStudy(t testing.TB, w *fixture, d *study.Document) (fieldmark.VisibilityImport, error) {
	t.Helper()
	body, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return w.Visibility.ImportFile(t.Context(), "key_1", body, false)
}

func mustImportStudy(t testing.TB, w *fixture, d *study.Document) fieldmark.VisibilityImport {
	t.Helper()
	report, err := importStudy(t, w, d)
	if err != nil {
		t.Fatalf("%v %v", err, fieldmark.AsError(err).Fields)
	}
	return report
}

// TestImportStudy: a study is stored once, corrected by its digest, and its results belong to brands.
func TestImportStudy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		putBrand(t, w, acme)
		ropes := acme
		ropes.Slug, ropes.URL = "ropes", "https://ropes.example/"
		putBrand(t, w, ropes)
		end := time.Now().UTC()
		before := w.head(t)
		d := studytest.New("november", "one", end, "acme", "ropes", "nobody")
		report := mustImportStudy(t, w, d)
		if report.Added != 1 || len(report.Warnings) != 1 || !strings.Contains(report.Warnings[0].Detail, "nobody") ||
			w.types(t, before) != "brand.sampled brand.sampled visibility.study" {
			t.Fatalf("report %+v, events %s", report, w.types(t, before))
		}
		if report = mustImportStudy(t, w, d); report.Unchanged != 1 || report.Added != 0 || w.head(t) != before+3 {
			t.Errorf("the same again: %+v", report)
		}
		state, _, err := w.Brands.State(t.Context(), "acme")
		if err != nil || len(state.Studies) != 1 || len(state.Studies[0].All.Brands) != 1 ||
			state.Studies[0].All.Brands[0].MentionRate.Of != 280 || len(state.Studies[0].Engines) != 1 {
			t.Fatalf("state %+v, %v", state.Studies, err)
		}
		first := state.Studies[0]

		d.Cells[0].Cited = 1
		if _, err = importStudy(t, w, d); fieldmark.AsError(err).Fields[0].Code != "conflict" {
			t.Errorf("other counts: %v, want a conflict", err)
		}
		d.Replaces = first.Documents[0]
		mustImportStudy(t, w, d)
		mustImportStudy(t, w, studytest.New("november", "two", end, "acme", "ropes", "nobody"))
		other := studytest.New("november", "three", end, "acme", "ropes")
		other.PanelHash = "sha256:" + fieldmark.Digest(strings.Repeat("0b", 32))
		if _, err := importStudy(t, w, other); fieldmark.AsError(err).Fields[0].Code != "mismatch" {
			t.Errorf("an engine with another panel: %v, want a mismatch", err)
		}
		state, _, err = w.Brands.State(t.Context(), "acme")
		if err != nil || len(state.Studies[0].Engines) != 2 || state.Studies[0].All.Answers != 560 {
			t.Errorf("of two engines: %+v, %v", state.Studies, err)
		}
		for digest, engines := range map[fieldmark.Digest]int{first.Digest: 1, state.Studies[0].Digest: 2,
			first.Documents[0]: 1} {
			if rows, err := w.Visibility.Documents(t.Context(), digest); err != nil || len(rows.Documents) != engines {
				t.Errorf("rows of %s: %d documents, %v; want %d", digest, len(rows.Documents), err, engines)
			}
		}
		if err := w.Brands.Delete(t.Context(), "ropes"); err != nil {
			t.Fatal(err)
		}
		later := end.AddDate(0, 0, 7)
		time.Sleep(later.Sub(end))
		changed := studytest.New("december", "one", later, "acme", "ropes")
		changed.PromptSetHash = "sha256:" + fieldmark.Digest(strings.Repeat("0b", 32))
		if _, err := importStudy(t, w, changed); err == nil ||
			fieldmark.AsError(err).Fields[0].Pointer != "/promptSetHash" {
			t.Errorf("other prompts under the id of a set: %v, want a conflict", err)
		}
		mustImportStudy(t, w, studytest.New("december", "one", later, "acme", "ropes"))
		if state, _, _ = w.Brands.State(t.Context(), "acme"); state.Studies[0].ID != "december" {
			t.Errorf("newest study %s, want december", state.Studies[0].ID)
		}
	})
}

// TestVisibilityChanged: a brand that every answer names a week later receives one event.
func TestVisibilityChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		putBrand(t, w, acme)
		_, err := w.Webhooks.CreateEndpoint(t.Context(), access.DefaultAccount, fieldmark.EndpointRequest{
			URL: "https://127.0.0.1/", Events: []string{string(fieldmark.EventVisibilityChanged)},
			EndpointSettings: fieldmark.EndpointSettings{Brands: []fieldmark.Slug{"acme"}}})
		if err != nil {
			t.Fatal(err)
		}
		end := time.Now().UTC()
		mustImportStudy(t, w, studytest.New("november", "one", end, "other", "third", "acme"))
		later := end.AddDate(0, 0, 7)
		time.Sleep(later.Sub(end))
		d := studytest.New("december", "one", later, "other", "third", "acme")
		var counts []study.Count
		for _, c := range d.Counts {
			if c.Brand != "acme" {
				counts = append(counts, c)
			}
		}
		for _, c := range d.Cells {
			counts = append(counts, study.Count{Brand: "acme", Prompt: c.Prompt, Day: c.Day, Mentions: 1})
		}
		d.Counts = counts
		mustImportStudy(t, w, d)
		sent := w.sentTo(t, access.DefaultAccount, fieldmark.EventVisibilityChanged)
		var c fieldmark.VisibilityChange
		if len(sent) != 1 || json.Unmarshal(sent[0], &c) != nil || c.Cause != "brand" || c.To != 1000 ||
			c.Change.Low <= 0 {
			t.Errorf("events %s, want one with the cause brand", sent)
		}
	})
}

// together starts functions while another transaction holds the lock of writers, as simultaneous requests of several
// origins: each of them has read what it reads outside of its transaction before any of them writes. It returns
// when all of them wait again or have ended.
func (w *fixture) together(t testing.TB, all *sync.WaitGroup, fns ...func()) {
	t.Helper()
	release := make(chan struct{})
	all.Go(func() {
		if err := w.Store.Write(t.Context(), func(context.Context, *store.Tx) error {
			<-release
			return nil
		}); err != nil {
			t.Error(err)
		}
	})
	synctest.Wait()
	for _, fn := range fns {
		all.Go(fn)
	}
	synctest.Wait()
	close(release)
	synctest.Wait()
}

// runTogether runs services, each of which acts as another origin, until they have done what they do at the start.
func (w *fixture) runTogether(t testing.TB, services ...*visibility.Service) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var fns []func()
	for _, s := range services {
		fns = append(fns, func() {
			if err := s.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	w.together(t, &all, fns...)
	cancel()
	all.Wait()
}

// another returns a service on the same database, as another origin has it, that computes only results.
func (w *fixture) another() *visibility.Service {
	return visibility.New(visibility.Config{Store: w.Store, Jobs: job.NewRunner(w.Store, slog.New(slog.NewTextHandler(
		w.Log, nil)))})
}

// setMethod sets the version of the method that this process computes, until the test ends.
func setMethod(t testing.TB, version string) {
	before := fieldmark.VisibilityMethodology.Version
	t.Cleanup(func() { fieldmark.VisibilityMethodology.Version = before })
	fieldmark.VisibilityMethodology.Version = version
}

// methodOf returns the version of the method of the newest result.
func (w *fixture) methodOf(t testing.TB) string {
	t.Helper()
	r, err := w.Visibility.Newest(t.Context(), "ropes", "")
	if err != nil {
		t.Fatal(err)
	}
	return r.Methodology.Version
}

// putBrands puts public brands by slug, each at its own site.
func putBrands(t testing.TB, w *fixture, slugs ...string) {
	t.Helper()
	for _, slug := range slugs {
		b := acme
		b.Slug, b.URL = fieldmark.Slug(slug), "https://"+slug+".example/"
		putBrand(t, w, b)
	}
}

// rankedSlugs are the brands of a study that can be ranked.
func rankedSlugs() (slugs []string) {
	for i := range fieldmark.MinVisibilityBrands {
		slugs = append(slugs, fmt.Sprintf("brand-%02d", i))
	}
	return slugs
}

// TestRecomputeOnce: after a new version of the method, all origins together publish each study once, and an origin
// that still has an older version leaves what a newer one computed.
func TestRecomputeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		slugs := rankedSlugs()
		putBrands(t, w, slugs...)
		setMethod(t, "9.0")
		mustImportStudy(t, w, studytest.New("november", "one", time.Now().UTC(), slugs...))
		setMethod(t, "10.0")
		before := w.head(t)
		w.runTogether(t, w.another(), w.another(), w.another())
		want := strings.Repeat("brand.sampled ", len(slugs)) + "visibility.study"
		if got := w.types(t, before); got != want || w.methodOf(t) != "10.0" {
			t.Errorf("three origins with 10.0: method %s, events %q; want one of each brand and one of the study",
				w.methodOf(t), got)
		}
		setMethod(t, "9.0")
		before = w.head(t)
		w.runTogether(t, w.another())
		if got := w.types(t, before); got != "" || w.methodOf(t) != "10.0" {
			t.Errorf("an origin with 9.0: method %s, events %q; want the result of 10.0 unchanged", w.methodOf(t), got)
		}
	})
}

// TestRecomputeGoesOn: a study that an import changes meanwhile does not keep the others from being recomputed.
func TestRecomputeGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next, cfg := hooked(t)
		w := openFixture(t, cfg)
		putBrands(t, w, "acme", "ropes")
		setMethod(t, "1.0")
		end := time.Now().UTC()
		first := studytest.New("first", "one", end, "acme", "ropes")
		mustImportStudy(t, w, first)
		mustImportStudy(t, w, studytest.New("second", "one", end, "acme", "ropes"))
		setMethod(t, "2.0")
		stored, err := w.Store.Studies(t.Context(), "first")
		if err != nil {
			t.Fatal(err)
		}
		first.Cells[0].Cited, first.Replaces = 1, stored[0].Digest
		imported := false
		*next = func() { // the list of studies was read
			*next = func() { // the documents of the first one were read
				_, err := importStudy(t, w, first)
				imported = err == nil
			}
		}
		service := w.another()
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if err := service.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		cancel()
		all.Wait()
		if ids, err := w.Store.OutdatedStudies(t.Context(), "2.0"); err != nil || len(ids) > 0 || !imported {
			t.Errorf("results of the older method: %v, %v, imported %v; want none", ids, err, imported)
		}
	})
}

// TestValidityOnce: origins that compute the validity at once publish it once.
func TestValidityOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		slugs := rankedSlugs()
		putBrands(t, w, slugs...)
		mustImportStudy(t, w, studytest.New("november", "one", time.Now().UTC(), slugs...))
		before := w.head(t)
		var services []*visibility.Service
		for range 3 {
			services = append(services, visibility.New(visibility.Config{Store: w.Store,
				Jobs: job.NewRunner(w.Store, slog.New(slog.NewTextHandler(w.Log, nil))),
				Score: func(context.Context, *fieldmark.BrandState, time.Time) (fieldmark.Score, error) {
					return fieldmark.Score{Assessment: fieldmark.Assessment{Module: moduleRef}}, nil
				}}))
		}
		w.runTogether(t, services...)
		if got := w.types(t, before); got != "validity.published" {
			t.Errorf("events %q, want one validity.published", got)
		}
	})
}

// TestImportsOfOnePromptSet: of two studies that are imported at once with other prompts under one id of a set, one
// is refused.
func TestImportsOfOnePromptSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		putBrands(t, w, "acme", "ropes")
		end := time.Now().UTC()
		one := studytest.New("one", "one", end, "acme", "ropes")
		other := studytest.New("other", "one", end, "acme", "ropes")
		other.PromptSetHash = "sha256:" + fieldmark.Digest(strings.Repeat("0b", 32))
		var errs [2]error
		var all sync.WaitGroup
		w.together(t, &all, func() { _, errs[0] = importStudy(t, w, one) },
			func() { _, errs[1] = importStudy(t, w, other) })
		all.Wait()
		failed := errs[0]
		if failed == nil {
			failed = errs[1]
		}
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Fatalf("%v, %v; want one import refused", errs[0], errs[1])
		}
		wantFields(t, "the later import", failed, "/promptSetHash")
	})
}

func TestUnpack(t *testing.T) {
	for name, file := range map[string]string{"no gzip": "\x1f\x8bx",
		"cut": "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\x4b"} {
		if _, err := visibility.Unpack([]byte(file)); !fieldmark.IsCode(err, fieldmark.CodeValidationFailed) {
			t.Errorf("%s: %v, want a validation error", name, err)
		}
	}
}

// TestValidity: the document is computed after an import, from facts before the study, and is stored once. The
// operator's endpoint receives both events.
func TestValidity(t *testing.T) {
	var received sync.Map // by type of event
	r := receive(t, func(rw http.ResponseWriter, r *http.Request) {
		var e fieldmark.Envelope
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
			t.Error(err)
		}
		received.Store(e.Type, e.Data)
		rw.WriteHeader(http.StatusNoContent)
	})
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		createEndpoint(t, w, r.URL, string(fieldmark.EventVisibilityStudy), "validity.*")
		if v, err := w.Visibility.Validity(t.Context()); err != nil || v.AsOf != nil || v.MinBrands != 30 {
			t.Fatalf("without studies: %+v, %v", v, err)
		}
		scored := 0
		service := visibility.New(visibility.Config{Store: w.Store, Jobs: job.NewRunner(w.Store, slog.Default()),
			Score: func(_ context.Context, state *fieldmark.BrandState, at time.Time) (fieldmark.Score, error) {
				scored++
				value := fieldmark.Milli(state.Facts.Facts[0].Value)
				return fieldmark.Score{Assessment: fieldmark.Assessment{Score: &value, Module: moduleRef,
					FactsDigest: state.FactsDigest}}, nil
			}})
		var names []string
		for i := range 32 {
			b := acme
			b.Slug, b.URL = fieldmark.Slug(fmt.Sprintf("brand-%02d", i)), fmt.Sprintf("https://b%d.example/", i)
			putBrand(t, w, b)
			names = append(names, string(b.Slug))
			if i == 31 {
				continue // without facts
			}
			_, err := w.Brands.PutFacts(t.Context(), b.Slug, fieldmark.Facts{Version: fieldmark.FactsVersion,
				URL: b.URL, Pages: 1, AsOf: fieldmark.At(time.Now()), Facts: []fieldmark.Fact{{ID: "home.reachable",
					State: fieldmark.Measured, Unit: "bool", Value: int64(1000 - 10*i)}}})
			if err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(8 * 24 * time.Hour)
		body, err := json.Marshal(studytest.New("november", "one", time.Now().UTC(), names...))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := service.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		links := fieldmark.ProxyVariable{Values: []fieldmark.ProxyValue{{Brand: "unknown", Value: 7}}}
		for i, name := range names {
			links.Values = append(links.Values, fieldmark.ProxyValue{Brand: fieldmark.Slug(name), Value: int64(i)})
		}
		if report, err := service.PutProxy(t.Context(), "links", links); err != nil || report.Added != 32 ||
			len(report.Warnings) != 1 || report.Warnings[0].Pointer != "/values/0/brand" {
			t.Errorf("a proxy variable: %+v, %v", report, err)
		}
		links.Values[0] = links.Values[1]
		if _, err := service.PutProxy(t.Context(), "links", links); !fieldmark.IsCode(err,
			fieldmark.CodeValidationFailed) {
			t.Errorf("two values of a brand: %v, want a validation error", err)
		}
		before := w.head(t)
		if _, err := service.ImportFile(t.Context(), "key_1", body, false); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		v, err := service.Validity(t.Context())
		if err != nil || v.Brands != 31 || scored != 31 || len(v.Lines) != 1 || v.Lines[0].Mention.Low < 500 ||
			!strings.HasSuffix(w.types(t, before), "validity.published") {
			t.Errorf("after the import: %+v, %d scored, %v, events %s", v, scored, err, w.types(t, before))
		}
		if p := v.Lines[0].Mention.Proxies; len(p) != 1 || p[0].Name != "links" || p[0].Brands != 31 ||
			p[0].Line == nil || *p[0].Line != -1000 {
			t.Errorf("by links, which fall with the score: %+v", p)
		}
		// The module was uploaded before the study began: all of it is held out by time.
		if f := v.HeldOut; f == nil || f.Basis != "held_out" || f.Brands != 31 || f.Tau == nil || *f.Low < 500 {
			t.Errorf("held out: %+v, want the 31 brands", f)
		}
		if status, err := w.Modules.Status(t.Context()); err != nil || status.HeldOut == nil {
			t.Errorf("status of the module: %+v, %v; want what was held out", status, err)
		}
		reverse := func(_ context.Context, module int, f *fieldmark.Facts, at time.Time) (*fieldmark.Milli, error) {
			return new(fieldmark.Milli(f.Facts[0].Value * int64(1-2*module))), nil
		}
		both, err := service.Foretell(t.Context(), time.Now(), reverse)
		if err != nil || len(both) != 2 || both[0].Against == nil || *both[0].Tau != -both[0].Against.Tau ||
			both[0].Brands != 31 || both[1].Brands != 0 || both[1].Tau != nil {
			t.Errorf("a module that reverses the order: %+v, %v", both, err)
		}
		head := w.head(t)
		time.Sleep(25 * time.Hour)
		if synctest.Wait(); scored != 62 || w.head(t) != head {
			t.Errorf("a day later: %d scored, %d events; want the same document once", scored, w.head(t)-head)
		}
		cancel()
		wg.Wait()
		stop := w.run(t)
		waittest.Until(t, "both events are delivered", allDone(w, t))
		stop()
		if n := r.got.Load(); n != 2 {
			t.Fatalf("%d messages, want 2", n)
		}
		var notice fieldmark.StudyNotice
		if data, _ := received.Load(fieldmark.EventVisibilityStudy); json.Unmarshal(data.(json.RawMessage), &notice) !=
			nil || notice.Study != "november" || notice.Brands != 32 || notice.Reason != "" {
			t.Errorf("of the study: %s", data)
		}
		var published fieldmark.ValidityNotice
		if data, _ := received.Load(fieldmark.EventValidityPublished); json.Unmarshal(data.(json.RawMessage),
			&published) != nil || published.Digest != v.Digest || published.Brands != 31 || published.Studies != 1 {
			t.Errorf("of the validity: %s", data)
		}
		if r, err := w.Visibility.Newest(t.Context(), "ropes", ""); err != nil || r.ID != "november" {
			t.Errorf("the newest study: %s, %v", r.ID, err)
		}
		time.Sleep(fieldmark.VisibilityWithin)
		if r, err := w.Visibility.Newest(t.Context(), "ropes", ""); !fieldmark.IsCode(err, fieldmark.CodeNotFound) {
			t.Errorf("a study of more than 35 days is listed: %s, %v", r.ID, err)
		}
	})
}

// TestProxyVariables: their number and their values are limited, a variable without values is deleted, and values
// follow their brand when it is renamed or deleted.
func TestProxyVariables(t *testing.T) {
	w := newFixture(t)
	putBrand(t, w, acme)
	put := func(name string, values ...fieldmark.ProxyValue) error {
		_, err := w.Visibility.PutProxy(t.Context(), fieldmark.Slug(name), fieldmark.ProxyVariable{Values: values})
		return err
	}
	stored := func() map[string]map[fieldmark.Slug]int64 {
		all, err := w.Store.ProxyVariables(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	value := fieldmark.ProxyValue{Brand: acme.Slug, Value: fieldmark.MaxProxyValue}
	for i := range fieldmark.MaxProxies {
		if err := put(fmt.Sprint("variable-", i), value); err != nil {
			t.Fatal(err)
		}
	}
	wantCode(t, "one more variable", put("more", value), fieldmark.CodeTooMany)
	wantFields(t, "too large", put("variable-0", fieldmark.ProxyValue{Brand: acme.Slug, Value: value.Value + 1}),
		"/values/0/value")
	wantFields(t, "too many brands", put("variable-0", make([]fieldmark.ProxyValue, fieldmark.MaxProxyValues+1)...),
		"/values")
	for _, err := range []error{put("variable-0", fieldmark.ProxyValue{Brand: acme.Slug, Value: 3}), put("variable-1"),
		put("more", value)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if all := stored(); len(all) != fieldmark.MaxProxies || all["variable-0"][acme.Slug] != 3 ||
		all["variable-1"] != nil {
		t.Errorf("replaced, deleted and added: %v", all)
	}
	if _, err := w.Brands.Rename(t.Context(), acme.Slug, "renamed"); err != nil {
		t.Fatal(err)
	}
	if all := stored(); len(all["more"]) != 1 || all["more"]["renamed"] != value.Value {
		t.Errorf("after the brand was renamed: %v", all)
	}
	if err := put("more", fieldmark.ProxyValue{Brand: acme.Slug, Value: 5}); err != nil {
		t.Fatal(err)
	}
	if all := stored(); all["more"]["renamed"] != 5 {
		t.Errorf("by the former slug: %v", all)
	}
	if err := w.Brands.Delete(t.Context(), "renamed"); err != nil {
		t.Fatal(err)
	}
	if all := stored(); len(all) != 0 {
		t.Errorf("after the brand was deleted: %v", all)
	}
	// A brand that is deleted during an import leaves no value: the slugs after its own are looked up meanwhile.
	putBrand(t, w, acme)
	values := []fieldmark.ProxyValue{value}
	for i := range 1000 {
		values = append(values, fieldmark.ProxyValue{Brand: fieldmark.Slug(fmt.Sprint("unknown-", i))})
	}
	imported := make(chan error, 1)
	go func() { imported <- put("links", values...) }()
	if err := w.Brands.Delete(t.Context(), acme.Slug); err != nil {
		t.Fatal(err)
	}
	if err := <-imported; err != nil {
		wantCode(t, "a brand is deleted meanwhile", err, fieldmark.CodeVersionMismatch)
	}
	if all := stored(); len(all) != 0 {
		t.Errorf("values of a brand that was deleted during the import: %v", all)
	}
}

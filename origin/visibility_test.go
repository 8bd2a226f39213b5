package origin_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/brand"
)

const sampleHeader = "brand,engine,model,surface,locale,promptSetId,promptSetHash,prompts,brandedPrompts," +
	"runs,answers,mentions,cited,citations,voices,graded,right,from,to,provider,aliasRule\n"

var goodSample = "acme,chatgpt,m1,api,en,set-1,sha256:" + strings.Repeat("0a", 32) +
	",20,0,5,100,40,80,20,90,30,27,2000-01-01,2000-01-01,in-house,"

func importCSV(t testing.TB, w *fixture, file string) fieldmark.VisibilityImport {
	t.Helper()
	lines, err := brand.ParseSamplesCSV([]byte(file))
	if err != nil {
		t.Fatalf("read %q: %v", file, err)
	}
	report, err := w.Brands.Samples.Import(t.Context(), "key_1", "sha256:f", lines)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestImportVisibility(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // it is 2000-01-01
		w := newFixture(t)
		putBrand(t, w, acme)
		before := w.head(t)
		report := importCSV(t, w, sampleHeader+goodSample+"\n"+strings.Replace(goodSample, "chatgpt", "claude", 1))
		if report.Added != 2 || report.Rejected != nil || w.types(t, before) != "brand.sampled" {
			t.Fatalf("report %+v, events %s", report, w.types(t, before))
		}
		if report = importCSV(t, w, sampleHeader+goodSample); report.Unchanged != 1 || report.Added != 0 ||
			w.head(t) != before+1 {
			t.Errorf("the same again: %+v", report)
		}
		time.Sleep(24 * time.Hour)
		newer := strings.ReplaceAll(strings.Replace(goodSample, ",40,", ",50,", 1), "2000-01-01", "2000-01-02")
		importCSV(t, w, sampleHeader+newer)
		state, _, err := w.Brands.State(t.Context(), "acme")
		if err != nil || len(state.Visibility) != 2 || state.Visibility[0].Mentions != 50 ||
			state.Visibility[0].Signer != "key_1" {
			t.Errorf("samples %+v, %v; want the newest of each engine", state.Visibility, err)
		}
		for _, tt := range []struct{ old, new, at string }{
			{"acme", "nobody", "brand"}, {"acme", "Acme", "brand"}, {"chatgpt", "Chat GPT", "engine"},
			{"api", "web", "surface"}, {",en,", ",english!,", "locale"},
			{"set-1", "", "promptSetId"}, {"sha256:0a", "sha256:zz", "promptSetHash"}, {",20,0,5", ",0,0,5", "prompts"},
			{",20,0,5", ",x,0,5", "prompts"},
			{",20,0,5", ",20,21,5", "brandedPrompts"}, {",0,5,100", ",0,0,20", "runs"},
			{",5,100,", ",5,101,", "answers"}, {",100,40,", ",100,101,", "mentions"},
			{",80,20,", ",101,20,", "cited"}, {",80,20,", ",80,81,", "citations"}, {",20,90,", ",20,39,", "voices"},
			{",20,90,", ",20,101,", "voices"}, {",30,27,", ",30,31,", "right"},
			{",30,27,", ",-1,0,", "graded"}, {"2000-01-01,2000-01-01", "2000-01-01,2000-03-01", "to"},
			{"2000-01-01,2000-01-01", "1998-01-01,2000-01-01", "from"},
			{"2000-01-01,2000-01-01", "yesterday,2000-01-01", "from"}, {"in-house", "", "provider"},
		} {
			report := importCSV(t, w, sampleHeader+goodSample+"\n"+strings.Replace(goodSample, tt.old, tt.new, 1))
			found := false
			for _, f := range report.Rejected {
				found = found || f.Pointer == "/3/"+tt.at
			}
			if !found || report.Unchanged != 1 || report.Added != 0 {
				t.Errorf("%q for %q: %+v, want a complaint at /3/%s and the other line taken", tt.new, tt.old, report,
					tt.at)
			}
		}
	})
}

func TestReadSamplesCSV(t *testing.T) {
	for _, tt := range []struct {
		file string
		want string // pointers of complaints, or the error's
	}{
		{"", "error /1"},
		{"brand,brand\n", "error /1"},
		{"brand,rocket\n", "error /1"},
		{"brand,engine\nacme\n", "/2"},
		{"\uFEFFbrand,engine\n\nacme,chatgpt\n\"acme\nx\",y\na,b,c\n", "/6"},
		{"brand,answers\nacme,many\nacme,1.5\nacme,\n", "/2/answers /3/answers"},
		{"brand,engine\na,\"b\nc,d\n", "/2"},
	} {
		lines, err := brand.ParseSamplesCSV([]byte(tt.file))
		var got []string
		if err != nil {
			for _, f := range fieldmark.AsError(err).Fields {
				got = append(got, "error "+f.Pointer)
			}
		}
		for _, l := range lines {
			for _, f := range l.Bad {
				got = append(got, f.Pointer)
			}
		}
		if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%q: complaints (-want +got):\n%s%v", tt.file, diff, err)
		}
	}
}

func FuzzReadSamplesCSV(f *testing.F) {
	for _, s := range []string{"", sampleHeader, sampleHeader + goodSample, "brand\n\"", "\uFEFFbrand\na",
		"brand,answers\na,\"1\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		lines, err := brand.ParseSamplesCSV(file)
		if err == nil && len(lines) > brand.MaxSamples+1 {
			t.Errorf("%d lines", len(lines))
		}
		for _, l := range lines {
			if l.At == "" && l.Bad == nil {
				t.Errorf("a line without a place: %s", fmt.Sprint(l))
			}
		}
	})
}

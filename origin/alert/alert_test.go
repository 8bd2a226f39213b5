package alert_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/alert"
	"github.com/fieldmark/fieldmark/origin/mission"
)

func recorded(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func signals(t testing.TB, body []byte, o alert.Options) []alert.Signal {
	t.Helper()
	n, err := alert.Decode(body)
	if err != nil {
		t.Fatalf("decode %.200s: %v", body, err)
	}
	all, _ := n.Signals(o)
	return all
}

// TestRecorded decodes recorded payloads of each version of each tool.
func TestRecorded(t *testing.T) {
	linz := fieldmark.MissionRequest{
		Source: "am", Title: "Uplink of Linz 2 is down", Priority: fieldmark.PriorityCritical,
		Description: "No light on the uplink for 5 minutes.\n\n" +
			"- firing: LinkDown (device=rtr-7, site=Linz 2): Uplink of Linz 2 is down, since 2026-11-21T08:00:00Z\n" +
			"- resolved: LinkFlaps (device=rtr-7, site=Linz 2), since 2026-11-21T07:59:00Z\n" +
			"source: http://prometheus:9090/graph?g0.expr=up\nsource: " +
			"http://prometheus:9090/graph?g0.expr=flaps\nalerts: http://alertmanager:9093",
		Location: &fieldmark.Location{Name: "Linz 2", Address: &fieldmark.Address{Line1: "Hafenstraße 4, 4020 Linz"},
			Geo: &fieldmark.Geo{Lat: 48.3, Lng: 14.29}},
		Links:  []fieldmark.Link{{Href: "https://runbooks.example/link-down", Text: "runbook"}},
		Labels: map[string]string{"device": "rtr-7", "site": "Linz 2"},
	}
	freezer := fieldmark.MissionRequest{
		Source: "am", Title: "Freezer 3 at -9 °C", Priority: fieldmark.PriorityHigh,
		Description: "- firing: Freezer warm (grafana_folder=Stores): Freezer 3 at -9 °C, since 2026-11-21T08:00:00Z",
		Location:    &fieldmark.Location{Name: "Store 12"},
		Links: []fieldmark.Link{{Href: "https://grafana.example/alerting/1afz29v7z/edit", Text: "source"},
			{Href: "https://grafana.example/d/abc", Text: "dashboard"},
			{Href: "https://grafana.example/d/abc?viewPanel=2", Text: "panel"},
			{Href: "https://grafana.example/alerting/silence/new", Text: "silence"},
			{Href: "https://grafana.example/", Text: "alerts"}},
		Labels: map[string]string{"alertname": "Freezer warm", "grafana_folder": "Stores", "severity": "major"},
	}
	warmed := freezer
	warmed.Description = strings.Replace(freezer.Description, "firing", "resolved", 1)
	warmed.Links = []fieldmark.Link{{Href: "https://grafana.example/alerting/grafana/c1/view", Text: "source"},
		freezer.Links[3], freezer.Links[4]}
	disk := fieldmark.MissionRequest{
		Source: "am", Title: "DiskFull", Priority: fieldmark.PriorityHigh,
		Description: "Swap the disk.\n\n- firing: DiskFull (host=db1, priority=P2), since 2026-11-21T08:00:00Z\n- " +
			"and 3 more",
		Links: []fieldmark.Link{{Href: "https://prometheus.example/graph", Text: "source"},
			{Href: "https://alerts.example", Text: "alerts"}},
		Labels: map[string]string{"alertname": "DiskFull", "priority": "P2"},
	}
	at8 := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		file   string
		firing bool
		starts time.Time
		want   fieldmark.MissionRequest
	}{
		{"alertmanager-0.25.json", true, at8.Add(-time.Minute), linz},
		{"alertmanager-0.34.json", true, at8, disk},
		{"grafana-9.json", true, at8, freezer},
		{"grafana-12.json", false, at8, warmed},
	} {
		t.Run(tt.file, func(t *testing.T) {
			all := signals(t, recorded(t, tt.file), alert.Options{Source: "am"})
			if len(all) != 1 {
				t.Fatalf("%d signals, want 1 for the group", len(all))
			}
			s := all[0]
			if s.Firing != tt.firing || !s.Starts.Equal(tt.starts) || len(s.Key) != 32 {
				t.Errorf("firing %v since %v under %q, want %v since %v", s.Firing, s.Starts, s.Key, tt.firing,
					tt.starts)
			}
			if diff := cmp.Diff(tt.want, s.Request); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
	fires, ends := signals(t, recorded(t, "grafana-9.json"), alert.Options{}),
		signals(t, recorded(t, "grafana-12.json"), alert.Options{})
	if fires[0].Key != ends[0].Key || fires[0].ExternalID(1) != fires[0].Key+"-1795248000" ||
		fires[0].ExternalID(3) != fires[0].Key+"-1795248000-3" {
		t.Errorf("keys %q and %q, id %q; want one key and its start", fires[0].Key, ends[0].Key, fires[0].ExternalID(1))
	}
	single := signals(t, recorded(t, "alertmanager-0.25.json"), alert.Options{PerAlert: true})
	if len(single) != 2 || single[0].Key != "1f2e3d4c5b6a7980" || !single[0].Firing || single[1].Firing ||
		single[1].Key != "0011223344556677" {
		t.Errorf("per alert: %+v, want the two fingerprints, one firing", single)
	}
}

// TestMapping covers the mapping of severities, and missing members.
func TestMapping(t *testing.T) {
	one := func(labels string) []byte {
		return []byte(`{"status":"firing","alerts":[{"status":"firing","labels":` + labels + `}]}`)
	}
	for labels, want := range map[string]fieldmark.Priority{
		`{"severity":"critical"}`: "CRITICAL", `{"severity":"page"}`: "CRITICAL",
		`{"severity":"Emergency"}`: "CRITICAL", `{"severity":"disaster"}`: "CRITICAL",
		`{"severity":"error"}`: "HIGH", `{"severity":"major"}`: "HIGH", `{"severity":"high"}`: "HIGH",
		`{"severity":"warning"}`: "MEDIUM", `{"severity":"average"}`: "MEDIUM", `{"severity":"minor"}`: "MEDIUM",
		`{"severity":"info"}`: "LOW", `{"severity":"low"}`: "LOW", `{"severity":"none"}`: "LOW",
		`{"priority":"P1"}`: "CRITICAL", `{"severity":"odd","priority":"high"}`: "HIGH", `{"severity":"odd"}`: "HIGH",
		`{}`: "HIGH",
	} {
		s := signals(t, one(labels), alert.Options{WatchdogAlerts: true, Priority: fieldmark.PriorityHigh})
		if s[0].Request.Priority != want {
			t.Errorf("labels %s: %s, want %s", labels, s[0].Request.Priority, want)
		}
	}
	if p := signals(t, one(`{}`), alert.Options{})[0].Request.Priority; p != fieldmark.PriorityMedium {
		t.Errorf("no label: %s, want MEDIUM", p)
	}
	for _, labels := range []string{`{"alertname":"Watchdog"}`, `{"severity":"none"}`} {
		n, err := alert.Decode(one(labels))
		if err != nil {
			t.Fatal(err)
		}
		if all, ignored := n.Signals(alert.Options{}); len(all) != 0 || ignored != 1 {
			t.Errorf("labels %s: %d signals, %d ignored; want 0 and 1", labels, len(all), ignored)
		}
	}
	// The highest severity of the firing alerts counts, and a missing title has a fallback.
	s := signals(t, []byte(`{"status":"firing","groupLabels":{"alertname":"A","dc":"w"},"alerts":[
		{"status":"resolved","labels":{"alertname":"A","severity":"critical"}},{"status":"firing",`+
		`"labels":{"alertname":"A","severity":"info"}},
		{"status":"firing","labels":{"alertname":"A","severity":"high"}}]}`), alert.Options{})[0]
	if s.Request.Priority != fieldmark.PriorityHigh || s.Request.Title != "A (dc=w)" {
		t.Errorf("%s %q, want HIGH and the alert's name with the group's labels", s.Request.Priority, s.Request.Title)
	}
}

func TestRefused(t *testing.T) {
	for _, tt := range []struct {
		body string
		code fieldmark.Code
		says string
	}{
		{string(recorded(t, "grafana-8.json")), fieldmark.CodeValidationFailed, "before version 9"},
		{`{}`, fieldmark.CodeValidationFailed, "Alertmanager"}, {`[]`, fieldmark.CodeValidationFailed, "Alertmanager"},
		{`{"alerts":[{}` + strings.Repeat(",{}", 10_000) + `]}`, fieldmark.CodeBodyTooLarge, "10000 alerts"},
		{`{`, fieldmark.CodeMalformedJSON, ""}, {``, fieldmark.CodeMalformedJSON, ""},
		{`{} x`, fieldmark.CodeMalformedJSON, ""},
	} {
		_, err := alert.Decode([]byte(tt.body))
		if !fieldmark.IsCode(err, tt.code) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%.40s: %v, want %s that says %q", tt.body, err, tt.code, tt.says)
		}
	}
}

// TestTolerance: the decoder repairs invalid members where possible.
func TestTolerance(t *testing.T) {
	long := strings.Repeat("ü", 20_000)
	labels := map[string]any{"alertname": long, "severity": 3, "n": nil, "o": map[string]any{"a": 1}}
	for range 100 {
		labels["l"+strings.Repeat("x", len(labels))] = long
	}
	body, err := json.Marshal(map[string]any{
		"status": "firing", "groupKey": long, "receiver": 7, "truncatedAlerts": "many", "commonLabels": labels,
		"commonAnnotations": map[string]any{"summary": "a\r\n\x00b" + long, "description": long, "lat": "91", "lng": 5,
			"site": "  "},
		"alerts": []any{map[string]any{"status": 1, "labels": labels, "startsAt": "yesterday",
			"fingerprint": "../..", "generatorURL": "javascript:1"}, 5, nil},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, per := range []bool{false, true} {
		for _, s := range signals(t, body, alert.Options{Source: "x", PerAlert: per}) {
			checkBounds(t, s)
			if !s.Firing {
				t.Error("a status that cannot be read is taken for an end")
			}
		}
	}
	if s := signals(t, body, alert.Options{Source: "x"})[0]; !strings.HasPrefix(s.Request.Title, "a b") ||
		!strings.HasSuffix(s.Request.Title, "…") || len(s.Request.Labels) != 64 {
		t.Errorf("title %.20q, %d labels; want it on one line and cut, and 64", s.Request.Title, len(s.Request.Labels))
	}
}

// checkBounds checks a signal against the limits of a mission.
func checkBounds(t *testing.T, s alert.Signal) {
	t.Helper()
	r := s.Request
	r.ExternalID = s.ExternalID(1)
	if bad := mission.ValidateRequest(&r); len(bad) > 0 {
		t.Errorf("a request that cannot be taken: %v", bad)
	}
	for _, b := range []struct {
		name, text  string
		least, most int
	}{{"id", r.ExternalID, 1, 255}, {"title", r.Title, 1, 200}, {"description", r.Description, 0, 10_000}} {
		if n := utf8.RuneCountInString(b.text); n < b.least || n > b.most || !utf8.ValidString(b.text) {
			t.Errorf("%s has %d characters, want %d to %d", b.name, n, b.least, b.most)
		}
	}
	for _, l := range r.Links {
		if !strings.HasPrefix(l.Href, "https://") || utf8.RuneCountInString(l.Href) > 2048 ||
			utf8.RuneCountInString(l.Text) > 120 {
			t.Errorf("link %+v", l)
		}
	}
	if l := r.Location; l != nil && (utf8.RuneCountInString(l.Name) > 200 || l.Address != nil &&
		utf8.RuneCountInString(l.Address.Line1) > 200) {
		t.Errorf("location %+v", l)
	}
	if len(r.Links) > 10 {
		t.Errorf("%d links", len(r.Links))
	}
}

// FuzzDecode: every decoded signal is valid input for a new mission.
func FuzzDecode(f *testing.F) {
	for _, name := range []string{"alertmanager-0.25.json", "alertmanager-0.34.json", "grafana-9.json",
		"grafana-12.json", "grafana-8.json"} {
		f.Add(recorded(f, name), false)
		f.Add(recorded(f, name), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, perAlert bool) {
		n, err := alert.Decode(body)
		if err != nil {
			if c := fieldmark.AsError(err).Code; c != fieldmark.CodeMalformedJSON &&
				c != fieldmark.CodeValidationFailed {
				t.Errorf("input %q: %v", body, err)
			}
			return
		}
		all, _ := n.Signals(alert.Options{Source: "x", PerAlert: perAlert})
		for _, s := range all {
			checkBounds(t, s)
		}
		again, _ := n.Signals(alert.Options{Source: "x", PerAlert: perAlert})
		if diff := cmp.Diff(all, again); diff != "" {
			t.Errorf("input %q gives two readings:\n%s", body, diff)
		}
	})
}

package operate

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
)

// TestMonitorOutage: fieldmark top keeps one client. While the server is unreachable, or answers errors, each screen
// says so; the first screen after its return has its issues and charts again.
func TestMonitorOutage(t *testing.T) {
	var status atomic.Int64 // 0: connections end without a response
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status.Load() == 0 {
			panic(http.ErrAbortHandler)
		}
		var body any = fieldmark.Metrics{}
		if strings.HasSuffix(r.URL.Path, "/issues") {
			body = fieldmark.IssueList{Data: []fieldmark.Issue{{Code: "disk", Severity: "warning",
				Title: "The disk is filling", Since: fieldmark.At(time.Now())}}}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(int(status.Load()))
		if err := json.NewEncoder(w).Encode(body); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	m := &Monitor{adminFlags{URL: server.URL, AdminKey: "fm_live_x_y"}}
	c, err := m.Connect()
	if err != nil {
		t.Fatal(err)
	}
	const there, away = "The disk is filling", "critical  The origin gives no list of issues: "
	for i, step := range []struct {
		status int64
		want   string
	}{{200, there}, {0, away}, {0, away}, {200, there}, {500, away}, {200, there}} {
		status.Store(step.status)
		var screen strings.Builder
		if err := m.Print(t.Context(), &screen, c, 80); err != nil {
			t.Errorf("step %d: %v", i, err)
		}
		if got := screen.String(); !strings.Contains(got, step.want) ||
			strings.Contains(got, "LAST HOUR") != (step.want == there) {
			t.Errorf("step %d, status %d: the screen has %q, want %q", i, step.status, got, step.want)
		}
	}
}

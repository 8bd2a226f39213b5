package api_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/origin/store"
)

// TestHandlerTimeout sends a request to an origin whose database is busy. The origin gives up before an edge
// does, which waits 5.5 s for the response header: the client gets the origin's 504, and the mission is not
// created after the client has given up.
func TestHandlerTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t, nil)
		busy, release, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() {
			done <- fx.store.Write(t.Context(), func(context.Context, *store.Tx) error {
				close(busy)
				<-release
				return nil
			})
		}()
		<-busy
		start := time.Now()
		rec := fx.send(request{method: "POST", path: fieldmark.PathMissions, key: fx.creator,
			body: `{"source":"crm","externalId":"busy","title":"Mast"}`})
		if p := fx.problem(rec); rec.Code != http.StatusGatewayTimeout || p.Code != fieldmark.CodeTimeout {
			t.Errorf("with a busy database: %d %s, want 504 %s", rec.Code, rec.Body, fieldmark.CodeTimeout)
		}
		if took := time.Since(start); took >= 5500*time.Millisecond*timeout.Scale { // of the bubble
			t.Errorf("the origin gave up after %s, want less than the 5.5 s of an edge", took)
		}
		close(release)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if n := fx.missions(); n != 0 {
			t.Errorf("%d missions were created, want none", n)
		}
	})
}

// slowBody delivers its text after a pause.
type slowBody struct {
	io.Reader
	pause time.Duration
}

// Read implements io.Reader.
func (b *slowBody) Read(p []byte) (int, error) {
	time.Sleep(b.pause)
	b.pause = 0
	return b.Reader.Read(p)
}

// TestSlowBody sends a body over a slow connection, for longer than the request itself may take.
func TestSlowBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t, nil)
		text := strings.NewReader(`{"source":"crm","externalId":"slow","title":"Mast"}`)
		r := httptest.NewRequest("POST", fieldmark.PathMissions, &slowBody{text, 8 * time.Second * timeout.Scale})
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+fx.creator)
		rec := httptest.NewRecorder()
		fx.handler.ServeHTTP(rec, r)
		if rec.Code != http.StatusCreated {
			t.Errorf("a body that arrives within 8 s: %d %s, want 201", rec.Code, rec.Body)
		}
	})
}

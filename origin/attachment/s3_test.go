package attachment_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/objects"
)

// TestOverS3 adds and reads files in a bucket, and adds none while the bucket fails.
func TestOverS3(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	backend := s3mem.New()
	if err := backend.CreateBucket("field"); err != nil {
		t.Fatal(err)
	}
	server := gofakes3.New(backend).Server()
	var broken atomic.Bool
	peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if broken.Load() {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		server.ServeHTTP(w, r)
	}))
	t.Cleanup(peer.Close)
	place, err := objects.Parse("s3://field/fieldmark?endpoint="+url.QueryEscape(peer.URL), "")
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t)
	f.Service = f.over(t, place)
	content := jpeg(300_000, 1)
	a, err := f.Attachments.Add(t.Context(), f.upload("image/jpeg", content))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := read(t.Context(), f, a.ID); err != nil || !bytes.Equal(got, content) {
		t.Errorf("read %d bytes, %v", len(got), err)
	}
	if err := f.Attachments.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	broken.Store(true)
	_, err = f.Attachments.Add(t.Context(), f.upload("image/jpeg", content))
	wantCode(t, "add", err, fieldmark.CodeOverloaded)
	_, err = read(t.Context(), f, a.ID)
	wantCode(t, "read", err, fieldmark.CodeOverloaded)
	if list, err := f.Attachments.List(t.Context(), "", f.mission.ID); err != nil || len(list) != 1 {
		t.Errorf("list %+v, %v; want the first file alone", list, err)
	}
	// The row is removed at once; the object when the bucket works again and the sweep finds it.
	if _, err := f.Attachments.Remove(t.Context(), f.mission.ID, a.ID); err != nil {
		t.Error(err)
	}
}

package store_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin/store"
)

// A running backup does not block writers, and contains a consistent snapshot.
func TestBackupWhileWriting(t *testing.T) {
	cfg := storetest.New(t)
	s := open(t, cfg)
	copies := filepath.Join(t.TempDir(), "copy.db")
	if s.Shared() {
		if err := store.Backup(t.Context(), cfg, copies); !errors.Is(err, store.ErrNotFile) {
			t.Errorf("backup: %v, want %v", err, store.ErrNotFile)
		}
		if _, err := store.Restore(t.Context(), copies, cfg, true); !errors.Is(err, store.ErrNotFile) {
			t.Errorf("restore: %v, want %v", err, store.ErrNotFile)
		}
		return
	}
	write := func(id string) {
		if err := s.Write(context.Background(), func(ctx context.Context,
			tx *store.Tx) error {
			return appendEvent(ctx, tx, id)
		}); err != nil {
			t.Errorf("write: %v", err)
		}
	}
	for i := range 200 {
		write(fmt.Sprint("before", i))
	}
	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				write(fmt.Sprint("during", i))
			}
		}
	})
	err := store.Backup(t.Context(), cfg, copies)
	close(stop)
	writer.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Backup(t.Context(), cfg, copies); !errors.Is(err, fs.ErrExist) {
		t.Errorf("backup over a file: %v, want %v", err, fs.ErrExist)
	}
	if info, err := os.Stat(copies); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the copy has mode %v, %v; want 0600", info.Mode(), err)
	}

	target := store.Config{Path: filepath.Join(t.TempDir(), "new.db")}
	if replaced, err := store.Restore(t.Context(), copies, target, false); replaced != "" || err != nil {
		t.Fatalf("restore: %q, %v", replaced, err)
	}
	restored := open(t, target)
	check(t, restored)
	head, err := restored.Head(t.Context())
	if now, _ := s.Head(t.Context()); head < 200 || head > now || err != nil {
		t.Errorf("the copy has %d events, %v; want 200 to %d", head, err, now)
	}
	if restored.Log() == s.Log() {
		t.Errorf("the restored log is still called %s", s.Log())
	}
	for _, force := range []bool{false, true} { // first the target exists, then it is also open
		if _, err := store.Restore(t.Context(), copies, target, force); !errors.Is(err, fs.ErrExist) {
			t.Errorf("restore over an open record, force %v: %v; want %v", force, err, fs.ErrExist)
		}
	}
	check(t, restored)
}

func TestRestoreReplaces(t *testing.T) {
	dir := t.TempDir()
	cfg := store.Config{Path: filepath.Join(dir, "record.db")}
	s, err := store.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	copies := filepath.Join(dir, "copy.db")
	if err := errors.Join(store.Backup(t.Context(), cfg, copies), s.Close()); err != nil {
		t.Fatal(err)
	}
	replaced, err := store.Restore(t.Context(), copies, cfg, true)
	if err != nil {
		t.Fatal(err)
	}
	check(t, open(t, cfg))
	check(t, open(t, store.Config{Path: replaced}))

	for name, body := range map[string]string{"text.db": "no database at all", "empty.db": ""} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		target := store.Config{Path: filepath.Join(dir, "target.db")}
		if _, err := store.Restore(t.Context(), path, target, true); err == nil {
			t.Errorf("%s was restored", name)
		}
		left, _ := filepath.Glob(target.Path + "*")
		if len(left) > 0 {
			t.Errorf("restoring %s left %s", name, strings.Join(left, ", "))
		}
	}
}

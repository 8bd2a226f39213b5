package botauth_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/botauth"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/keyring"
	"github.com/fieldmark/fieldmark/origin/store"
)

func TestMain(m *testing.M) {
	os.Exit(storetest.Main(m, storetest.Alone{Engine: storetest.SQLite,
		Tests: "TestVectors|TestSign|TestUnsigned|TestForeignVerifiers"})) // without a database
}

// node is one process with a Service on a database.
type node struct {
	*botauth.Service
	signer *botauth.Signer
	store  *store.Store
}

func newNode(t *testing.T, cfg store.Config) node {
	t.Helper()
	st := storetest.Open(t, cfg)
	keys, err := keyring.New([]byte(strings.Repeat("s", keyring.MinSecret)))
	if err != nil {
		t.Fatal(err)
	}
	signer, err := botauth.NewSigner("https://marks.example", botauth.FormDictionary)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	return node{botauth.New(botauth.Config{Store: st, Cipher: keys.RequestSigning, AuditLog: auditlog.New(st,
		keys.AuditLog), Jobs: job.NewRunner(st, log), Log: log, Signer: signer}), signer, st}
}

// keyid refreshes the keys and returns the id of the one that signs.
func (n node) keyid(t *testing.T) string {
	t.Helper()
	if err := n.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodGet, "https://acme.example/", nil)
	if err != nil {
		t.Fatal(err)
	}
	n.signer.Sign(req)
	_, rest, _ := strings.Cut(req.Header.Get("Signature-Input"), `keyid="`)
	id, _, _ := strings.Cut(rest, `"`)
	return id
}

// published returns the states and ids of the keys in the directory, whose signatures it
// verifies.
func (n node) published(t *testing.T) (list []string) {
	t.Helper()
	keys, err := n.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d, err := n.Directory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var set struct {
		Keys []struct {
			Kid, X, Use, Kty, Crv string
			Nbf, Exp              int64
		}
	}
	if err := json.Unmarshal(d.Body, &set); err != nil || len(set.Keys) != len(keys.Data) {
		t.Fatalf("directory %s, %v; want %d keys", d.Body, err, len(keys.Data))
	}
	inputs, err := httpsfv.UnmarshalDictionary(d.Header["Signature-Input"])
	if err != nil {
		t.Fatal(err)
	}
	signatures, err := httpsfv.UnmarshalDictionary(d.Header["Signature"])
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(d.Body)
	digest := "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
	if got := d.Header.Get("Content-Digest"); got != digest {
		t.Errorf("Content-Digest %s, want %s", got, digest)
	}
	for i, name := range inputs.Names() {
		k, row := set.Keys[i], keys.Data[i]
		x, err := base64.RawURLEncoding.DecodeString(k.X)
		if err != nil || k.Kid != row.ID || k.Kid != botauth.Thumbprint(x) || k.Nbf != row.UseFrom.Std().Unix() ||
			k.Exp != row.ExpiresAt.Std().Unix() || k.Use != "sig" || k.Kty != "OKP" || k.Crv != "Ed25519" {
			t.Errorf("key %d of the directory is %+v, listed as %+v, %v", i, k, row, err)
		}
		m, _ := inputs.Get(name)
		_, input, _ := strings.Cut(strings.Split(d.Header.Get("Signature-Input"), ", ")[i], "=")
		p := m.(httpsfv.InnerList).Params
		created, _ := p.Get("created")
		expires, _ := p.Get("expires")
		keyid, _ := p.Get("keyid")
		if expires.(int64)-created.(int64) != 48*3600 || keyid != k.Kid {
			t.Errorf("signature %d of the directory has %s, want 48 h and key %s", i, input, k.Kid)
		}
		base := `"@authority";req: marks.example` + "\n" + `"content-digest": ` + digest + "\n" +
			`"@signature-params": ` + input
		s, _ := signatures.Get(name)
		if !ed25519.Verify(x, []byte(base), s.(httpsfv.Item).Value.([]byte)) {
			t.Errorf("signature %d of the directory does not verify", i)
		}
		list = append(list, string(row.State)+" "+row.ID)
	}
	return list
}

// purges counts the events that make edges drop the directory.
func (n node) purges(t *testing.T) (count int) {
	t.Helper()
	events, err := n.store.Events(t.Context(), 0, 100, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if e.Type == fieldmark.EventCachePurged && slices.Contains(e.Tags, botauth.TagKeys) {
			count++
		}
	}
	return count
}

// TestRotation runs through the schedule: a key is published for 48 hours before its first
// use, is used for 90 days, and stays for 7 days more.
func TestRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := storetest.New(t)
		n := newNode(t, cfg)
		first := n.keyid(t)
		want := func(when string, list ...string) {
			t.Helper()
			if got := n.published(t); !slices.Equal(got, list) {
				t.Errorf("%s: published %q, want %q", when, got, list)
			}
		}
		want("at the start", "active "+first)
		const day = 24 * time.Hour
		time.Sleep(88*day - time.Second) // virtual
		if got := n.keyid(t); got != first {
			t.Errorf("after 88 days: signed by %s, want %s", got, first)
		}
		want("before 88 days", "active "+first)
		time.Sleep(time.Second)
		if got := n.keyid(t); got != first {
			t.Errorf("after 88 days: signed by %s, want still %s", got, first)
		}
		keys, err := n.List(t.Context())
		if err != nil || len(keys.Data) != 2 {
			t.Fatalf("after 88 days: keys %+v, %v; want two", keys, err)
		}
		second := keys.Data[1].ID
		want("after 88 days", "active "+first, "next "+second)
		time.Sleep(2 * day)
		if got := n.keyid(t); got != second {
			t.Errorf("after 90 days: signed by %s, want %s", got, second)
		}
		want("after 90 days", "previous "+first, "active "+second)
		time.Sleep(7 * day)
		if got := n.keyid(t); got != second {
			t.Errorf("after 97 days: signed by %s, want %s", got, second)
		}
		want("after 97 days", "active "+second)
		if got := n.purges(t); got != 3 {
			t.Errorf("%d purges of the directory, want 3: two keys came and one went", got)
		}
		time.Sleep(365 * day)
		if got := n.keyid(t); got == second {
			t.Error("after a year without a process an expired key signs")
		}
	})
}

// TestRotateAndRetire: administrators replace keys early, with entries in the audit log, and
// another process follows.
func TestRotateAndRetire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := storetest.New(t)
		n := newNode(t, cfg)
		first := n.keyid(t)
		ctx := auditlog.WithActor(t.Context(), auditlog.Actor{Kind: fieldmark.ActorKey, Name: "key_1"})
		for range 2 { // the second changes nothing
			if _, err := n.Rotate(ctx); err != nil {
				t.Fatal(err)
			}
		}
		list := n.published(t)
		if len(list) != 2 || list[0] != "active "+first || !strings.HasPrefix(list[1], "next ") {
			t.Fatalf("published %q after two rotations, want %s and one more", list, first)
		}
		second := strings.TrimPrefix(list[1], "next ")
		if _, err := n.Retire(ctx, first); err != nil {
			t.Fatal(err)
		}
		if got := n.published(t); !slices.Equal(got, []string{"active " + second}) {
			t.Errorf("published %q after the first was retired, want %s in use", got, second)
		}
		if _, err := n.Retire(ctx, second); err != nil {
			t.Fatal(err)
		}
		third := n.keyid(t)
		if got := n.published(t); !slices.Equal(got, []string{"active " + third}) || third == second || third == "" {
			t.Errorf("published %q after the last was retired, want a new one in use", got)
		}
		if _, err := n.Retire(ctx, first); !fieldmark.IsCode(err, fieldmark.CodeNotFound) {
			t.Errorf("retire a key that is gone: %v, want not_found", err)
		}
		entries, err := n.store.AuditEntriesAfter(context.Background(), 0, 10)
		if err != nil || len(entries) != 4 || entries[3].Act != "signing_key.retired" {
			t.Errorf("audit log %+v, %v; want four entries", entries, err)
		}
	})
}

// TestOff: without a signer there are neither keys nor a directory.
func TestOff(t *testing.T) {
	n := newNode(t, storetest.New(t))
	off := botauth.New(botauth.Config{Store: n.store})
	if err := off.Run(t.Context()); err != nil {
		t.Error(err)
	}
	_, listed := off.List(t.Context())
	_, served := off.Directory(t.Context())
	_, rotated := off.Rotate(t.Context())
	for _, err := range []error{listed, served, rotated} {
		if !fieldmark.IsCode(err, fieldmark.CodeModuleDisabled) {
			t.Errorf("%v, want module_disabled", err)
		}
	}
}

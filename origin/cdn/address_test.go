package cdn_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/porttest"
	"github.com/fieldmark/fieldmark/origin/store"
)

// startNginx runs the nginx of deploy/nginx in front of an address. It returns where it is read and purged.
func startNginx(t testing.TB, backend string) (cache *server, purges string) {
	t.Helper()
	nginx, dir := program(t, "nginx"), t.TempDir()
	public, purges := porttest.Address(t), porttest.Address(t)
	const module = "/usr/lib/nginx/modules/ngx_http_cache_purge_module.so"
	configure(t, "nginx/fieldmark-cache.conf", dir, "127.0.0.1:8092", public, "127.0.0.1:8093", purges,
		"10.0.0.2:8080", strings.TrimPrefix(backend, "http://"), "server 10.0.0.3:8080", "# server",
		"/var/cache/nginx/fieldmark", filepath.Join(dir, "cache"), "marks.example", "127.0.0.1")
	whole := "load_module " + module + "; user root; daemon off; pid pid; error_log stderr; events {}\n" +
		"http { access_log off; client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; " +
		"uwsgi_temp_path uwsgi; scgi_temp_path scgi; include fieldmark-cache.conf; }"
	file := filepath.Join(dir, "nginx.conf")
	must(t, os.WriteFile(file, []byte(whole), 0o600))
	return run(t, public, nginx, "-p", dir, "-c", file, "-e", "stderr"), "http://" + purges
}

// startTrafficServer runs the Traffic Server of deploy/trafficserver in front of an address. It returns
// where it is read and purged.
func startTrafficServer(t testing.TB, backend string) (cache *server, purges string) {
	t.Helper()
	server, dir := program(t, "traffic_server"), t.TempDir()
	port, purgePort := porttest.Port(t), porttest.Port(t)
	public, purges := "127.0.0.1:"+port, "127.0.0.1:"+purgePort
	etc := filepath.Join(dir, "etc")
	for _, name := range []string{"etc", "run", "log", "cache"} {
		must(t, os.Mkdir(filepath.Join(dir, name), 0o755)) //nolint:gosec // the server may be another user
	}
	for _, name := range []string{"records.config", "remap.config", "ip_allow.yaml", "fieldmark-public.config",
		"fieldmark-purge.config"} {
		configure(t, "trafficserver/"+name, etc, "8080 8081", port+" "+purgePort, "http://marks.example/",
			"http://"+public+"/", "http://trafficserver.internal:8081/", "http://"+purges+"/",
			"http://edges.internal:8080/", backend+"/")
	}
	records, err := os.OpenFile(filepath.Join(etc, "records.config"), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = records.WriteString("CONFIG proxy.config.admin.user_id STRING #-1\n") // the user of the test
	must(t, err)
	must(t, records.Close())
	// It overwrites its storage in a circle, and 10,000 changes fill 32M: what it evicts is asked of the edges again,
	// as after a needless purge. The file is sparse.
	for name, text := range map[string]string{"etc/storage.config": filepath.Join(dir, "cache") + " 512M\n",
		"etc/plugin.config": "", "runroot.yaml": "prefix: " + dir + "\nbindir: /usr/bin\nsbindir: /usr/sbin\n" +
			"sysconfdir: " + etc + "\ndatadir: /usr/share/trafficserver\nincludedir: /usr/include\n" +
			"libdir: /usr/lib/trafficserver\nlibexecdir: /usr/lib/trafficserver/modules\nlocalstatedir: " +
			filepath.Join(dir, "run") + "\nruntimedir: " + filepath.Join(dir, "run") + "\nlogdir: " +
			filepath.Join(dir, "log") + "\ncachedir: " + filepath.Join(dir, "cache") + "\n"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return run(t, public, server, "--run-root="+filepath.Join(dir, "runroot.yaml")), "http://" + purges
}

// TestNginx and TestTrafficServer: as TestVarnish, for the plain addresses.
func TestNginx(t *testing.T) {
	t.Parallel()
	f, e := newFixture(t), newEdges(t)
	cache, purges := startNginx(t, e.URL)
	testAddresses(t, f, e, fieldmark.CDNNginx, cache, purges)
}

func TestTrafficServer(t *testing.T) {
	t.Parallel()
	f, e := newFixture(t), newEdges(t)
	cache, purges := startTrafficServer(t, e.URL)
	testAddresses(t, f, e, fieldmark.CDNTrafficServer, cache, purges)
}

func testAddresses(t *testing.T, f *fixture, e *edges, kind fieldmark.CDNKind, cache *server, purges string) {
	t.Helper()
	way := newGate(t, purges)
	f.put("cache", fieldmark.CDNRequest{Token: token, CDNSettings: fieldmark.CDNSettings{Kind: kind,
		URLs: []string{way.URL}}})
	if r, err := f.CDNs.Test(t.Context(), "cache"); err != nil || !r.OK {
		t.Fatalf("test: %+v %v, want success", r, err)
	}
	testExact(t, f, e, cache, purges, way, "cache")
	// Readers cannot purge, whatever token they send.
	page := cache.URL + fieldmark.PathBadge + "b-0000"
	before := e.asked.Load()
	req, err := http.NewRequestWithContext(t.Context(), "PURGE", page, nil)
	must(t, err)
	req.Header.Set("Fieldmark-Purge-Token", token)
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	resp.Body.Close()
	fetch(t, page)
	if n := e.asked.Load() - before; resp.StatusCode != http.StatusForbidden || n > 0 {
		t.Errorf("PURGE of a reader: status %d, then %d requests to the edges; want 403 and none", resp.StatusCode, n)
	}
}

// TestNginxAddresses: nginx stores one variant of each address that is purged. Of others it stores several,
// of which a purge would remove one.
func TestNginxAddresses(t *testing.T) {
	text, err := os.ReadFile("../../deploy/nginx/fieldmark-cache.conf")
	must(t, err)
	pattern := regexp.MustCompile(`location ~ (\S+) `).FindSubmatch(text)
	if pattern == nil {
		t.Fatal("no location of plain addresses")
	}
	plain := regexp.MustCompile(string(pattern[1]))
	for _, key := range []string{"brand-b-0001", fieldmark.KeyAll} {
		for _, path := range fieldmark.CDNAddresses(key) {
			if !plain.MatchString(path) {
				t.Errorf("%s is not in the location of plain addresses", path)
			}
		}
	}
	if plain.MatchString("/api/badge/b-0001/embed") {
		t.Error("a response that varies by Accept is in the location of plain addresses")
	}
}

// addressCache is a cache that is purged by address. It records the addresses.
type addressCache struct {
	*httptest.Server
	mu     sync.Mutex
	paths  []string
	status int
	field  string
}

func newAddressCache(t testing.TB) *addressCache {
	c := &addressCache{status: http.StatusNotFound, field: "yes"}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *addressCache) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.Method != "PURGE" || r.Header.Get("Fieldmark-Purge-Token") != token {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	c.paths = append(c.paths, r.URL.Path)
	if c.field != "" {
		w.Header().Set("Fieldmark-Purge", c.field)
	}
	w.WriteHeader(c.status)
}

// set sets the answer from now on and returns what was purged until then, sorted.
func (c *addressCache) set(status int, field string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	paths := slices.Sorted(slices.Values(c.paths))
	c.status, c.field, c.paths = status, field, nil
	return paths
}

func sortedTwice(lists ...[]string) []string {
	all := slices.Concat(lists...)
	all = append(all, all...)
	slices.Sort(all)
	return all
}

// TestByAddress: all addresses of a change are purged twice. What purges nothing is noticed, and a purge of
// everything is refused.
func TestByAddress(t *testing.T) {
	t.Parallel()
	f, c := newFixture(t), newAddressCache(t)
	settings := fieldmark.CDNSettings{Kind: fieldmark.CDNNginx, URLs: []string{c.URL + "/"}}
	f.put("cache", fieldmark.CDNRequest{Token: token, CDNSettings: settings})
	last := f.change(brandTag(1))
	f.until("it is purged", func() bool { return f.cdn("cache").Event == last })
	brand, board := fieldmark.CDNAddresses("brand-b-0001"), fieldmark.CDNAddresses("board")
	if got, want := c.set(200, "yes"), sortedTwice(brand, board); !slices.Equal(got, want) {
		t.Errorf("purged %v, want %v", got, want)
	}
	p, err := f.Service.Purge(t.Context(), "", fieldmark.PurgeRequest{Everything: true})
	must(t, err)
	f.until("all is purged", func() bool { return f.cdn("cache").Event == p.Event })
	if got, want := c.set(412, "yes"), sortedTwice(fieldmark.CDNAddresses(fieldmark.KeyAll)); !slices.Equal(got, want) {
		t.Errorf("everything: purged %v, want %v", got, want)
	}
	if _, err := f.CDNs.Purge(t.Context(), "cache"); !fieldmark.IsCode(err, fieldmark.CodeCDNByAddress) {
		t.Errorf("a purge of everything: %v, want it refused", err)
	}
	for _, answer := range []struct {
		status int
		field  string
		want   string
	}{{412, "yes", ""}, {404, "", "no field Fieldmark-Purge"}, {200, "", "no field Fieldmark-Purge"},
		{405, "yes", "status 405"}, {403, "yes", "refuses the token"}} {
		c.set(answer.status, answer.field)
		r, err := f.CDNs.Test(t.Context(), "cache")
		if err != nil || r.OK != (answer.want == "") || !strings.Contains(r.Error, answer.want) {
			t.Errorf("%d %q: %+v %v, want %q", answer.status, answer.field, r, err, answer.want)
		}
	}
	if got := c.set(404, "yes"); !slices.Equal(got, []string{"/fieldmark-test"}) {
		t.Errorf("a test purged %v", got)
	}
	settings.URLs = []string{c.URL + "/path"}
	_, err = f.CDNs.Put(t.Context(), "other", fieldmark.CDNRequest{Token: token, CDNSettings: settings})
	if bad := fieldmark.AsError(err); err == nil || len(bad.Fields) != 1 || bad.Fields[0].Pointer != "/urls/0" {
		t.Errorf("an address with a path: %v, want it refused", err)
	}
}

// TestByAddressLostLog: after a loss of events the known addresses are purged, and an issue says that this
// is not everything.
func TestByAddressLostLog(t *testing.T) {
	t.Parallel()
	f, c := newFixture(t), newAddressCache(t)
	f.put("cache", fieldmark.CDNRequest{Token: token, CDNSettings: fieldmark.CDNSettings{
		Kind: fieldmark.CDNTrafficServer, URLs: []string{c.URL}}})
	f.stop()
	must(t, f.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		row, err := tx.CDN(ctx, "cache")
		if err != nil {
			return err
		}
		if err := tx.DeleteCDN(ctx, "cache"); err != nil { // the position of a row that exists is kept
			return err
		}
		row.Log = "another"
		return tx.PutCDN(ctx, &row)
	}))
	f.start()
	f.until("the loss is noticed", func() bool { return f.cdn("cache").EmptiedAt != nil })
	if got := c.set(404, "yes"); len(got) != len(fieldmark.CDNAddresses(fieldmark.KeyAll)) {
		t.Errorf("purged %v", got)
	}
	issues, err := f.Monitor.Issues(t.Context())
	must(t, err)
	if !slices.ContainsFunc(issues.Data, func(i fieldmark.Issue) bool {
		return i.Code == fieldmark.IssueCDNEmptied && strings.Contains(i.Title, "could not be purged of everything")
	}) {
		t.Errorf("no issue says it: %+v", issues.Data)
	}
}

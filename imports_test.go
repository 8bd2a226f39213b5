package fieldmark_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const modulePath = "github.com/fieldmark/fieldmark"

// mayImport lists which package may import which. A package that is not listed, or
// listed and missing, fails the test.
var mayImport = map[string][]string{
	"":                         {},
	"client":                   {""},
	"cmd/fieldmark":            {"*"},
	"cmd/fieldmark/exposition": {},
	"cmd/fieldmark/listen":     {},
	"cmd/fieldmark/command":    {"", "origin/safehttp"},
	"cmd/fieldmark/operate": {"", "cmd/fieldmark/author", "cmd/fieldmark/command", "cmd/fieldmark/demo",
		"internal/timeout", "origin/chart", "origin/client", "origin/visibility/sampler", "origin/visibility/study",
		"origin/webhook"},
	"cmd/fieldmark/sampling": {"", "client", "cmd/fieldmark/command", "cmd/fieldmark/listen",
		"origin/visibility/engine/fake", "origin/visibility/estimate", "origin/visibility/plan",
		"origin/visibility/sampler", "origin/visibility/study"},
	"cmd/fieldmark/author": {"", "cmd/fieldmark/command", "cmd/fieldmark/demo", "internal/atomicfile",
		"internal/timeout", "internal/translog",
		"origin/audit", "origin/client", "origin/llms", "origin/llms/probe", "origin/playground", "origin/safehttp",
		"origin/visibility/study", "wasm", "wasm/abi", "wasm/card", "wasm/examples", "wasm/geo", "wasm/scoring"},
	"cmd/fieldmark/demo": {"", "internal/atomicfile", "origin", "origin/access", "origin/audit", "origin/client",
		"origin/safehttp",
		"origin/visibility/engine", "origin/visibility/engine/fake", "origin/visibility/plan",
		"origin/visibility/sampler", "origin/visibility/study"},
	"cmd/fieldmark/witness": {"", "cmd/fieldmark/command", "internal/atomicfile",
		"internal/timeout", "internal/translog", "origin/client"},
	"deploy/release": {"sdk"},
	"sdk":            {},

	"edge": {"", "edge/accesslog", "cache", "cache/rfc9111", "edge/proxy", "wasm", "wasm/scoring", "origin/client",
		"sdk", "edge/badge",
		"edge/compress", "edge/conn", "edge/conn/certs", "edge/conn/framing", "edge/conn/h2", "edge/conn/h3",
		"edge/bulk", "edge/conn/mux", "edge/developer", "edge/eventlog", "edge/lifetime", "edge/mcp", "edge/ranking",
		"edge/site", "edge/proxy/upstream", "edge/snapshot", "edge/spool",
		"internal/atomicfile", "internal/slots", "internal/timeout", "internal/trace"},
	"edge/snapshot":       {"", "edge/ranking", "internal/rankingfile", "internal/timeout", "origin/client"},
	"edge/spool":          {"", "internal/timeout"},
	"edge/accesslog":      {""},
	"edge/badge":          {""},
	"edge/bulk":           {""},
	"edge/lifetime":       {""},
	"edge/eventlog":       {"", "cache/stream"},
	"edge/ranking":        {"", "internal/rankingfile", "wasm/scoring"},
	"edge/mcp":            {"", "edge/ranking"},
	"edge/site":           {"", "internal/ui", "wasm/scoring"},
	"edge/developer":      {"", "edge/site"},
	"edge/compress":       {},
	"edge/proxy":          {"cache", "cache/rfc9111", "edge/compress", "edge/proxy/upstream", "internal/timeout"},
	"edge/proxy/upstream": {"", "edge/conn/framing", "cache/rfc9111", "internal/timeout"},
	"edge/conn": {"edge/accesslog", "edge/conn/certs", "edge/conn/framing", "edge/conn/h2", "edge/conn/h3",
		"edge/conn/mux", "edge/conn/stream", "internal/timeout"},
	"edge/conn/h2":      {"edge/conn/framing", "edge/conn/mux", "edge/conn/stream", "internal/timeout"},
	"edge/conn/h3":      {"edge/conn/framing", "edge/conn/mux", "edge/conn/stream", "internal/timeout"},
	"edge/conn/mux":     {"edge/conn/framing"},
	"edge/conn/stream":  {"edge/conn/framing"},
	"edge/conn/certs":   {},
	"edge/conn/framing": {},

	"cache":         {"internal/gcra", "internal/timeout"},
	"cache/rfc9111": {},
	"cache/stream":  {"cache", "internal/timeout"},

	"wasm":          {"", "internal/timeout", "wasm/abi", "wasm/bytecode", "wasm/scoring"},
	"wasm/abi":      {"", "wasm/bytecode", "wasm/card"},
	"wasm/card":     {"", "wasm/abi", "wasm/bytecode"},
	"wasm/bytecode": {},
	"wasm/scoring":  {""},
	"wasm/geo":      {"wasm/card"},

	"wasm/guest":            {},
	"wasm/examples":         {"wasm/guest", "wasm/card"},
	"wasm/examples/go/shop": {"wasm/guest"},

	"origin": {"", "origin/store", "origin/access", "origin/accessrequest", "origin/auditlog", "origin/event",
		"origin/job",
		"origin/keyring", "origin/idempotency", "origin/mission", "origin/validation", "origin/audit", "origin/webhook",
		"origin/safehttp", "origin/access/oidc", "internal/trace", "origin/cdn", "origin/intake",
		"origin/acme", "origin/attachment", "origin/dump", "origin/logstream", "origin/objects",
		"origin/botauth", "origin/brand", "origin/claim", "origin/mail", "origin/module",
		"origin/monitor", "origin/offer",
		"origin/playground", "origin/portal", "origin/publiclog",
		"origin/sitecheck", "origin/snapshot", "origin/standing", "origin/technician",
		"origin/testclock", "origin/testworld", "origin/visibility"},
	"origin/testclock": {"", "origin/job", "origin/mission", "origin/store", "origin/validation", "origin/webhook"},
	"origin/testworld": {"", "origin/job", "origin/store"},
	"origin/cdn": {"", "internal/timeout", "origin/auditlog", "origin/event", "origin/job", "origin/keyring",
		"origin/safehttp", "origin/store", "origin/validation"},
	"origin/intake": {"", "origin/event", "origin/job", "origin/store"},
	"origin/offer":  {"", "origin/access", "origin/auditlog", "origin/store", "origin/validation"},
	"origin/acme": {"", "internal/timeout", "origin/auditlog", "origin/event", "origin/job", "origin/keyring",
		"origin/store", "origin/validation"},
	"origin/attachment": {"", "origin/auditlog", "origin/event", "origin/idempotency", "origin/job", "origin/keyring",
		"origin/objects", "origin/store"},
	"origin/objects": {"internal/atomicfile", "internal/timeout"},
	"origin/access": {"", "origin/store", "origin/access/oidc", "origin/auditlog", "origin/event", "origin/job",
		"origin/keyring",
		"origin/validation"},
	"origin/access/oidc": {"", "internal/timeout", "origin/safehttp"},
	"origin/accessrequest": {"", "origin/access", "origin/auditlog", "origin/event", "origin/job", "origin/keyring",
		"origin/mail", "origin/store", "origin/validation"},
	"origin/botauth":  {"", "origin/auditlog", "origin/event", "origin/job", "origin/keyring", "origin/store"},
	"origin/auditlog": {"", "origin/export", "origin/store", "origin/keyring"},
	"origin/export":   {},
	"origin/brand": {"", "origin/store", "origin/audit", "origin/auditlog", "origin/event", "origin/job",
		"origin/validation"},
	"origin/module": {"", "origin/store", "origin/access", "origin/auditlog", "origin/brand", "origin/event",
		"origin/job",
		"origin/validation", "origin/visibility"},
	"origin/monitor": {"", "internal/timeout", "internal/ui", "origin/acme", "origin/cdn",
		"origin/job", "origin/module", "origin/store", "origin/webhook"},
	"origin/playground": {"", "internal/timeout", "origin/store"},
	"origin/sitecheck": {"", "origin/audit", "origin/job", "origin/safehttp", "origin/standing", "origin/store",
		"origin/validation"},
	"origin/claim": {"", "internal/timeout", "origin/access", "origin/audit", "origin/auditlog", "origin/brand",
		"origin/event",
		"origin/job", "origin/keyring", "origin/safehttp", "origin/store", "origin/validation"},
	"origin/mail": {"", "origin/auditlog", "origin/job", "origin/keyring", "origin/store", "origin/validation",
		"origin/webhook"},
	"origin/standing": {"", "internal/rankingfile", "origin/event", "origin/job", "origin/store",
		"origin/store/replica"},
	"origin/publiclog": {"", "internal/timeout", "internal/translog", "origin/auditlog", "origin/job", "origin/keyring",
		"origin/store"},
	"origin/snapshot":   {"", "internal/rankingfile", "origin/job", "origin/objects", "origin/store"},
	"origin/dump":       {"", "origin/export", "origin/job", "origin/objects", "origin/store", "origin/store/replica"},
	"origin/event":      {"", "internal/timeout", "origin/store", "origin/store/replica", "internal/trace"},
	"origin/job":        {"internal/timeout", "origin/store"},
	"origin/logstream":  {"", "cache/stream", "internal/timeout", "origin/event", "origin/job", "origin/store"},
	"origin/keyring":    {},
	"origin/validation": {""},

	"origin/asyncapi": {},
	"origin/api": {"", "internal/slots", "internal/timeout", "origin/asyncapi", "cache/rfc9111", "origin",
		"origin/accessrequest",
		"origin/acme", "origin/attachment",
		"origin/botauth", "origin/intake", "origin/module",
		"origin/idempotency", "origin/webhook", "origin/access",
		"origin/auditlog", "origin/event",
		"origin/llms", "origin/llms/probe", "origin/ics", "origin/alert", "origin/mission", "origin/sla",
		"origin/brand", "origin/cdn", "origin/claim", "origin/export", "origin/offer", "origin/sitecheck",
		"origin/dump", "origin/publiclog", "origin/snapshot", "origin/standing", "origin/example",
		"origin/playground", "origin/portal", "origin/technician", "origin/testclock", "origin/testworld",
		"origin/visibility", "origin/visibility/study"},
	"origin/owner": {"", "origin", "origin/access", "origin/auditlog", "origin/brand", "origin/claim", "origin/llms",
		"origin/mail", "origin/web", "origin/webhook", "internal/timeout"},
	"origin/portal": {"", "internal/timeout", "origin/auditlog", "origin/event", "origin/keyring", "origin/store",
		"origin/validation", "origin/web", "origin/webhook"},
	"origin/technician": {"", "internal/timeout", "internal/ui", "origin/access", "origin/attachment",
		"origin/auditlog",
		"origin/idempotency", "origin/job", "origin/keyring", "origin/mission", "origin/store", "origin/validation",
		"origin/web"},
	"origin/web":                 {"", "cache/rfc9111", "internal/ui", "origin/access"},
	"origin/chart":               {""},
	"origin/visibility/estimate": {""},
	"origin/visibility": {"", "origin/access", "origin/event", "origin/job", "origin/store", "origin/validation",
		"origin/visibility/study", "origin/visibility/validity"},
	"origin/visibility/validity":    {""},
	"origin/visibility/study":       {"", "origin/validation", "origin/visibility/estimate"},
	"origin/visibility/panel":       {""},
	"origin/visibility/engine":      {"origin/safehttp"},
	"origin/visibility/engine/fake": {},
	"origin/visibility/plan":        {"", "origin/validation", "origin/visibility/engine", "origin/visibility/panel"},
	"origin/visibility/sampler": {"", "internal/atomicfile", "internal/timeout",
		"origin/visibility/engine", "origin/visibility/estimate",
		"origin/visibility/panel", "origin/visibility/plan", "origin/visibility/study"},
	"origin/admin": {"", "origin/attachment", "origin/intake", "origin/offer", "origin/idempotency",
		"internal/timeout", "internal/ui", "origin/chart", "origin/monitor", "origin/web", "origin",
		"origin/accessrequest", "origin/acme", "origin/cdn", "origin/event", "origin/module", "origin/offer",
		"origin/webhook", "origin/access", "origin/auditlog",
		"origin/mission",
		"origin/brand", "origin/claim", "origin/export", "origin/portal", "origin/technician",
		"origin/visibility", "origin/visibility/study"},
	"origin/client": {"", "client", "internal/timeout", "origin/keyring"},
	"origin/store": {"", "internal/atomicfile", "origin/sla", "origin/store/check", "origin/store/commit",
		"origin/store/partition",
		"origin/store/pooler", "origin/store/replica", "internal/gcra", "internal/timeout", "internal/trace"},
	"origin/store/check":     {"", "internal/translog"},
	"origin/store/commit":    {"internal/timeout"},
	"origin/store/partition": {},
	"origin/store/pooler":    {},
	"origin/store/replica":   {"internal/timeout"},
	"origin/example":         {},
	"origin/sla":             {""},
	"origin/mission": {"", "origin/access", "origin/alert", "origin/auditlog", "origin/event", "origin/export",
		"origin/ics",
		"origin/idempotency", "origin/job",
		"origin/keyring", "origin/sla", "origin/store", "origin/validation"},
	"origin/idempotency":   {"", "origin/job", "origin/keyring", "origin/store"},
	"origin/audit/observe": {},
	"origin/audit/robots":  {},
	"origin/audit/prose":   {},
	"origin/audit/schema":  {},
	"origin/audit/style":   {},
	"origin/audit": {"", "internal/timeout", "origin/audit/observe", "origin/audit/prose", "origin/audit/robots",
		"origin/audit/schema", "origin/audit/style",
		"origin/injection", "origin/safehttp", "origin/llms"},
	"origin/webhook": {"", "internal/gcra", "internal/timeout", "cache/rfc9111", "origin/access", "origin/auditlog",
		"origin/event", "origin/job", "origin/keyring", "origin/safehttp", "origin/store", "origin/validation",
		"internal/trace"},
	"origin/safehttp":  {"", "internal/timeout"},
	"origin/llms":      {"", "origin/injection"},
	"origin/injection": {},
	"origin/ics":       {},
	"origin/alert":     {""},

	"origin/llms/probe": {"", "internal/timeout", "origin/llms", "origin/safehttp"},

	"internal/rankingfile": {"", "wasm/scoring"},

	"internal/gcra":       {},
	"internal/slots":      {},
	"internal/timeout":    {},
	"internal/atomicfile": {},
	"internal/translog":   {""},
	"internal/trace":      {"internal/timeout"},
	"internal/ui":         {},

	// For tests only.
	"internal/testkit/acmetest":    {"internal/testkit/porttest"},
	"internal/testkit/browsertest": {"internal/testkit/waittest"},
	"internal/testkit/cachetest": {"cache", "internal/testkit/porttest", "internal/testkit/waittest",
		"internal/timeout"},
	"internal/testkit/formtest":     {},
	"internal/testkit/logtest":      {},
	"internal/testkit/releasedtest": {},
	"internal/testkit/sdktest":      {},
	"internal/testkit/porttest":     {},
	"internal/testkit/recordtest":   {"", "origin/store", "internal/testkit/storetest"},
	"internal/testkit/storetest":    {"origin/store", "internal/testkit/waittest"},
	"internal/testkit/studytest":    {"", "origin/visibility/study"},
	"internal/testkit/waittest":     {},
	"internal/testkit/wasmtest":     {"", "wasm", "wasm/abi", "wasm/card", "wasm/examples"},
}

// homes maps each technology to the only packages that may import it.
var homes = map[string][]string{
	"github.com/valyala/fasthttp":    {"edge", "edge/compress", "edge/conn", "edge/mcp", "edge/proxy"},
	"github.com/dunglas/httpsfv":     {"cache/rfc9111", "origin/audit/observe"},
	"github.com/quic-go/":            {"edge/conn/h3"},
	"github.com/tetratelabs/wazero":  {"wasm"},
	"github.com/dgraph-io/ristretto": {"cache"},
	"modernc.org/sqlite":             {"edge/spool", "origin/store", "origin/store/check"},
	"github.com/pressly/goose":       {"origin/store"},
	"database/sql": {"edge/spool", "origin/store", "origin/store/check", "origin/store/commit",
		"origin/store/partition", "origin/store/replica", "internal/testkit/storetest"},
	"github.com/jackc/pgx": {"origin/store", "origin/store/commit", "origin/store/pooler",
		"internal/testkit/storetest"},
	"github.com/danielgtaylor/huma":      {"origin/api", "origin/example"},
	"github.com/alecthomas/kong":         {"cmd/fieldmark"},
	"github.com/jimsmart/grobotstxt":     {"origin/audit/robots", "origin/llms/probe"},
	"code.dny.dev/ssrf":                  {"origin/safehttp"},
	"github.com/yuin/goldmark":           {"edge/developer", "origin/llms", "origin/visibility/panel"},
	"github.com/tdewolff/minify":         {"edge/site"},
	"github.com/tdewolff/parse":          {"origin/audit/style"},
	"github.com/VictoriaMetrics/metrics": {"edge", "cmd/fieldmark"},
	"golang.org/x/crypto/argon2":         {"origin/access"},
	"github.com/go-json-experiment/json": {"origin/api"},
	"golang.org/x/term":                  {"cmd/fieldmark", "cmd/fieldmark/command"},
	"github.com/jotaen/kong-completion":  {"cmd/fieldmark"},
	"os/exec": {"cmd/fieldmark/author", "deploy/release", "internal/testkit/cachetest",
		"internal/testkit/sdktest", "internal/testkit/storetest", "internal/testkit/browsertest",
		"internal/testkit/wasmtest"},
	"golang.org/x/mod": {"cmd/fieldmark/witness", "internal/translog", "origin/publiclog",
		"origin/store/check"},
	"github.com/minio/minio-go":         {"origin/objects"},
	"github.com/johannesboyne/gofakes3": {},
	"github.com/mholt/acmez":            {"origin/acme"},
	"github.com/letsencrypt/":           {"internal/testkit/acmetest"},
	"github.com/wneessen/go-mail":       {"origin/mail"},
	"github.com/redis/go-redis/v9":      {"cache", "cache/stream"},
	"github.com/maypok86/otter":         {},
	"unsafe":                            {"edge", "edge/conn", "cache", "wasm", "wasm/guest"},
	"net/http/pprof":                    {"cmd/fieldmark"},
	"golang.org/x/net/html": {"origin/audit", "origin/audit/schema", "origin/audit/style",
		"origin/llms/probe", "internal/testkit/formtest"},
	"golang.org/x/image/font/sfnt":    {},
	"github.com/rogpeppe/go-internal": {},
	"github.com/chromedp/":            {"internal/testkit/browsertest"},
	"github.com/google/go-cmp":        {},
	"github.com/standard-webhooks/":   {},
	"github.com/emersion/go-ical":     {},
	"golang.org/x/net/publicsuffix": {"origin/audit", "origin/claim", "origin/sitecheck",
		"origin/visibility/panel"},
	"golang.org/x/text/language": {"edge/badge", "origin/audit", "origin/llms", "origin/api", "origin/brand",
		"origin/visibility/plan", "origin/visibility/study"},
	"go.yaml.in/yaml/v3":           {"cmd/fieldmark/author", "origin/visibility/plan"},
	"github.com/pquerna/otp":       {"origin/access"},
	"github.com/boombuler/barcode": {"origin/admin"},
	"github.com/coreos/go-oidc":    {"origin/access/oidc"},
	"golang.org/x/oauth2":          {"origin/access/oidc"},
	"go.opentelemetry.io/":         {},
	"google.golang.org/protobuf":   {},
	"github.com/fieldmark/fieldmark/wasm": {"edge", "wasm", "internal/testkit/wasmtest", "wasm/examples",
		"wasm/examples/go/shop", "wasm/card", "wasm/abi", "wasm/geo", "wasm/scoring", "edge/ranking", "edge/site",
		"internal/rankingfile",
		"cmd/fieldmark", "cmd/fieldmark/author"},
}

type goPackage struct {
	ImportPath   string
	Name         string
	Dir          string
	GoFiles      []string
	TestGoFiles  []string
	XTestGoFiles []string
	Imports      []string
	Standard     bool
}

// listPackages runs go list and returns every package.
func listPackages(t *testing.T, patterns ...string) []goPackage {
	t.Helper()
	out, err := exec.Command("go",
		append([]string{"list", "-json=ImportPath,Name,Dir,GoFiles,TestGoFiles,XTestGoFiles,Imports,Standard"},
			patterns...)...).Output()
	if err != nil {
		t.Fatalf("go list %v: %v", patterns, err)
	}
	var all []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("go list output: %v", err)
		}
		all = append(all, p)
	}
}

// room returns the path of a package relative to the module, "" for the root.
func room(importPath string) (string, bool) {
	rest, ok := strings.CutPrefix(importPath, modulePath)
	return strings.TrimPrefix(rest, "/"), ok
}

func TestImports(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range listPackages(t, "./...") {
		name, _ := room(p.ImportPath)
		if strings.Contains(name, "internal/gen") {
			continue // generators run by hand are not part of the product
		}
		seen[name] = true
		allowed, ok := mayImport[name]
		if !ok {
			t.Errorf("package %q is not in the table", name)
			continue
		}
		for _, imp := range p.Imports {
			checkImport(t, name, imp, allowed)
		}
	}
	for name := range mayImport {
		if !seen[name] {
			t.Errorf("the table names package %q, which does not exist", name)
		}
	}
}

func checkImport(t *testing.T, name, imp string, allowed []string) {
	t.Helper()
	if target, ours := room(imp); ours {
		if !slices.Contains(allowed, target) && !slices.Contains(allowed, "*") {
			t.Errorf("package %q imports %q; it may import %q", name, target, allowed)
		}
	} else if name == "" && strings.Contains(strings.SplitN(imp, "/", 2)[0], ".") {
		t.Errorf("the root package imports %s; it may import the standard library only", imp)
	}
	for tech, allowed := range homes {
		if (imp == tech || strings.HasPrefix(imp, tech+"/") ||
			strings.HasSuffix(tech, "/") && strings.HasPrefix(imp, tech)) && !slices.Contains(allowed, name) {
			t.Errorf("package %q imports %s, which only %q may import", name, imp, allowed)
		}
	}
}

// TestRootDoesNothing checks that the root package uses no files, network, clock or
// goroutines.
func TestRootDoesNothing(t *testing.T) {
	for _, p := range listPackages(t, ".") {
		for _, imp := range p.Imports {
			if slices.Contains([]string{"os", "io", "net", "context", "sync", "log", "log/slog", "math/rand/v2"}, imp) {
				t.Errorf("the root package imports %s", imp)
			}
		}
	}
}

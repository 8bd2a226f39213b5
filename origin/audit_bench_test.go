package origin_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
)

// BenchmarkAuditThousand audits a thousand brands at the default concurrency,
// without delays between requests, against a loopback server that responds after
// 20 ms. It reports the peak memory.
func BenchmarkAuditThousand(b *testing.B) {
	const brands = 1000
	var asked atomic.Int64
	page := "<!doctype html><html lang=en><title>Acme makes anvils</title><main><h1>Acme</h1>" +
		strings.Repeat("<p>Anvils of 20 kg for 30 %% of everyone, <a href=/about>about</a> <a "+
			"href=/contact>contact</a>.", 60) + "</main></html>"
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		time.Sleep(20 * time.Millisecond)
		switch r.URL.Path {
		case "/", "/about", "/contact", "/a", "/b", "/c", "/d", "/e", "/f", "/g":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			io.WriteString(w, page)
		case "/sitemap.xml":
			w.Header().Set("Content-Type", "application/xml")
			io.WriteString(w, "<urlset>")
			for _, p := range "abcdefg" {
				fmt.Fprintf(w, "<url><loc>http://%s/%c</loc></url>", r.Host, p)
			}
			io.WriteString(w, "</urlset>")
		default:
			http.NotFound(w, r)
		}
	}))
	var err error
	web.Listener.Close()
	if web.Listener, err = net.Listen("tcp", "0.0.0.0:0"); err != nil { // one host per brand
		b.Fatal(err)
	}
	port := web.Listener.Addr().(*net.TCPAddr).Port
	web.Start()
	defer web.Close()
	for b.Loop() {
		w := newFixture(b)
		var list []fieldmark.Brand
		for i := range brands {
			list = append(list, fieldmark.Brand{Slug: fieldmark.Slug(fmt.Sprintf("b%04d", i)), Name: "Acme",
				URL: fmt.Sprintf("http://127.1.%d.%d:%d/", i/250, i%250+1, port), Niche: "tools", Language: "en",
				Public: true})
		}
		if report, err := w.Brands.Import(b.Context(), list); err != nil || report.Added != brands {
			b.Fatalf("import: %+v, %v", report, err)
		}
		for _, brand := range list {
			if err := w.Brands.Audits.Request(b.Context(), brand.Slug); err != nil {
				b.Fatal(err)
			}
		}
		runtime.GC()
		began, most := time.Now(), uint64(0)
		asked.Store(0)
		stop := w.run(b)
		for left := 1; left > 0; {
			waiting, running, err := w.Brands.Audits.Status(context.Background())
			if err != nil {
				b.Fatal(err)
			}
			left = waiting + running
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
			time.Sleep(100 * time.Millisecond)
		}
		took := time.Since(began)
		stop()
		b.ReportMetric(took.Seconds(), "s/1000-brands")
		b.ReportMetric(float64(most)/(1<<20), "MiB-most")
		b.ReportMetric(float64(asked.Load())/brands, "requests/brand")
	}
}

package cdn_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
)

// BenchmarkBehindVarnish counts the requests to edges at equal traffic: without a CDN, behind the Varnish of
// deploy/ with the short lifetime, and with the long one. All lifetimes are 150 times shorter than real ones,
// 2 s for 5 minutes and 24 s for an hour, so that two hours of traffic take 48 s.
func BenchmarkBehindVarnish(b *testing.B) {
	const short, long = 2, 24 // seconds
	const traffic, pause, brands = 2*long*time.Second - time.Second, 5 * time.Millisecond, 10
	control := fmt.Sprintf("public, max-age=%d, s-maxage=%d", short, short)
	f := newFixture(b)
	edges, addresses := map[string]*edges{}, map[string]string{}
	for _, name := range []string{"direct", "short", "long"} {
		e := newEdges(b)
		e.control, e.lifetime = control, ""
		edges[name], addresses[name] = e, e.URL
		if name == "direct" {
			continue
		}
		if name == "long" {
			e.lifetime = fieldmark.CDNLifetime{Seconds: long}.Control()
		}
		addresses[name] = startVarnish(b, e.URL).URL
		f.put(name, fieldmark.CDNRequest{Token: token, CDNSettings: fieldmark.CDNSettings{Kind: fieldmark.CDNVarnish,
			URLs: []string{addresses[name]}}})
	}
	for b.Loop() {
		begin := time.Now()
		asked := map[string]int64{}
		for name, e := range edges {
			asked[name] = -e.asked.Load()
		}
		for i := 0; time.Since(begin) < traffic; i++ {
			slug := fmt.Sprintf("b-%04d", i%brands)
			if i == 100 { // one of ten brands changes in the two hours
				for _, e := range edges {
					e.set(slug, i)
				}
				f.change(fieldmark.TagBrand(fieldmark.Slug(slug)))
			}
			for _, address := range addresses {
				if status, _, _ := fetch(b, address+fieldmark.PathBadge+slug); status != http.StatusOK {
					b.Fatalf("%s: status %d", slug, status)
				}
			}
			time.Sleep(pause)
		}
		for name, e := range edges {
			asked[name] += e.asked.Load()
		}
		b.ReportMetric(float64(asked["short"])/float64(asked["direct"]), "short/direct")
		b.ReportMetric(float64(asked["long"])/float64(asked["direct"]), "long/direct")
		b.ReportMetric(float64(asked["long"])/float64(asked["short"]), "long/short")
	}
}

package demo

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
)

// Site is a brand and its website.
type Site struct {
	Slug        fieldmark.Slug
	Name        string
	Niche       string // a slug
	Language    string // BCP 47
	Description string
	Host        string // without a port; a name under .localhost (RFC 6761)
}

// sites are all websites. The files of a site are in the folder sites/SLUG; a site without
// a folder cannot be reached.
var sites = []Site{
	{"alpenglow", "Alpenglow Gear", "independent-shops", "en",
		"A workshop in Chur that repairs, rents and resells mountain equipment, so that good gear stays on the " +
			"mountain.", "alpenglow.localhost"},
	{"brotwerk", "Brotwerk Lindenau", "independent-shops", "de",
		"Eine Leipziger Sauerteigbäckerei mit eigener Steinmühle und Getreide von elf Höfen der Umgebung.",
		"brotwerk.localhost"},
	{"atelier-mistral", "Atelier Mistral", "cycling", "fr",
		"Un atelier nantais qui construit et répare des vélos-cargos pour les familles et les artisans.",
		"atelier-mistral.localhost"},
	{"yamanoto", "山の音", "independent-shops", "ja", "信楽の窯元から直接届ける、日々の食卓のための器の店。", "yamanoto.localhost"},
	{"wahat-alnakheel", "واحة النخيل", "food", "ar",
		"مزرعة عائلية في الأحساء تزرع التمور وتشحنها مباشرة من النخلة إلى البيت.", "wahat-alnakheel.localhost"},
	{"casa-lumbre", "Casa Lumbre", "hospitality", "es",
		"Una casa rural de siete habitaciones en la Sierra de Aracena, con chimenea, huerto y cocina de temporada.",
		"casa-lumbre.localhost"},
	{"stille-pers", "Stille Pers", "publishing", "nl",
		"Een kleine Utrechtse uitgeverij van vertaalde poëzie en essays, gedrukt op een eigen pers.",
		"stille-pers.localhost"},
	{"ferrum-parts", "Ferrum Parts", "industry", "en",
		"A supplier of bearings, belts and seals for machines that are no longer made.", "ferrum-parts.localhost"},
	{"nimbusly", "Nimbusly", "software", "en", "A shared calendar for teams that work in shifts.",
		"nimbusly.localhost"},
	{"fjordklinikken", "Fjordklinikken", "health", "nb", "En tannklinikk ved Hardangerfjorden med time samme uke.",
		"fjordklinikken.localhost"},
}

// Sites returns the sites in a fixed order.
func Sites() []Site { return slices.Clone(sites) }

// SiteURL returns the addresses of the sites for the port that Handler listens on.
func SiteURL(port int) func(Site) string {
	return func(s Site) string { return "http://" + net.JoinHostPort(s.Host, strconv.Itoa(port)) }
}

// ConnectTo returns where each site can be reached on this machine, as --check-connect-to
// takes it.
func ConnectTo(port int) (list []string) {
	for _, s := range sites {
		list = append(list, fmt.Sprintf("%s:%d:127.0.0.1:%d", s.Host, port, port))
	}
	return list
}

// Handler serves every site under its Host. base returns the URL of a site without a slash
// at the end, such as "http://alpenglow.localhost:8088". Pages are rendered once, with
// dates relative to today.
func Handler(base func(site Site) string) http.Handler { return Edition(base, 0) }

// Past returns the ages, in days, of the editions that differ from today's, oldest first.
func Past() []int { return []int{93, 27, 8} }

// Edition serves the sites as they were a number of days ago: with the pages and the dates
// of that time.
func Edition(base func(site Site) string, ago int) http.Handler {
	day := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -ago)
	w := web{}
	for _, site := range sites {
		w[site.Host] = render(site, base(site), day, ago)
	}
	return w
}

// web holds pages by host and path. A host without pages cannot be reached.
type web map[string]map[string]page

// notFound is the path of the page that a site shows for unknown paths.
const notFound = "/404"

// ServeHTTP implements http.Handler.
func (w web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	host := strings.ToLower(r.Host)
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	pages, known := w[host]
	if !known {
		http.NotFound(rw, r)
		return
	}
	if len(pages) == 0 {
		// The client sees a server that fails in the middle of a response.
		panic(http.ErrAbortHandler)
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		rw.Header().Set("Allow", "GET, HEAD")
		http.Error(rw, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	status := http.StatusOK
	p, ok := pages[r.URL.Path]
	if !ok || r.URL.Path == notFound {
		if p, ok = pages[notFound]; !ok {
			http.NotFound(rw, r)
			return
		}
		status = http.StatusNotFound
	}
	for name, values := range p.header {
		rw.Header()[name] = values
	}
	rw.WriteHeader(status)
	if r.Method == http.MethodGet {
		_, _ = rw.Write(p.body) // the client may have disconnected
	}
}

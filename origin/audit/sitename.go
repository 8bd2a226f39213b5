package audit

import (
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// maxTitleName is how many words a part of a title has that may be a name.
const maxTitleName = 4

// siteName is what to call a brand whose name is not given: the registrable label
// of the host (peaklogbooks for www.peaklogbooks.co.uk), or what the site calls
// itself, whichever most places name. The label wins a tie, as it is no claim of
// the site.
func (f *site) siteName(o *organization) string {
	label := hostLabel(f.home.url.Hostname())
	candidates := []string{label, f.home.meta("og:site_name"), f.structuredName(o)}
	joined := strings.Join(plainWords(label), "")
	for _, part := range strings.FieldsFunc(f.home.title, func(r rune) bool { return strings.ContainsRune("|–—·:-", r) }) {
		words := plainWords(part)
		name := strings.Join(words, "")
		// Git at git-scm.com, Acme Tools at acme.com
		if len(words) > 0 && len(words) <= maxTitleName && (strings.HasPrefix(joined, name) || strings.HasPrefix(name, joined)) {
			candidates = append(candidates, strings.TrimSpace(part))
		}
	}
	best, most := label, 0
	for _, c := range candidates {
		if strings.TrimSpace(c) == "" {
			continue
		}
		n := 0
		for _, p := range f.namedPlaces(o) {
			if p.names(c) {
				n++
			}
		}
		if n > most {
			best, most = c, n
		}
	}
	return best
}

// hostLabel returns the label of a host in front of its public suffix, in Unicode;
// the host itself where there is none.
func hostLabel(host string) string {
	domain, err := publicsuffix.EffectiveTLDPlusOne(strings.TrimSuffix(strings.ToLower(host), "."))
	if err != nil {
		return host
	}
	label, _, _ := strings.Cut(domain, ".")
	if u, err := idna.Display.ToUnicode(label); err == nil {
		return u
	}
	return label
}

// withoutSuffixes writes each host name in a text as its label: dokuna for
// dokuna.de.
func withoutSuffixes(text string) string {
	words := strings.Fields(text)
	for i, w := range words {
		w = strings.ToLower(strings.Trim(w, `.,:;!?()[]"'“”„«»/`))
		if _, after, ok := strings.Cut(w, "://"); ok {
			w = after
		}
		if suffix, icann := publicsuffix.PublicSuffix(w); icann && len(suffix) < len(w) && !strings.ContainsAny(w, "/@") {
			words[i] = hostLabel(w)
		}
	}
	return strings.Join(words, " ")
}

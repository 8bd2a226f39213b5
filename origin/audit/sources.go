package audit

import (
	"net/url"
	"slices"
	"strings"
)

// socialDomains are linked from everywhere; a link to a profile cites nothing.
// Encyclopedias and code hosts are sources like any other.
var socialDomains = setOf("facebook.com", "fb.me", "twitter.com", "x.com", "instagram.com", "linkedin.com",
	"lnkd.in", "youtube.com", "youtu.be", "tiktok.com", "pinterest.com", "threads.net", "threads.com",
	"bsky.app", "t.co", "t.me", "telegram.me", "wa.me", "whatsapp.com", "reddit.com", "vk.com", "weibo.com",
	"xing.com", "line.me", "discord.gg", "discord.com", "snapchat.com", "tumblr.com", "addtoany.com",
	"sharethis.com")

// otherDomains are those of maps, link shorteners, link lists, app stores and
// marketplaces. They show a place, hide an address or sell something.
var otherDomains = setOf(
	"goo.gl", "g.page", "g.co", "waze.com", "openstreetmap.org", "osm.org", "mapy.cz", "mapy.com", "amap.com",
	"2gis.ru", "here.com", "mapbox.com", "what3words.com",
	"bit.ly", "bitly.com", "tinyurl.com", "ow.ly", "is.gd", "v.gd", "buff.ly", "rebrand.ly", "cutt.ly", "rb.gy",
	"t.ly", "tiny.cc", "shorturl.at", "s.id", "dub.sh", "amzn.to", "amzn.eu", "linktr.ee", "linkin.bio",
	"beacons.ai", "carrd.co",
	"aliexpress.com", "alibaba.com", "taobao.com", "tmall.com", "jd.com", "walmart.com", "etsy.com", "flipkart.com",
	"coupang.com", "ozon.ru", "wildberries.ru", "trendyol.com", "hepsiburada.com", "bol.com", "otto.de",
	"cdiscount.com", "emag.ro", "ubereats.com", "doordash.com", "wolt.com", "paypal.com", "paypal.me")

// otherNames are the same where one name has domains in many countries.
var otherNames = setOf("amazon", "ebay", "rakuten", "allegro", "zalando", "shopee", "lazada", "mercadolibre",
	"mercadolivre", "airbnb", "booking", "opentable", "lieferando", "deliveroo", "justeat")

// otherHosts are single hosts of domains that otherwise publish sources.
var otherHosts = setOf("maps.apple.com", "apps.apple.com", "play.google.com", "map.baidu.com", "map.naver.com",
	"map.kakao.com", "business.google.com", "search.google.com", "accounts.google.com", "calendar.google.com",
	"drive.google.com", "docs.google.com")

// isSource reports whether a link may lead to what supports a claim, judged by
// its host alone.
func isSource(u *url.URL) bool {
	d, host := domain(u), u.Hostname()
	name, _, _ := strings.Cut(d, ".")
	switch {
	case socialDomains[d], otherDomains[d], otherNames[name], otherHosts[host]:
		return false
	case name == "google": // search, maps and sign-in; documents have hosts of their own
		return host != d && host != "www."+d && !strings.HasPrefix(host, "maps.")
	case name == "yandex", name == "bing":
		return !strings.HasPrefix(host, "maps.") && !strings.HasPrefix(u.Path, "/maps")
	}
	return true
}

// accounts are the names and addresses under which a brand appears on the sites of
// others, such as code hosts.
type accounts struct {
	addresses []*url.URL // that its structured data claims
	names     []string   // letters and digits alone: of the brand and of its domain
}

func (f *site) accounts() accounts {
	label, _, _ := strings.Cut(domain(f.home.url), ".")
	own := accounts{names: []string{plainName(label)}}
	if name := plainName(strings.Join(nameWords(f.subject.Name), "")); name != "" {
		own.names = append(own.names, name)
	}
	if o := f.organization(); o != nil {
		for _, s := range o.sameAs {
			if u := resolve(f.home.url, s); u != nil {
				own.addresses = append(own.addresses, u)
			}
		}
	}
	return own
}

// plainName reduces a name to what accounts are named: its letters and digits.
func plainName(s string) string { return strings.ReplaceAll(slug(s), "-", "") }

// maxAccountDepth is how many segments into a path an account is named:
// github.com/NAME, npmjs.com/org/NAME.
const maxAccountDepth = 2

// hold reports whether an address belongs to one of the brand's accounts: it is
// under an address the brand claims, or the host or path names the brand on a
// site that gives everyone a page.
func (a accounts) hold(u *url.URL) bool {
	for _, own := range a.addresses {
		base := strings.ToLower(strings.TrimSuffix(own.Path, "/")) + "/"
		if base != "/" && domain(own) == domain(u) && strings.HasPrefix(strings.ToLower(u.Path)+"/", base) {
			return true
		}
	}
	label, _, _ := strings.Cut(u.Hostname(), ".")
	if slices.Contains(a.names, plainName(label)) && hosting(u) {
		return true
	}
	if !profileDomains[domain(u)] {
		return false
	}
	segments := strings.Split(strings.Trim(u.Path, "/"), "/")
	return slices.ContainsFunc(segments[:min(len(segments), maxAccountDepth)], func(s string) bool {
		return slices.Contains(a.names, plainName(strings.TrimPrefix(s, "@")))
	})
}

// hosting reports whether the first label of a host is an account: of a profile
// site, or under a public suffix that is a hosting service, such as github.io.
func hosting(u *url.URL) bool {
	suffix, icann := publicSuffix(u)
	return !icann && strings.Contains(suffix, ".") || profileDomains[domain(u)]
}

package robots

import "strings"

// Role is the purpose for which a crawler fetches pages.
type Role string

// Only answer crawlers and user fetchers have facts: they decide whether a page can
// be quoted in an answer. Blocking training crawlers is the site's decision and
// does not affect facts.
const (
	RoleAnswer   Role = "answer"   // builds the index that answers use
	RoleFetch    Role = "fetch"    // fetches a page at the request of a person
	RoleTraining Role = "training" // collects training data, or is a token to opt out of it
)

// Crawler is a product token that robots.txt files use.
type Crawler struct {
	Vendor   string
	Token    string
	Role     Role
	Fact     string // the fact it contributes to; "" for none
	Source   string // documentation of the vendor
	Verified string // date of the last check of that page
}

// verifiedOn is when the vendors' pages were last checked. Check an old entry again
// before relying on it.
const verifiedOn = "2026-08-28"

// Crawlers lists the crawlers by role, the most important first.
var Crawlers = []Crawler{
	{"Google", "Googlebot", RoleAnswer, "crawler.googlebot",
		"https://developers.google.com/search/docs/crawling-indexing/google-common-crawlers", verifiedOn},
	{"OpenAI", "OAI-SearchBot", RoleAnswer, "crawler.oai-searchbot", "https://platform.openai.com/docs/bots",
		verifiedOn},
	{"Microsoft", "Bingbot", RoleAnswer, "crawler.bingbot",
		"https://www.bing.com/webmasters/help/which-crawlers-does-bing-use-8c184ec0", verifiedOn},
	{"Perplexity", "PerplexityBot", RoleAnswer, "crawler.perplexitybot", "https://docs.perplexity.ai/guides/bots",
		verifiedOn},
	{"Anthropic", "Claude-SearchBot", RoleAnswer, "crawler.claude-searchbot",
		"https://support.anthropic.com/en/articles/8896518", verifiedOn},
	{"Apple", "Applebot", RoleAnswer, "crawler.others", "https://support.apple.com/en-us/119829", verifiedOn},
	{"Amazon", "Amzn-SearchBot", RoleAnswer, "crawler.others", "https://developer.amazon.com/amazonbot", verifiedOn},
	{"Meta", "meta-webindexer", RoleAnswer, "crawler.others",
		"https://developers.facebook.com/docs/sharing/webmasters/web-crawlers", verifiedOn},
	{"Mistral", "MistralAI-Index", RoleAnswer, "crawler.others", "https://docs.mistral.ai/robots", verifiedOn},
	{"DuckDuckGo", "DuckAssistBot", RoleAnswer, "crawler.others",
		"https://duckduckgo.com/duckduckgo-help-pages/results/duckassistbot", verifiedOn},

	{"OpenAI", "ChatGPT-User", RoleFetch, "fetcher.share", "https://platform.openai.com/docs/bots", verifiedOn},
	{"Anthropic", "Claude-User", RoleFetch, "fetcher.share", "https://support.anthropic.com/en/articles/8896518",
		verifiedOn},
	{"Perplexity", "Perplexity-User", RoleFetch, "fetcher.share", "https://docs.perplexity.ai/guides/bots", verifiedOn},
	{"Mistral", "MistralAI-User", RoleFetch, "fetcher.share", "https://docs.mistral.ai/robots", verifiedOn},
	{"Amazon", "Amzn-User", RoleFetch, "fetcher.share", "https://developer.amazon.com/amazonbot", verifiedOn},

	// These fetch for people too, but their documentation does not say how they use
	// robots.txt, or says that they may ignore it.
	{"Google", "Google-Agent", RoleFetch, "",
		"https://developers.google.com/search/docs/crawling-indexing/google-user-triggered-fetchers", verifiedOn},
	{"Meta", "meta-externalfetcher", RoleFetch, "",
		"https://developers.facebook.com/docs/sharing/webmasters/web-crawlers", verifiedOn},

	{"OpenAI", "GPTBot", RoleTraining, "", "https://platform.openai.com/docs/bots", verifiedOn},
	{"Anthropic", "ClaudeBot", RoleTraining, "", "https://support.anthropic.com/en/articles/8896518", verifiedOn},
	{"Google", "Google-Extended", RoleTraining, "",
		"https://developers.google.com/search/docs/crawling-indexing/google-common-crawlers", verifiedOn},
	{"Apple", "Applebot-Extended", RoleTraining, "", "https://support.apple.com/en-us/119829", verifiedOn},
	{"Amazon", "Amazonbot", RoleTraining, "", "https://developer.amazon.com/amazonbot", verifiedOn},
	{"Meta", "meta-externalagent", RoleTraining, "",
		"https://developers.facebook.com/docs/sharing/webmasters/web-crawlers", verifiedOn},
	{"Mistral", "MistralAI-Training", RoleTraining, "", "https://docs.mistral.ai/robots", verifiedOn},
	{"Google", "Google-CloudVertexBot", RoleTraining, "",
		"https://developers.google.com/search/docs/crawling-indexing/google-common-crawlers", verifiedOn},
	{"Meta", "FacebookBot", RoleTraining, "", "https://developers.facebook.com/docs/sharing/webmasters/web-crawlers",
		verifiedOn},
	{"ByteDance", "Bytespider", RoleTraining, "", "https://github.com/ai-robots-txt/ai.robots.txt", verifiedOn},
	{"Cohere", "cohere-ai", RoleTraining, "", "https://github.com/ai-robots-txt/ai.robots.txt", verifiedOn},
	{"Ai2", "AI2Bot", RoleTraining, "", "https://allenai.org/crawler", verifiedOn},
	{"DeepSeek", "DeepSeekBot", RoleTraining, "", "https://github.com/ai-robots-txt/ai.robots.txt", verifiedOn},
	{"Huawei", "PetalBot", RoleTraining, "", "https://aspiegel.com/petalbot", verifiedOn},
	{"Common Crawl", "CCBot", RoleTraining, "", "https://commoncrawl.org/ccbot", verifiedOn},
}

// IsAnswerCrawler reports whether name is an answer crawler, ignoring case. Meta
// elements and header fields address crawlers by name.
func IsAnswerCrawler(name string) bool {
	for _, c := range Crawlers {
		if c.Role == RoleAnswer && strings.EqualFold(c.Token, name) {
			return true
		}
	}
	return false
}

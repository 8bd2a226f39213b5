package audit

import "strings"

// role is the purpose for which a crawler fetches pages.
type role string

// Only answer crawlers and user fetchers have facts: they decide whether a page can
// be quoted in an answer. Blocking training crawlers is the site's decision and
// does not affect facts.
const (
	roleAnswer   role = "answer"   // builds the index that answers use
	roleFetch    role = "fetch"    // fetches a page at the request of a person
	roleTraining role = "training" // collects training data, or is a token to opt out of it
)

// crawler is a product token that robots.txt files use.
type crawler struct {
	vendor   string
	token    string
	role     role
	fact     string // the fact it contributes to; "" for none
	source   string // documentation of the vendor
	verified string // date of the last check of that page
}

// verifiedOn is when the vendors' pages were last checked. Check an old entry again
// before relying on it.
const verifiedOn = "2026-08-28"

// registry lists the crawlers by role, the most important first.
var registry = []crawler{
	{"Google", "Googlebot", roleAnswer, "crawler.googlebot",
		"https://developers.google.com/search/docs/crawling-indexing/google-common-crawlers", verifiedOn},
	{"OpenAI", "OAI-SearchBot", roleAnswer, "crawler.oai-searchbot", "https://platform.openai.com/docs/bots",
		verifiedOn},
	{"Microsoft", "Bingbot", roleAnswer, "crawler.bingbot",
		"https://www.bing.com/webmasters/help/which-crawlers-does-bing-use-8c184ec0", verifiedOn},
	{"Perplexity", "PerplexityBot", roleAnswer, "crawler.perplexitybot", "https://docs.perplexity.ai/guides/bots",
		verifiedOn},
	{"Anthropic", "Claude-SearchBot", roleAnswer, "crawler.claude-searchbot",
		"https://support.anthropic.com/en/articles/8896518", verifiedOn},
	{"Apple", "Applebot", roleAnswer, "crawler.others", "https://support.apple.com/en-us/119829", verifiedOn},
	{"Amazon", "Amzn-SearchBot", roleAnswer, "crawler.others", "https://developer.amazon.com/amazonbot", verifiedOn},
	{"Meta", "meta-webindexer", roleAnswer, "crawler.others",
		"https://developers.facebook.com/docs/sharing/webmasters/web-crawlers", verifiedOn},
	{"Mistral", "MistralAI-Index", roleAnswer, "crawler.others", "https://docs.mistral.ai/robots", verifiedOn},
	{"DuckDuckGo", "DuckAssistBot", roleAnswer, "crawler.others",
		"https://duckduckgo.com/duckduckgo-help-pages/results/duckassistbot", verifiedOn},

	{"OpenAI", "ChatGPT-User", roleFetch, "fetcher.share", "https://platform.openai.com/docs/bots", verifiedOn},
	{"Anthropic", "Claude-User", roleFetch, "fetcher.share", "https://support.anthropic.com/en/articles/8896518",
		verifiedOn},
	{"Perplexity", "Perplexity-User", roleFetch, "fetcher.share", "https://docs.perplexity.ai/guides/bots", verifiedOn},
	{"Mistral", "MistralAI-User", roleFetch, "fetcher.share", "https://docs.mistral.ai/robots", verifiedOn},
	{"Amazon", "Amzn-User", roleFetch, "fetcher.share", "https://developer.amazon.com/amazonbot", verifiedOn},

	// These fetch for people too, but their documentation does not say how they use
	// robots.txt, or says that they may ignore it.
	{"Google", "Google-Agent", roleFetch, "",
		"https://developers.google.com/search/docs/crawling-indexing/google-user-triggered-fetchers", verifiedOn},
	{"Meta", "meta-externalfetcher", roleFetch, "",
		"https://developers.facebook.com/docs/sharing/webmasters/web-crawlers", verifiedOn},

	{"OpenAI", "GPTBot", roleTraining, "", "https://platform.openai.com/docs/bots", verifiedOn},
	{"Anthropic", "ClaudeBot", roleTraining, "", "https://support.anthropic.com/en/articles/8896518", verifiedOn},
	{"Google", "Google-Extended", roleTraining, "",
		"https://developers.google.com/search/docs/crawling-indexing/google-common-crawlers", verifiedOn},
	{"Apple", "Applebot-Extended", roleTraining, "", "https://support.apple.com/en-us/119829", verifiedOn},
	{"Amazon", "Amazonbot", roleTraining, "", "https://developer.amazon.com/amazonbot", verifiedOn},
	{"Meta", "meta-externalagent", roleTraining, "",
		"https://developers.facebook.com/docs/sharing/webmasters/web-crawlers", verifiedOn},
	{"Mistral", "MistralAI-Training", roleTraining, "", "https://docs.mistral.ai/robots", verifiedOn},
	{"Google", "Google-CloudVertexBot", roleTraining, "",
		"https://developers.google.com/search/docs/crawling-indexing/google-common-crawlers", verifiedOn},
	{"Meta", "FacebookBot", roleTraining, "", "https://developers.facebook.com/docs/sharing/webmasters/web-crawlers",
		verifiedOn},
	{"ByteDance", "Bytespider", roleTraining, "", "https://github.com/ai-robots-txt/ai.robots.txt", verifiedOn},
	{"Cohere", "cohere-ai", roleTraining, "", "https://github.com/ai-robots-txt/ai.robots.txt", verifiedOn},
	{"Ai2", "AI2Bot", roleTraining, "", "https://allenai.org/crawler", verifiedOn},
	{"DeepSeek", "DeepSeekBot", roleTraining, "", "https://github.com/ai-robots-txt/ai.robots.txt", verifiedOn},
	{"Huawei", "PetalBot", roleTraining, "", "https://aspiegel.com/petalbot", verifiedOn},
	{"Common Crawl", "CCBot", roleTraining, "", "https://commoncrawl.org/ccbot", verifiedOn},
}

// answerToken reports whether name is an answer crawler, ignoring case. Meta
// elements and header fields address crawlers by name.
func answerToken(name string) bool {
	for _, c := range registry {
		if c.role == roleAnswer && strings.EqualFold(c.token, name) {
			return true
		}
	}
	return false
}

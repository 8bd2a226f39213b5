package site

import (
	"strings"

	"github.com/fieldmark/fieldmark"
)

// aboutView is what templates/about.html shows.
type aboutView struct {
	Head head
}

func newAboutView(c chrome, base string) *aboutView {
	v := &aboutView{Head: fixedHead(c, base, PathAbout, "About Fieldmark",
		"What Fieldmark measures and what it does not, who runs it, how it treats the sites it reads, and how to "+
			"reach us.")}
	v.Head.Text = true
	data := webPage(base, PathAbout, v.Head.Title, v.Head.Description)
	data["@type"], data["mainEntity"] = "AboutPage", publisher(base)
	v.Head.Data = data
	return v
}

// botView is what templates/bot.html shows.
type botView struct {
	Head      head
	Signed    bool   // requests of the auditor may be signed: the site has an https address
	Directory string // path of the key directory
}

func newBotView(c chrome, base string) *botView {
	v := &botView{Signed: strings.HasPrefix(base, "https://"), Directory: fieldmark.PathKeyDirectory,
		Head: fixedHead(c, base, fieldmark.PathBot, "FieldmarkBot, the crawler of this site",
			"Who FieldmarkBot is, why and how often it reads a website, how to recognise it by its signature, and "+
				"how to "+
				"keep it out or let it in.")}
	v.Head.Text = true
	return v
}

// LLMsPage is the data of the page that writes and checks an llms.txt.
type LLMsPage struct {
	BaseURL string            // scheme and host of the site, without a slash at the end
	Form    map[string]string // what was typed, by the name of the field
	Errors  map[string]string // what is wrong with it, by the name of the field; "" is the whole
	Result  *LLMsResult       // nil before a request
	Pages   []LLMsOffer       // of an audited site, to keep or drop
}

// LLMsOffer is a page that the file can list.
type LLMsOffer struct {
	URL, Title, Note string
	Keep             bool // it is in the file
}

// LLMsResult is a file with the verdict on it.
type LLMsResult struct {
	Made    bool // written here, rather than sent to be checked
	Content string
	Level   int // 0 to 4
	Issues  []LLMsIssue
	Notes   []string // warnings of the generator
	Header  string   // the header line that leads to the file
	Link    string   // the HTML element that does
}

// LLMsIssue is one kind of problem in an llms.txt file.
type LLMsIssue struct {
	Line              int // of the first place, from 1; 0: the whole file
	Severity, Message string
	Code              string
	Count             int         // how often it occurs
	Places            []LLMsPlace // as many as are known
}

// LLMsPlace is a place of a problem.
type LLMsPlace struct {
	Line int    // from 1
	Text string // the words that were found, if it is about words
}

// llmsView is what templates/llms.html shows.
type llmsView struct {
	*Form

	Head  head
	Page  *LLMsPage
	Lines []llmsLine
}

// llmsLine is a line of a file with what is wrong with it.
type llmsLine struct {
	Number int
	Text   string
	Tone   string // severity of the gravest issue; empty for none
	Issues []LLMsIssue
}

func newLLMsView(c chrome, p *LLMsPage) *llmsView {
	v := &llmsView{Form: NewForm(p.Form, p.Errors), Page: p,
		Head: fixedHead(c, p.BaseURL, PathLLMs, "Write or check an llms.txt",
			"Write an llms.txt from a short form, or paste one and see line by line what a model or a parser will "+
				"stumble over.")}
	v.Head.Index = p.Result == nil && len(p.Errors) == 0
	if p.Result != nil {
		v.Lines = markLines(p.Result)
	}
	return v
}

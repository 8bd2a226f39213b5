package author

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin/llms"
)

// question is one question to the user. An empty answer skips an optional question. The
// question of a list is repeated until the answer is empty.
type question struct {
	pointer  string // to the field that the answer sets
	ask      string
	hint     string
	optional bool
	set      func(r *llms.Request, answer string)
	then     []question // asked after an answer: the other parts of a list entry
	list     bool
}

// questions are asked in this order. Lines from a pipe are answers in the same order.
var questions = []question{
	{pointer: "/language", ask: "Which language will you answer in?",
		hint: "a code such as en, de or pt-BR; Enter for English", optional: true,
		set: func(r *llms.Request, a string) { r.Language = a }},
	{pointer: "/name", ask: "What is the brand called?",
		set: func(r *llms.Request, a string) { r.Name = a }},
	{pointer: "/niche", ask: "What field does it work in?", hint: "two or three words: mountain sports equipment",
		set: func(r *llms.Request, a string) { r.Niche = a }},
	{pointer: "/description", ask: "What does it do, and for whom?",
		hint: "a few plain sentences on one line; the first ones become the summary",
		set:  func(r *llms.Request, a string) { r.Description = a }},
	{pointer: "/uniqueValue", ask: "What sets it apart from others?", hint: "facts rather than praise; Enter to skip",
		optional: true,
		set:      func(r *llms.Request, a string) { r.UniqueValue = a }},
	{pointer: "/url", ask: "Where is its website?", hint: "https://…; Enter to skip", optional: true,
		set: func(r *llms.Request, a string) { r.URL = webAddress(a) }},
	{pointer: "/contact/email", ask: "Which e-mail address may be shown?", hint: "Enter to skip", optional: true,
		set: func(r *llms.Request, a string) { r.Contact = &llms.Contact{Email: a} }},
	{pointer: "/links/#/url", ask: "A page worth reading?", hint: "its address; Enter when there are no more",
		optional: true, list: true,
		set: func(r *llms.Request, a string) { addLink(r, "pages", a) },
		then: []question{
			{pointer: "/links/#/title", ask: "What is that page called?",
				set: func(r *llms.Request, a string) { lastLink(r).Title = a }},
			{pointer: "/links/#/note", ask: "What does one find there?", hint: "Enter to skip", optional: true,
				set: func(r *llms.Request, a string) { lastLink(r).Note = a }},
		}},
	{pointer: "/links/#/url", ask: "A profile of the brand elsewhere?",
		hint: "the address at a network, a map or an encyclopedia; Enter when there are no more", optional: true,
		list: true,
		set:  func(r *llms.Request, a string) { addLink(r, "profiles", a) }},
	{pointer: "/faq/#/q", ask: "A question that customers often ask?", hint: "Enter when there are no more",
		optional: true, list: true,
		set: func(r *llms.Request, a string) { r.FAQ = append(r.FAQ, llms.Question{Q: a}) },
		then: []question{
			{pointer: "/faq/#/a", ask: "And the answer?", set: func(r *llms.Request,
				a string) {
				r.FAQ[len(r.FAQ)-1].A = a
			}},
		}},
}

// webAddress adds a missing scheme.
func webAddress(s string) string {
	if s != "" && !strings.Contains(s, "://") {
		return "https://" + s
	}
	return s
}

// addLink adds a page or a profile. Its title is the host until a better one is given.
func addLink(r *llms.Request, section, address string) {
	address = webAddress(address)
	title := address
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		title = strings.TrimPrefix(u.Hostname(), "www.")
	}
	r.Links = append(r.Links, llms.Link{URL: address, Title: title, Section: section})
}

func lastLink(r *llms.Request) *llms.Link { return &r.Links[len(r.Links)-1] }

// questionOf returns the question about a field.
func questionOf(pointer string) string {
	for _, q := range questions {
		if q.pointer == pointer && !q.list {
			return q.ask + " "
		}
	}
	return ""
}

// prompter asks questions on one stream and reads answers from another.
type prompter struct {
	in          *bufio.Scanner
	out         io.Writer
	interactive bool // a user at a terminal can correct an answer
}

// maxAnswerLine bounds an answer, in bytes. It is more than the longest field, so that the
// error can say which answer is too long.
const maxAnswerLine = 64 << 10

// errEnded is returned if the input ends before a required answer.
var errEnded = errors.New("the answers ended")

// prompt asks all questions. The end of a pipe skips the remaining optional questions.
func prompt(s *command.Streams, lang string) (llms.Request, error) {
	iv := &prompter{in: bufio.NewScanner(s.In), out: s.Err}
	iv.in.Buffer(nil, maxAnswerLine)
	iv.interactive = s.Interactive()
	r := llms.Request{Language: lang}
	for _, q := range questions {
		if q.pointer == "/language" && lang != "" {
			continue
		}
		if err := iv.readAnswers(q, &r); err != nil {
			return r, err
		}
	}
	return r, nil
}

// readAnswers asks one question, or all entries of a list.
func (iv *prompter) readAnswers(q question, r *llms.Request) error {
	for {
		answered, err := iv.readAnswer(q, r)
		if err != nil || !answered {
			return err
		}
		for _, more := range q.then {
			if _, err := iv.readAnswer(more, r); err != nil {
				return err
			}
		}
		if !q.list {
			return nil
		}
	}
}

// readAnswer asks a question until the answer is valid, and reports whether it was answered.
func (iv *prompter) readAnswer(q question, r *llms.Request) (bool, error) {
	for {
		iv.print(q)
		answer, err := iv.line()
		if errors.Is(err, errEnded) && q.optional {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("%s: %w", strings.TrimRight(q.ask, "?"), err)
		}
		if answer == "" && q.optional {
			return false, nil
		}
		tried := clone(*r)
		q.set(&tried, answer)
		problem := validateAnswer(q, tried)
		if problem == "" {
			*r = tried
			return true, nil
		}
		if !iv.interactive {
			return false, fmt.Errorf("%s %s", q.ask, problem)
		}
		fmt.Fprintf(iv.out, "  Not valid: %s.\n", problem)
	}
}

func (iv *prompter) print(q question) {
	if !iv.interactive {
		return
	}
	if q.hint == "" {
		fmt.Fprintf(iv.out, "%s\n> ", q.ask)
		return
	}
	fmt.Fprintf(iv.out, "%s (%s)\n> ", q.ask, q.hint)
}

func (iv *prompter) line() (string, error) {
	if iv.in.Scan() {
		return strings.TrimSpace(iv.in.Text()), nil
	}
	if err := iv.in.Err(); err != nil {
		return "", err
	}
	return "", errEnded
}

// clone copies a request and the lists that answers append to.
func clone(r llms.Request) llms.Request {
	r.Links = append([]llms.Link(nil), r.Links...)
	r.FAQ = append([]llms.Question(nil), r.FAQ...)
	return r
}

// validateAnswer returns what the generator reports about one answer, or "". It ignores the
// questions that are still to come.
func validateAnswer(q question, r llms.Request) string {
	_, err := llms.Generate(r)
	fe, ok := errors.AsType[*fieldmark.Error](err)
	if !ok {
		return ""
	}
	pointer := q.pointer
	for section, n := range map[string]int{"/links/#/": len(r.Links) - 1, "/faq/#/": len(r.FAQ) - 1} {
		if rest, ok := strings.CutPrefix(pointer, section); ok {
			pointer = fmt.Sprintf("%s%d/%s", strings.TrimSuffix(section, "#/"), n, rest)
		}
	}
	list, _, _ := strings.Cut(strings.TrimPrefix(q.pointer, "/"), "/")
	for _, f := range fe.Fields {
		if f.Pointer == pointer || f.Pointer == "/"+list && q.list {
			return f.Detail
		}
	}
	return ""
}

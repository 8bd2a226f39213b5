package plan

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
	_ "time/tzdata" // time zones must be the same on a machine without zone files

	"go.yaml.in/yaml/v3"
	"golang.org/x/text/language"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/visibility/engine"
	"github.com/fieldmark/fieldmark/origin/visibility/panel"
)

// Limits of a plan. The largest study is 12 engines × 1,000 questions × 31 days × 32 runs.
const (
	// maxEngines is also the limit of a study (study.MaxEngines).
	maxEngines = 12
	maxRuns    = 32
	maxRPM     = 10_000
	maxKeep    = 3_660 // days
	// maxConcurrency is also the limit of connections to an engine.
	maxConcurrency  = 16
	maxOutput       = 100_000
	maxSearches     = 20
	maxContext      = 2_000_000
	defaultOutput   = 2_048
	defaultSearches = 3
)

// MaxDays is how many days a study has at most.
const MaxDays = 31

// PriceAge is how old prices may be when a study begins: vendors change them.
const PriceAge = 60 * 24 * time.Hour

// Plan is a checked plan with its questions and panel.
type Plan struct {
	Study    string
	Provider string // who runs the study
	Brand    string // the operator's own brand, whose rate is shown after the last day; may be empty
	Locale   string // BCP 47
	Language string // of Locale, a primary subtag
	Country  string // of Locale; may be empty
	Search   string
	Schedule Schedule
	Budget   int64 // nano-dollars
	Keep     int   // days that answers are kept
	Engines  []Engine
	Prompts  PromptSet
	Panel    []panel.Brand

	PromptsHash fieldmark.Digest
	PanelHash   fieldmark.Digest
	Hash        fieldmark.Digest // of everything that decides which questions are asked, and how

	scheduleAt *yaml.Node
	enginesAt  []*yaml.Node
	file       string
	matcher    *panel.Matcher
}

// Schedule is when questions are asked. Its days are calendar days of Zone: one on which clocks change has 23 or 25
// hours, and some zones skip its midnight.
type Schedule struct {
	From  time.Time // the date of the first day, at 00:00 UTC: no instant
	Days  int
	Runs  int           // of each question, engine and day
	Start time.Duration // of the window, as a time of day
	End   time.Duration
	Zone  *time.Location
}

// Date returns the date of a day.
func (s *Schedule) Date(n int) string { return s.From.AddDate(0, 0, n).Format(time.DateOnly) }

// Day returns the first instant of a day.
func (s *Schedule) Day(n int) time.Time { return s.At(n, 0) }

// At returns the first instant of a day at which clocks show a time of day or a later one. 24 hours are the end of
// the day.
func (s *Schedule) At(n int, clock time.Duration) time.Time {
	return fieldmark.FirstInstant(s.From.AddDate(0, 0, n).Add(clock), s.Zone)
}

// Engine is an engine of a plan.
type Engine struct {
	ID, Adapter, Model, BaseURL  string
	KeyEnv, KeyFile              string
	Search                       string
	Concurrency, RPM             int
	MaxOutputTokens, MaxSearches int
	ErrorsFree                   bool // the vendor does not bill answers with a status of 500 and more
	Prices                       Prices
}

// Prices are in nano-dollars.
type Prices struct {
	Free      bool
	AsOf      time.Time
	Input     int64 // of a million tokens
	Output    int64 // likewise
	Search    int64 // of one search
	Context   int   // tokens that are read again in each round of searching, at most
	priceNode *yaml.Node
}

// Files are the names of the files of a plan.
type Files struct{ Plan, Prompts, Panel string }

// Texts are the contents of Files.
type Texts struct{ Plan, Prompts, Panel []byte }

// Load reads a plan and the files it names, which are relative to its folder. The error is Faults if the plan
// makes no sense.
func Load(path string) (*Plan, Texts, error) {
	var t Texts
	var err error
	if t.Plan, err = readFile(path); err != nil {
		return nil, t, err
	}
	r := &reader{file: path}
	names := Files{Plan: path}
	// The names are read first, before the checks: all faults of the three files are then reported together.
	if top := r.parse(t.Plan); top != nil {
		for i := 0; i+1 < len(top.Content); i += 2 {
			switch top.Content[i].Value {
			case "prompts":
				names.Prompts = beside(path, top.Content[i+1].Value)
			case "panel":
				names.Panel = beside(path, top.Content[i+1].Value)
			}
		}
	}
	for _, f := range []struct {
		name string
		text *[]byte
	}{{names.Prompts, &t.Prompts}, {names.Panel, &t.Panel}} {
		if f.name == "" {
			continue
		}
		if *f.text, err = readFile(f.name); err != nil {
			return nil, t, err
		}
	}
	p, err := Parse(names, t)
	return p, t, err
}

// beside resolves a name relative to the folder of the plan, so that a folder with all three can be moved.
func beside(path, name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(path), name)
}

// readFile reads one byte more than the limit at most, which parse reports as a fault of the file.
func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read a plan: %w", err)
	}
	defer f.Close()
	// One byte above the limit is enough to report it; a device file would never end.
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read a plan: %w", err)
	}
	return text, nil
}

// Parse reads a plan from texts. The names are for the faults.
// Faults of all three files come together; those that need whole files are looked for only without others.
func Parse(names Files, t Texts) (*Plan, error) {
	p := &Plan{Provider: "in-house", Search: engine.SearchAuto, Keep: 400, file: names.Plan}
	plans, prompts, brands := &reader{file: names.Plan}, &reader{file: names.Prompts}, &reader{file: names.Panel}
	pins := p.read(plans, t.Plan)
	if names.Prompts != "" {
		p.Prompts.read(prompts, t.Prompts)
	}
	if names.Panel != "" {
		p.Panel = readPanel(brands, t.Panel)
	}
	if err := faultsOf(plans, prompts, brands); err != nil {
		return nil, err
	}
	p.matcher = panel.New(p.Panel, p.Language)
	p.Prompts.check(prompts, p.matcher)
	p.PromptsHash, p.PanelHash = p.Prompts.digest(), digest(map[string]any{"brands": p.Panel, "matcher": panel.Version})
	p.setHash()
	// Questions in another language than the plan's would be answered as if people of that place had asked.
	if got, _ := language.Parse(p.Prompts.Locale); got.String() != p.Locale {
		plans.fault(pins.locale, "the prompt set is for %s", p.Prompts.Locale)
	}
	// A pinned hash stops a study whose questions were edited after it was agreed on.
	if pins.prompts != "" && pins.prompts != p.PromptsHash {
		plans.fault(pins.promptsAt, "the prompt set has the hash %s", p.PromptsHash)
	}
	if pins.panel != "" && pins.panel != p.PanelHash {
		plans.fault(pins.panelAt, "the panel has the hash %s", p.PanelHash)
	}
	if err := faultsOf(plans, prompts); err != nil {
		return nil, err
	}
	return p, nil
}

// Matcher returns the matcher of the panel.
func (p *Plan) Matcher() *panel.Matcher { return p.matcher }

// pins are the hashes that a plan names, and where.
type pins struct {
	prompts, panel             fieldmark.Digest
	promptsAt, panelAt, locale *yaml.Node
}

// read reads the plan itself. The members have their faults at their own places.
func (p *Plan) read(r *reader, text []byte) (have pins) {
	// Its faults were added by parse.
	top := r.parse(text)
	if top == nil {
		return have
	}
	// prompts and panel were read by Load; here they only have to be present.
	form, reserve, ignored := 0, "", ""
	have.locale = top
	r.object(top, fields{
		"form!":    r.integer(&form, 1, 1),
		"study!":   r.slug(&p.Study),
		"provider": r.text(&p.Provider, 1, 100),
		"brand":    r.slug(&p.Brand),
		"prompts!": r.text(&ignored, 1, 1_000),
		"panel!":   r.text(&ignored, 1, 1_000),
		"promptsHash": func(n *yaml.Node) {
			have.promptsAt = n
			r.digest(&have.prompts)(n)
		},
		"panelHash": func(n *yaml.Node) {
			have.panelAt = n
			r.digest(&have.panel)(n)
		},
		"locale!": func(n *yaml.Node) {
			have.locale = n
			p.readLocale(r, n)
		},
		"search":    r.oneOf(&p.Search, engine.SearchAuto, engine.SearchRequired, engine.SearchOff),
		"schedule!": func(n *yaml.Node) { p.Schedule.read(r, n); p.scheduleAt = n },
		"budget!": func(n *yaml.Node) {
			r.object(n, fields{"usd!": r.dollars(&p.Budget), "reserve": r.oneOf(&reserve, "worst")})
		},
		"keep": func(n *yaml.Node) {
			n.Value = strings.TrimSuffix(n.Value, "d") // days are the only unit
			r.integer(&p.Keep, 1, maxKeep)(n)
		},
		"engines!": func(n *yaml.Node) {
			r.list(n, 1, maxEngines, func(c *yaml.Node) { p.readEngine(r, c) })
		},
	})
	for i := range p.Engines { // after search, which is theirs unless they have their own
		e := &p.Engines[i]
		if e.Search == "" {
			e.Search = p.Search
		}
		// The adapter has no request with search either.
		r.want(e.Adapter != "gemini" || e.Search == engine.SearchOff, p.enginesAt[i],
			"gemini is only asked with search: off, because its terms forbid to analyze grounded answers")
	}
	return have
}

// readLocale stores the tag in its canonical form, in which it is compared with that of the prompt set.
func (p *Plan) readLocale(r *reader, n *yaml.Node) {
	tag, err := language.Parse(n.Value)
	if !r.want(err == nil && n.Value != "" && len(n.Value) <= fieldmark.MaxLanguageTag, n,
		"must be a BCP 47 language tag such as de-AT") {
		return
	}
	base, _ := tag.Base()
	p.Locale, p.Language = tag.String(), base.String()
	// Only a stated region: the likely one of a language would be sent as the place of the person who asks.
	if region, sure := tag.Region(); sure == language.Exact && region.IsCountry() {
		p.Country = region.String()
	}
}

// clock is a window within one day. 24:00 is its end, which a time of day cannot express.
var clock = regexp.MustCompile(`^([01]\d|2[0-3]):([0-5]\d)-(?:([01]\d|2[0-3]):([0-5]\d)|24:00)$`)

// read reads times of day in the zone of the schedule, in which people ask.
func (s *Schedule) read(r *reader, n *yaml.Node) {
	// The usual window is when people ask.
	from, window := "", "07:00-22:00"
	var fromAt, windowAt *yaml.Node
	s.Runs, s.Zone = 1, time.UTC
	r.object(n, fields{
		"from!": func(n *yaml.Node) { from, fromAt = n.Value, n },
		"days!": r.integer(&s.Days, 1, MaxDays),
		"runs":  r.integer(&s.Runs, 1, maxRuns),
		"window": func(n *yaml.Node) {
			if window, windowAt = n.Value, n; !clock.MatchString(window) {
				r.fault(n, "must be two times such as 07:00-22:00")
			}
		},
		// Local would make another plan of it on another machine.
		"zone": func(n *yaml.Node) {
			found, err := time.LoadLocation(n.Value)
			if r.want(err == nil && n.Value != "" && n.Value != "Local", n,
				"must be a time zone such as Europe/Vienna") {
				s.Zone = found
			}
		},
	})
	if clock.MatchString(window) {
		start, end, _ := strings.Cut(window, "-")
		s.Start, s.End = sinceMidnight(start), sinceMidnight(end)
		if s.Start >= s.End {
			r.fault(windowAt, "must end after it begins")
		}
	}
	if fromAt != nil {
		var err error
		s.From, err = time.Parse(time.DateOnly, from)
		r.want(err == nil, fromAt, "must be a date such as 2026-11-24")
	}
}

// sinceMidnight parses a time of clock.
func sinceMidnight(s string) time.Duration {
	var h, m int
	_, _ = fmt.Sscanf(s, "%d:%d", &h, &m) // the pattern was checked
	return time.Duration(h)*time.Hour + time.Duration(m)*time.Minute
}

// variable is what a shell can export.
var variable = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,99}$`)

// readEngine appends an engine also if it has faults: those of later engines are reported, too.
func (p *Plan) readEngine(r *reader, n *yaml.Node) {
	e := Engine{Concurrency: 1, RPM: 60, MaxOutputTokens: defaultOutput, MaxSearches: defaultSearches}
	terms := ""
	var baseAt, adapterAt *yaml.Node
	r.object(n, fields{
		"id!":      r.slug(&e.ID),
		"adapter!": func(n *yaml.Node) { adapterAt = n; r.oneOf(&e.Adapter, engine.Adapters()...)(n) },
		"model!":   r.text(&e.Model, 1, 100),
		"baseURL":  func(n *yaml.Node) { baseAt = n; r.text(&e.BaseURL, 1, fieldmark.MaxBrandURL)(n) },
		"keyEnv": func(n *yaml.Node) {
			// The fault does not repeat the value, which may be a key.
			if r.want(variable.MatchString(n.Value), n,
				"must be the name of an environment variable; a key itself never belongs into a plan") {
				e.KeyEnv = n.Value
			}
		},
		"keyFile":         r.text(&e.KeyFile, 1, 1_000),
		"search":          r.oneOf(&e.Search, engine.SearchAuto, engine.SearchRequired, engine.SearchOff),
		"concurrency":     r.integer(&e.Concurrency, 1, maxConcurrency),
		"rpm":             r.integer(&e.RPM, 1, maxRPM),
		"maxOutputTokens": r.integer(&e.MaxOutputTokens, 16, maxOutput),
		"maxSearches":     r.integer(&e.MaxSearches, 1, maxSearches),
		"errorsFree":      r.boolean(&e.ErrorsFree),
		"terms":           r.oneOf(&terms, "read"),
		"prices!":         func(n *yaml.Node) { e.Prices.read(r, n) },
	})
	if e.Adapter == "" {
		adapterAt = nil // it has a fault already
	}
	// Its checks depend on the adapter, so they wait until all members were read.
	if adapterAt != nil {
		at := n
		if baseAt != nil {
			at = baseAt
		}
		if fault := engine.Check(e.Adapter, e.BaseURL); fault != "" {
			r.fault(at, "%s", fault)
		}
		// The operator is the one who has a contract with the vendor, so the operator states to have read its terms.
		if text := termsOf[e.Adapter]; terms == "" && text != "" {
			r.fault(adapterAt, "add terms: read to this engine once you have read its terms. %s", text)
		}
		// Local engines need no key; every vendor does.
		r.want(e.Adapter == "openai-chat" || e.KeyEnv+e.KeyFile != "", n, "keyEnv or keyFile is missing")
		r.want(e.Adapter != "gemini" || modelPath.MatchString(e.Model) || e.Model == "", n,
			"the model of gemini must have letters, digits, dots and hyphens")
	}
	r.want(e.KeyEnv == "" || e.KeyFile == "", n, "keyEnv and keyFile are both given; give one")
	// Results are stored by engine id.
	for _, other := range p.Engines {
		r.want(other.ID != e.ID || e.ID == "", n, "another engine has this id")
	}
	p.Engines, p.enginesAt = append(p.Engines, e), append(p.enginesAt, n)
}

// modelPath is what a model is made of where it is a part of the address.
var modelPath = regexp.MustCompile(`^[A-Za-z0-9.-]+$`)

// termsOf lists the terms of each vendor that limit what an operator may do.
var termsOf = map[string]string{
	"openai-responses": "OpenAI asks that shown web results keep clickable citations; Fieldmark shows counts only. " +
		"Results are labelled as those of the API, never ChatGPT.",
	"anthropic-messages": "Anthropic's usage policies apply to questions and answers; answers stay with you.",
	"perplexity-agent": "Perplexity licenses output for your own applications: publish derived counts only, as " +
		"Fieldmark does.",
	"xai-responses": "xAI's acceptable use policy applies; results are labelled as those of the API, never " +
		"Grok.",
	"mistral-conversations": "Mistral's terms of use apply to questions and answers.",
	"gemini": "Google's terms forbid to cache or analyze answers grounded in Google Search, so the engine is asked " +
		"without search only.",
}

// read reads prices as vendors list them, for a million tokens. A free engine must not state any.
func (p *Prices) read(r *reader, n *yaml.Node) {
	p.priceNode = n
	// Searching engines bill what they read as input, in each round, so the reserve assumes this many tokens.
	p.Context = 128_000
	known := fields{"free": r.boolean(&p.Free)}
	// Looked up before the members are read, because it decides which of them are required.
	isFree := false
	for i := 0; i+1 < len(n.Content); i += 2 {
		isFree = isFree || n.Content[i].Value == "free" && isTrue(n.Content[i+1])
	}
	if !isFree {
		known = fields{"free": r.boolean(&p.Free), "asOf!": func(n *yaml.Node) {
			at, err := time.Parse(time.DateOnly, n.Value)
			r.want(err == nil, n, "must be the date of the price list, such as 2026-11-20")
			p.AsOf = at
		}, "inputPerM!": r.dollars(&p.Input), "outputPerM!": r.dollars(&p.Output), "search!": r.dollars(&p.Search),
			"contextTokens": r.integer(&p.Context, 1_000, maxContext)}
	}
	r.object(n, known)
}

// Begin returns what is wrong with beginning a plan at a time, as Faults: a day in the past, or prices of
// another season.
func (p *Plan) Begin(now time.Time) error {
	r := &reader{file: p.file}
	// The first day counts while it lasts, though some of its window may have passed.
	if p.Schedule.Day(1).Before(now) {
		r.fault(p.scheduleAt, "from is a day in the past")
	}
	for i := range p.Engines {
		prices := &p.Engines[i].Prices
		r.want(prices.Free || now.Sub(prices.AsOf) <= PriceAge, prices.priceNode, "the prices are older than 60 days")
		r.want(prices.Free || !prices.AsOf.After(now.Add(24*time.Hour)), prices.priceNode,
			"the prices are from the future")
	}
	return faultsOf(r)
}

package mcp

import (
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
)

// Limits of what tools accept and return.
// They are below those of the endpoints: a model pays for what it reads.
const (
	maxBrand        = 253 // bytes; of a host name
	minCompared     = 2
	maxCompared     = 5
	maxDays         = 730
	defaultDays     = 90
	maxBoard        = 25
	defaultBoard    = 10
	maxSearch       = 100      // characters
	maxLint         = 32 << 10 // bytes
	maxFound        = 25
	maxAddress      = 2048 // bytes
	daysOfDaySteps  = 120  // beyond it a history has weeks
	maxRank         = 160  // bytes of an encoded rank
	evidencePerSign = 2
)

// callScore serves the tool score. The answer from the cache is two copies of bytes that are
// kept and a rank, so that it costs little more than the same by GET.
// A boolean or text of another kind falls back to the strict decoder, whose error names the fault.
func (s *Server) callScore(ctx *fasthttp.RequestCtx, m *message) {
	var brand, asOf []byte
	var advice, simple bool
	simple = true
	for all := membersOf(m.arguments); ; {
		name, value, ok := all.next()
		if !ok {
			break
		}
		switch string(name) {
		case "brand":
			if brand, ok = textOf(value); !ok {
				simple = false
			}
		case "advice":
			// simple stays true for the two literals only.
			advice = string(value) == "true"
			simple = simple && (advice || string(value) == "false")
		case "asOf":
			if asOf, ok = textOf(value); !ok {
				simple = false
			}
		default:
			simple = false
		}
	}
	call := scoreCall{brand: string(brand), asOf: string(asOf), advice: advice}
	if !simple { // says what is wrong
		var a struct {
			Brand  string `json:"brand"`
			AsOf   string `json:"asOf"`
			Advice bool   `json:"advice"`
		}
		if err := decode(m.arguments, &a); err != nil {
			s.sendFailure(ctx, m, errorOf(err))
			return
		}
		call.brand, call.asOf, call.advice = a.Brand, a.AsOf, a.Advice
	}
	// A wrong argument is not counted: it caused no work.
	if call.err = s.host.Admit(ctx); call.err == nil {
		s.score(ctx, &call)
	}
	if call.err != nil {
		s.sendFailure(ctx, m, errorOf(call.err))
		return
	}
	s.sendDocument(ctx, m, call.document, call.rank)
}

// scoreCall is a call of the tool score, and its result.
type scoreCall struct {
	brand, asOf string
	advice      bool

	document *Document
	rank     []byte // nil: it is in the document
	buffer   [maxRank]byte
	err      error
}

// score sets the document or the error of a call.
func (s *Server) score(ctx *fasthttp.RequestCtx, c *scoreCall) {
	var slug fieldmark.Slug
	if slug, c.err = s.slug("brand", c.brand); c.err != nil {
		return
	}
	// The common call: the document is kept with the score and only the rank is added.
	if !c.advice && c.asOf == "" {
		var rank *fieldmark.Rank
		if c.document, rank, c.err = s.host.Score(ctx, slug); c.err == nil {
			c.rank = appendRank(c.buffer[:0], rank)
		}
		return
	}
	// Advice follows from the active module and the newest facts; the past has no advice.
	if c.advice && c.asOf != "" {
		c.err = wrongArgument(fieldmark.FieldError{Pointer: "/advice", Code: "conflict",
			Detail: "is about today; leave asOf out"})
		return
	}
	var score *fieldmark.Score
	if score, c.err = s.host.FullScore(ctx, slug, c.asOf); c.err == nil {
		// Advice is left out unless it is asked for.
		if !c.advice {
			score.Gains = nil
		}
		v := newScoreView(score)
		v.Rank, v.withRank = score.Rank, true
		c.document, c.err = v.document()
	}
}

// slug returns the brand that an argument names.
// An old slug and the host of the site are accepted, because a model often has only these.
func (s *Server) slug(argument, brand string) (fieldmark.Slug, error) {
	if brand == "" {
		return "", required(argument)
	}
	// Bounded before it is looked up: it is part of a cache key.
	if len(brand) > maxBrand {
		return "", outOfRange(argument, "must be a slug or a host of at most 253 bytes")
	}
	return s.host.Slug(brand)
}

// appendRank appends a rank as JSON, without allocating.
// The buffer of scoreCall is large enough: six names and six numbers of ten digits fit in
// maxRank.
func appendRank(b []byte, r *fieldmark.Rank) []byte {
	if r == nil {
		return append(b, "null"...)
	}
	for _, m := range [...]struct {
		name  string
		value int
	}{{`{"overall":`, r.Overall}, {`,"overallLast":`, r.OverallLast}, {`,"of":`, r.Of}, {`,"niche":`, r.Niche},
		{`,"nicheLast":`, r.NicheLast}, {`,"ofNiche":`, r.OfNiche}} {
		b = strconv.AppendInt(append(b, m.name...), int64(m.value), 10)
	}
	return append(b, '}')
}

// compare serves the tool compare.
func (s *Server) compare(ctx *fasthttp.RequestCtx, arguments []byte) (*Document, error) {
	var a struct {
		Brands []string `json:"brands"`
	}
	if err := decode(arguments, &a); err != nil {
		return nil, err
	}
	if len(a.Brands) < minCompared || len(a.Brands) > maxCompared {
		return nil, outOfRange("brands", "must be two to five brands")
	}
	var scores []*fieldmark.Score
	for _, brand := range a.Brands {
		slug, err := s.slug("brands", brand)
		if err != nil {
			return nil, err
		}
		// Two names may lead to the same brand.
		if slices.ContainsFunc(scores, func(s *fieldmark.Score) bool { return s.Slug == slug }) {
			return nil, outOfRange("brands", "must be different brands")
		}
		score, err := s.host.FullScore(ctx, slug, "")
		if err != nil {
			return nil, err
		}
		scores = append(scores, score)
	}
	return newDocument(newComparison(scores), nil)
}

// history serves the tool history.
func (s *Server) history(ctx *fasthttp.RequestCtx, arguments []byte) (*Document, error) {
	var a struct {
		Brand string `json:"brand"`
		Days  *int   `json:"days"`
	}
	if err := decode(arguments, &a); err != nil {
		return nil, err
	}
	slug, err := s.slug("brand", a.Brand)
	if err != nil {
		return nil, err
	}
	days := defaultDays
	if a.Days != nil {
		days = *a.Days
	}
	if days < 1 || days > maxDays {
		return nil, outOfRange("days", "must be 1 to 730")
	}
	h, err := s.host.History(ctx, slug, days)
	if err != nil {
		return nil, err
	}
	v := newHistoryView(h)
	return newDocument(v, v.shorten)
}

// StepOf returns the step of a history of a number of days.
// Days up to four months, then weeks: a result has at most 120 points.
func StepOf(days int) string {
	if days > daysOfDaySteps {
		return fieldmark.StepWeek
	}
	return fieldmark.StepDay
}

// leaderboard serves the tool leaderboard, with the parameters of the endpoint.
func (s *Server) leaderboard(ctx *fasthttp.RequestCtx, arguments []byte) (*Document, error) {
	var a struct {
		Niche    string `json:"niche"`
		Language string `json:"language"`
		Basis    string `json:"basis"`
		Metric   string `json:"metric"`
		Limit    *int   `json:"limit"`
		Cursor   string `json:"cursor"`
	}
	if err := decode(arguments, &a); err != nil {
		return nil, err
	}
	limit := defaultBoard
	if a.Limit != nil {
		limit = *a.Limit
	}
	if limit < 1 || limit > maxBoard {
		return nil, outOfRange("limit", "must be 1 to 25")
	}
	// The tool uses the parser of the endpoint, so the rules and limits of filters are the
	// same.
	var query fasthttp.Args
	query.SetUint("limit", limit)
	for name, value := range map[string]string{"niche": a.Niche, "language": a.Language, "basis": a.Basis,
		"metric": a.Metric, "cursor": a.Cursor} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if a.Basis == fieldmark.BasisVisibility {
		board, err := s.host.Visibility(ctx, &query)
		if err != nil {
			return nil, err
		}
		v := newVisibilityView(board)
		return newDocument(v, v.shorten)
	}
	board, err := s.host.Board(&query)
	if err != nil {
		return nil, err
	}
	v := newBoardView(board)
	return newDocument(v, v.shorten)
}

// findBrand serves the tool find_brand.
func (s *Server) findBrand(_ *fasthttp.RequestCtx, arguments []byte) (*Document, error) {
	var a struct {
		Text string `json:"text"`
	}
	if err := decode(arguments, &a); err != nil {
		return nil, err
	}
	if a.Text == "" {
		// Counted in characters, as the limit is named in the schema.
		return nil, required("text")
	}
	if utf8.RuneCountInString(a.Text) > maxSearch {
		return nil, outOfRange("text", "must have at most 100 characters")
	}
	found, err := s.host.Search(a.Text, maxFound)
	if err != nil {
		return nil, err
	}
	v := newFoundView(found)
	return newDocument(v, v.shorten)
}

// method serves the tool method.
func (s *Server) method(_ *fasthttp.RequestCtx, arguments []byte) (*Document, error) {
	var a struct {
		Signal string `json:"signal"`
	}
	if err := decode(arguments, &a); err != nil {
		return nil, err
	}
	m, err := s.host.Method()
	if err != nil {
		return nil, err
	}
	v, err := newMethodView(m, a.Signal)
	if err != nil {
		return nil, err
	}
	return newDocument(v, nil)
}

// writeLLMs serves the tool llms_write. The name and the description are required: without
// them the origin would take them from the last audit of the site, which are a third party's
// words in the caller's file.
func (s *Server) writeLLMs(ctx *fasthttp.RequestCtx, arguments []byte) (*Document, error) {
	var a struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Niche       string          `json:"niche,omitempty"`
		UniqueValue string          `json:"uniqueValue,omitempty"`
		URL         string          `json:"url,omitempty"`
		Language    string          `json:"language,omitempty"`
		Contact     json.RawMessage `json:"contact,omitempty"`
		Links       json.RawMessage `json:"links,omitempty"`
	}
	if err := decode(arguments, &a); err != nil {
		return nil, err
	}
	if a.Name == "" || a.Description == "" {
		return nil, required(map[bool]string{true: "name", false: "description"}[a.Name == ""])
	}
	content, report, err := s.host.LLMs(ctx, fieldmark.PathLLMs, "application/json", encode(a))
	if err != nil {
		return nil, err
	}
	v := newLintView(report)
	v.Content = content
	return newDocument(v, v.shorten)
}

// lintLLMs serves the tool llms_lint.
func (s *Server) lintLLMs(ctx *fasthttp.RequestCtx, arguments []byte) (*Document, error) {
	var a struct {
		Content string `json:"content"`
	}
	if err := decode(arguments, &a); err != nil {
		return nil, err
	}
	if a.Content == "" {
		return nil, required("content")
	}
	if len(a.Content) > maxLint {
		return nil, outOfRange("content", "must have at most 32 KiB")
	}
	_, report, err := s.host.LLMs(ctx, fieldmark.PathLLMsLint, "text/markdown", []byte(a.Content))
	if err != nil {
		return nil, err
	}
	v := newLintView(report)
	return newDocument(v, v.shorten)
}

// LintReport is the result of the origin's linter of llms.txt.
type LintReport struct {
	Level  int `json:"level"`
	Issues []struct {
		Code     string `json:"code"`
		Severity string `json:"severity"`
		Line     int    `json:"line"`
		Message  string `json:"message"`
		Count    int    `json:"count"`
		Places   []struct {
			Line int    `json:"line"`
			Text string `json:"text"`
		} `json:"places"` // of the issue, the first ones; no tool returns them
	} `json:"issues"`
}

// checkSite serves the tool check_site.
func (s *Server) checkSite(ctx *fasthttp.RequestCtx, arguments []byte) (*Document, error) {
	var a struct {
		URL string `json:"url"`
		ID  string `json:"id"`
	}
	if err := decode(arguments, &a); err != nil {
		return nil, err
	}
	// Either argument alone: a check is requested, and later read by its id, because it takes
	// longer than a call may.
	if (a.URL == "") == (a.ID == "") {
		return nil, wrongArgument(fieldmark.FieldError{Pointer: "/url", Code: "conflict",
			Detail: "give url to begin a check, or id to read one"})
	}
	if len(a.URL) > maxAddress {
		return nil, outOfRange("url", "must have at most 2048 bytes")
	}
	// Not as an agent: checks need no key, and anyone may request one.
	call := Call{Method: "POST", Path: fieldmark.PathChecks, ContentType: "application/json",
		Body: encode(fieldmark.SiteCheckRequest{URL: a.URL})}
	if a.ID != "" {
		if !isPlain(a.ID) {
			return nil, fieldmark.Errorf(fieldmark.CodeNotFound, "there is no such check")
		}
		call = Call{Method: "GET", Path: fieldmark.PathChecks + "/" + a.ID}
	}
	answer, err := s.host.Call(ctx, &call)
	if err != nil {
		return nil, err
	}
	var check fieldmark.SiteCheck
	if err := json.Unmarshal(answer.Body, &check); err != nil {
		return nil, err
	}
	return newCheckView(&check).document()
}

// isPlain reports whether an id can be a part of a path.
// It keeps slashes, dots and queries out of a path.
func isPlain(id string) bool {
	for _, r := range id {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-') {
			return false
		}
	}
	return id != "" && len(id) <= maxID
}

package mission

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// Limits of a mission request that its schema cannot express.
const (
	maxSkill         = 64       // code points
	maxMetadata      = 16 << 10 // bytes; it is part of every webhook message
	maxMetadataDepth = 8
	maxTeam          = 100 // assignees of a team calendar: each is a parameter of one query
	maxAssigneeID    = 128 // code points, as in fieldmark.Assignee

	// Years that RFC 3339 can express in every time zone, from the Unix epoch on.
	minYear = 1970
	maxYear = 9998
)

// validator collects the errors of a mission request.
type validator struct{ validation.Errors }

// ValidateRequest returns every error of a mission request that its schema cannot
// express, and normalizes the request: priority in upper case, line breaks as "\n",
// metadata without insignificant space.
func ValidateRequest(r *fieldmark.MissionRequest) validation.Errors {
	var c validator
	c.Line("/source", r.Source)
	c.Line("/title", r.Title)
	if r.Title != "" && fieldmark.IsBlank(r.Title) {
		c.Add("/title", "too_short", "must not be blank")
	}
	c.Line("/category", r.Category)
	r.Description = c.Multiline("/description", r.Description)
	switch {
	case r.ExternalID != strings.TrimSpace(r.ExternalID):
		c.Add("/externalId", "pattern", "must not begin or end with space")
	case strings.ContainsFunc(r.ExternalID, func(r rune) bool { return !unicode.IsPrint(r) }):
		c.Add("/externalId", "pattern", "must be printable characters")
	}
	// Tools differ in the case of enumerations; the stored form is one.
	if p, ok := fieldmark.ParsePriority(string(r.Priority)); ok {
		r.Priority = p
	} else {
		c.Add("/priority", "enum", "must be LOW, MEDIUM, HIGH or CRITICAL")
	}
	c.location(r.Location)
	if p := r.Contact; p != nil {
		c.Line("/contact/name", p.Name)
		c.Line("/contact/phone", p.Phone)
	}
	if r.Window != nil {
		c.window(*r.Window)
	}
	if r.Payment != nil {
		c.Errors = append(c.Errors, ValidatePayment(r.Payment, "/payment")...)
	}
	c.lists(r)
	c.labels(r.Labels)
	r.Metadata = c.metadata(r.Metadata)
	return c.Errors
}

func (c *validator) location(l *fieldmark.Location) {
	if l == nil {
		return
	}
	c.Line("/location/name", l.Name)
	l.AccessNotes = c.Multiline("/location/accessNotes", l.AccessNotes)
	if l.TimeZone != "" && !fieldmark.ValidTimeZone(l.TimeZone) {
		c.Add("/location/timeZone", "format", "must be an IANA time zone name")
	}
	// Postal codes and regions are free text: their formats change, and no list of them is
	// complete.
	a := l.Address
	if a == nil {
		return
	}
	c.Line("/location/address/line1", a.Line1)
	c.Line("/location/address/line2", a.Line2)
	c.Line("/location/address/postalCode", a.PostalCode)
	c.Line("/location/address/city", a.City)
	c.Line("/location/address/region", a.Region)
	if a.Country != "" && !validCountry(a.Country) {
		c.Add("/location/address/country", "enum", "must be an ISO 3166-1 alpha-2 code")
	}
}

func (c *validator) window(w fieldmark.Window) {
	c.year("/window/earliest", w.Earliest)
	c.year("/window/latest", w.Latest)
	switch span := w.Latest.Std().Sub(w.Earliest.Std()); {
	case span <= 0:
		c.Add("/window/latest", "range", "must be later than earliest")
	case span > fieldmark.MaxWindow:
		c.Add("/window/latest", "range", "must be within 366 days of earliest")
	}
}

// year rejects times that RFC 3339 cannot express in every time zone: a response with such a
// time could not be encoded.
func (c *validator) year(pointer string, t fieldmark.Time) {
	if y := t.Std().Year(); y < minYear || y > maxYear {
		c.Add(pointer, "range", fmt.Sprintf("must be in a year from %d to %d", minYear, maxYear))
	}
}

// ValidateSpan returns the errors of a span that ends before it starts or is longer
// than a window may be; at is the JSON Pointer of the span.
func ValidateSpan(s fieldmark.Span, at string) validation.Errors {
	var c validator
	c.year(at+"/start", s.Start)
	c.year(at+"/end", s.End)
	switch span := s.End.Std().Sub(s.Start.Std()); {
	case span <= 0:
		c.Add(at+"/end", "range", "must be later than start")
	case span > fieldmark.MaxWindow:
		c.Add(at+"/end", "range", "must be within 366 days of start")
	}
	return c.Errors
}

// lists validates skills, assets and links. Links must be https, because people open them from
// the admin console and from messages.
func (c *validator) lists(r *fieldmark.MissionRequest) {
	for i, s := range r.Skills {
		at := "/skills/" + strconv.Itoa(i)
		switch n := utf8.RuneCountInString(s); {
		case n == 0:
			c.Add(at, "too_short", "must not be empty")
		case n > maxSkill:
			c.Add(at, "too_long", "must have at most 64 characters")
		}
		c.Line(at, s)
	}
	for i, a := range r.Assets {
		at := "/assets/" + strconv.Itoa(i)
		c.Line(at+"/id", a.ID)
		c.Line(at+"/name", a.Name)
		c.Line(at+"/serial", a.Serial)
	}
	for i, l := range r.Links {
		at := "/links/" + strconv.Itoa(i)
		c.Line(at+"/text", l.Text)
		if u, err := url.Parse(l.Href); err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
			c.Add(at+"/href", "format", "must be an https address without user name")
		}
	}
}

// labels validates labels in the order of their keys, so that errors are in a stable
// order.
func (c *validator) labels(labels map[string]string) {
	if len(labels) > fieldmark.MaxLabels {
		c.Add("/labels", "too_long", "at most 64 labels")
		return
	}
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		at := validation.Pointer("/labels", k)
		switch n := utf8.RuneCountInString(k); {
		case n == 0:
			c.Add(at, "too_short", "a key must not be empty")
		case n > fieldmark.MaxLabelKey:
			c.Add(at, "too_long", "a key has at most 128 characters")
		}
		if utf8.RuneCountInString(labels[k]) > fieldmark.MaxLabelValue {
			c.Add(at, "too_long", "must have at most 1024 characters")
		}
		c.Line(at, k)
		c.Multiline(at, labels[k])
	}
}

// metadata returns m without insignificant space, as it is stored and sent. Its depth is
// checked before it is decoded: the decoder recurses.
func (c *validator) metadata(m json.RawMessage) json.RawMessage {
	if len(m) == 0 {
		return m
	}
	var compact bytes.Buffer
	switch err := json.Compact(&compact, m); {
	case err != nil || !bytes.HasPrefix(compact.Bytes(), []byte("{")):
		c.Add("/metadata", "format", "must be a JSON object")
	// The bound is on the compact form: indentation is the sender's and is not stored.
	case compact.Len() > maxMetadata:
		c.Add("/metadata", "too_long", "must not exceed 16384 bytes")
	case jsonDepth(compact.Bytes()) > maxMetadataDepth:
		c.Add("/metadata", "too_long", "must not nest deeper than 8 levels")
	// A number such as 1e999 is valid JSON, and most receivers of webhooks cannot decode it.
	case json.Unmarshal(compact.Bytes(), new(map[string]any)) != nil:
		c.Add("/metadata", "range", "must have no number that a 64-bit float cannot hold")
	default:
		return compact.Bytes()
	}
	return m
}

// jsonDepth returns the nesting depth of valid JSON. It counts brackets outside of strings and
// does not recurse.
func jsonDepth(b []byte) int {
	depth, deepest, inText := 0, 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		// The escaped character may be a quote.
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case !inText && (c == '{' || c == '['):
			depth++
			deepest = max(deepest, depth)
		case !inText && (c == '}' || c == ']'):
			depth--
		}
	}
	return deepest
}

// countries lists the officially assigned codes of ISO 3166-1 alpha-2.
const countries = "" +
	"AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ " +
	"CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO " +
	"FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE " +
	"JM " +
	"JO JP " +
	"KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY " +
	"MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA " +
	"PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW " +
	"SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ " +
	"UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW"

// validCountry reports whether a two-letter code is assigned. XK is user-assigned,
// but carriers and customs use it for Kosovo.
func validCountry(code string) bool {
	return code == "XK" || len(code) == 2 && !strings.Contains(code, " ") && strings.Contains(countries, code)
}

// ValidatePayment returns every error of a payment request and normalizes its
// direction; pointer is the JSON Pointer of the request.
func ValidatePayment(r *fieldmark.PaymentRequest, pointer string) validation.Errors {
	var bad validation.Errors
	if r.Amount != nil {
		bad = r.Amount.Check(pointer + "/amount")
	}
	if d, ok := fieldmark.ParseDirection(string(r.Direction)); ok {
		r.Direction = d
	} else {
		bad.Add(pointer+"/direction", "enum", "must be CHARGE or PAYOUT")
	}
	if _, ok := ParsePaymentTerms(r.Terms); !ok {
		bad.Add(pointer+"/terms", "pattern",
			"must be NET and a number of days from 0 to 366, such as NET 14, or DUE ON RECEIPT")
	}
	return bad
}

// ValidateCalendar returns every error of a calendar feed that the schema cannot
// express. It sorts the assignees and removes duplicates.
func ValidateCalendar(r *fieldmark.CalendarRequest) validation.Errors {
	var bad validation.Errors
	if r.Name == "" {
		bad.Add("/name", "too_short", "must not be empty")
	}
	bad.Line("/name", r.Name)
	least, most := 1, 1
	switch r.Scope {
	case fieldmark.CalendarOfPerson:
	case fieldmark.CalendarOfTeam:
		most = maxTeam
	case fieldmark.CalendarOfAll:
		least, most = 0, 0
	default:
		// How many assignees are right depends on the scope, so nothing more can be said.
		bad.Add("/scope", "enum", "must be PERSON, TEAM or ALL")
		return bad
	}
	slices.Sort(r.Assignees)
	r.Assignees = slices.Compact(r.Assignees)
	if n := len(r.Assignees); n < least || n > most {
		bad.Add("/assignees", "range", "must be one with PERSON, 1 to 100 with TEAM, none with ALL")
	}
	for _, id := range r.Assignees {
		if n := utf8.RuneCountInString(id); n == 0 || n > maxAssigneeID {
			bad.Add("/assignees", "range", "each must have 1 to 128 characters")
		}
		bad.Line("/assignees", id)
	}
	return bad
}

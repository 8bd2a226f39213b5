package fieldmark

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of a mission that tags cannot say.
const (
	MaxSkill         = 64 // code points
	MaxLabels        = 64
	MaxLabelKey      = 128      // code points
	MaxLabelValue    = 1024     // code points
	MaxMetadata      = 16 << 10 // bytes; it travels in every webhook
	MaxMetadataDepth = 8
)

// Years a mission may speak of: what RFC 3339 can write in every time zone, and
// nothing older than the clock that counts.
const (
	minYear = 1970
	maxYear = 9998
)

// check gathers complaints about a request.
type check struct{ bad []FieldError }

func (c *check) add(pointer, code, detail string) {
	c.bad = append(c.bad, FieldError{Pointer: pointer, Code: code, Detail: detail})
}

// line complains of a text of one line that has control characters, breaks or
// invisible characters.
func (c *check) line(pointer, s string) {
	switch {
	case strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }):
		c.add(pointer, "pattern", "must be one line without control characters")
	case strings.ContainsFunc(s, IsHidden):
		c.add(pointer, "pattern", "must have no zero-width spaces and no controls of the text direction")
	}
}

// IsHidden reports whether a character shows nothing and changes how its
// neighbors are read or compared: zero-width spaces, and controls that embed,
// override or isolate a text direction (Unicode Standard Annex 9). Joiners and
// direction marks are not among them, because scripts and emoji need them.
func IsHidden(r rune) bool {
	return r == '\u200b' || r == '\u2060' || r == '\ufeff' || r == '\u180e' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// IsBlank reports whether a text has no visible character.
func IsBlank(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) })
}

// prose complains of control characters in a long text and returns it with the
// line breaks of every system as "\n".
func (c *check) prose(pointer, s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	if strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
		c.add(pointer, "pattern", "control characters other than line break and tab are not allowed")
	}
	return s
}

// Check completes the bounds that the tags cannot say and puts the request into
// its normal form: priority in upper case, line breaks as "\n", metadata
// compact. It returns every complaint; a request without one may be stored.
func (r *MissionRequest) Check() []FieldError {
	var c check
	c.line("/source", r.Source)
	c.line("/title", r.Title)
	if r.Title != "" && IsBlank(r.Title) {
		c.add("/title", "too_short", "must not be blank")
	}
	c.line("/category", r.Category)
	r.Description = c.prose("/description", r.Description)
	switch {
	case r.ExternalID != strings.TrimSpace(r.ExternalID):
		c.add("/externalId", "pattern", "must not begin or end with space")
	case strings.ContainsFunc(r.ExternalID, func(r rune) bool { return !unicode.IsPrint(r) }):
		c.add("/externalId", "pattern", "must be printable characters")
	}
	if p, ok := ParsePriority(string(r.Priority)); ok {
		r.Priority = p
	} else {
		c.add("/priority", "enum", "must be LOW, MEDIUM, HIGH or CRITICAL")
	}
	c.location(r.Location)
	if p := r.Contact; p != nil {
		c.line("/contact/name", p.Name)
		c.line("/contact/phone", p.Phone)
	}
	if r.Window != nil {
		c.window(*r.Window)
	}
	if r.Payment != nil {
		c.bad = append(c.bad, r.Payment.Check("/payment")...)
	}
	c.lists(r)
	c.labels(r.Labels)
	r.Metadata = c.metadata(r.Metadata)
	return c.bad
}

func (c *check) location(l *Location) {
	if l == nil {
		return
	}
	c.line("/location/name", l.Name)
	l.AccessNotes = c.prose("/location/accessNotes", l.AccessNotes)
	if l.TimeZone != "" && !ValidTimeZone(l.TimeZone) {
		c.add("/location/timeZone", "format", "must be an IANA time zone name")
	}
	a := l.Address
	if a == nil {
		return
	}
	c.line("/location/address/line1", a.Line1)
	c.line("/location/address/line2", a.Line2)
	c.line("/location/address/postalCode", a.PostalCode)
	c.line("/location/address/city", a.City)
	c.line("/location/address/region", a.Region)
	if a.Country != "" && !validCountry(a.Country) {
		c.add("/location/address/country", "enum", "must be an ISO 3166-1 alpha-2 code")
	}
}

func (c *check) window(w Window) {
	c.year("/window/earliest", w.Earliest)
	c.year("/window/latest", w.Latest)
	switch span := w.Latest.Std().Sub(w.Earliest.Std()); {
	case span <= 0:
		c.add("/window/latest", "range", "must be later than earliest")
	case span > MaxWindow:
		c.add("/window/latest", "range", "must be within 366 days of earliest")
	}
}

func (c *check) year(pointer string, t Time) {
	if y := t.Std().Year(); y < minYear || y > maxYear {
		c.add(pointer, "range", fmt.Sprintf("must be in a year from %d to %d", minYear, maxYear))
	}
}

// Check complains of a span that ends before it began or lasts longer than a
// window may; at is the JSON Pointer of the span.
func (s Span) Check(at string) []FieldError {
	var c check
	c.year(at+"/start", s.Start)
	c.year(at+"/end", s.End)
	switch span := s.End.Std().Sub(s.Start.Std()); {
	case span <= 0:
		c.add(at+"/end", "range", "must be later than start")
	case span > MaxWindow:
		c.add(at+"/end", "range", "must be within 366 days of start")
	}
	return c.bad
}

func (c *check) lists(r *MissionRequest) {
	for i, s := range r.Skills {
		at := "/skills/" + strconv.Itoa(i)
		switch n := utf8.RuneCountInString(s); {
		case n == 0:
			c.add(at, "too_short", "must not be empty")
		case n > MaxSkill:
			c.add(at, "too_long", "must have at most 64 characters")
		}
		c.line(at, s)
	}
	for i, a := range r.Assets {
		at := "/assets/" + strconv.Itoa(i)
		c.line(at+"/id", a.ID)
		c.line(at+"/name", a.Name)
		c.line(at+"/serial", a.Serial)
	}
	for i, l := range r.Links {
		at := "/links/" + strconv.Itoa(i)
		c.line(at+"/text", l.Text)
		if u, err := url.Parse(l.Href); err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
			c.add(at+"/href", "format", "must be an https address without user name")
		}
	}
}

// labels holds labels to their bounds, in the order of their keys.
func (c *check) labels(labels map[string]string) {
	if len(labels) > MaxLabels {
		c.add("/labels", "too_long", "at most 64 labels")
		return
	}
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		at := pointerTo("/labels", k)
		switch n := utf8.RuneCountInString(k); {
		case n == 0:
			c.add(at, "too_short", "a key must not be empty")
		case n > MaxLabelKey:
			c.add(at, "too_long", "a key has at most 128 characters")
		}
		if utf8.RuneCountInString(labels[k]) > MaxLabelValue {
			c.add(at, "too_long", "must have at most 1024 characters")
		}
		c.line(at, k)
		c.prose(at, labels[k])
	}
}

// maxPointerToken bounds how much of a name from outside is said back, in code
// points.
const maxPointerToken = 128

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// pointerTo extends a JSON Pointer by one name (RFC 6901, section 3).
func pointerTo(at, name string) string {
	if utf8.RuneCountInString(name) > maxPointerToken {
		name = string([]rune(name)[:maxPointerToken]) + "…"
	}
	return at + "/" + pointerEscapes.Replace(name)
}

// metadata returns m compact, and complains of its bounds.
func (c *check) metadata(m json.RawMessage) json.RawMessage {
	if len(m) == 0 {
		return m
	}
	var compact bytes.Buffer
	switch err := json.Compact(&compact, m); {
	case err != nil || !bytes.HasPrefix(compact.Bytes(), []byte("{")):
		c.add("/metadata", "format", "must be a JSON object")
	case compact.Len() > MaxMetadata:
		c.add("/metadata", "too_long", "must not exceed 16384 bytes")
	case jsonDepth(compact.Bytes()) > MaxMetadataDepth:
		c.add("/metadata", "too_long", "must not nest deeper than 8 levels")
	case json.Unmarshal(compact.Bytes(), new(map[string]any)) != nil:
		c.add("/metadata", "range", "must have no number that a 64-bit float cannot hold")
	default:
		return compact.Bytes()
	}
	return m
}

// jsonDepth counts how deep valid JSON nests.
func jsonDepth(b []byte) int {
	depth, deepest, inText := 0, 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
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

// ValidTimeZone reports whether s has the form of an IANA time zone name. It does not
// check that the zone exists: this package does not read the zone database.
func ValidTimeZone(s string) bool {
	return s == "UTC" || (strings.Contains(s, "/") && !strings.Contains(s, "..") && !strings.HasPrefix(s, "/"))
}

// countries are the officially assigned codes of ISO 3166-1 alpha-2.
const countries = "AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ " +
	"CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR " +
	"GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP " +
	"KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ " +
	"NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW " +
	"SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ " +
	"UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW"

// validCountry reports whether a code of two upper-case letters is assigned.
// XK is used for Kosovo by those who deliver there. What has no blank can only be
// found where a code is.
func validCountry(code string) bool {
	return code == "XK" || len(code) == 2 && !strings.Contains(code, " ") && strings.Contains(countries, code)
}

// Fingerprint names what the client said, so that a retry can be told from a
// different mission under the same name. It is taken after Check. The order of
// members, the case of the source and the way a text is escaped do not matter.
func (r *MissionRequest) Fingerprint() (Digest, error) {
	same := *r
	same.Source = strings.ToLower(r.Source)
	if len(r.Metadata) > 0 {
		var tree any
		err := decodeTree(r.Metadata, &tree)
		if err == nil {
			same.Metadata, err = json.Marshal(tree)
		}
		if err != nil {
			return "", err
		}
	}
	b, err := json.Marshal(same)
	if err != nil {
		return "", err
	}
	return DigestOf(sha256.Sum256(b)), nil
}

// tree is the request as a client may compare it: maps, slices, texts and
// numbers as they were written, with the source in lower case.
func (r *MissionRequest) tree() (map[string]any, error) {
	same := *r
	same.Source = strings.ToLower(r.Source)
	b, err := json.Marshal(same)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	return tree, decodeTree(b, &tree)
}

// decodeTree reads JSON without losing digits.
func decodeTree(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return d.Decode(into)
}

// Differences lists the parts in which another request under the same name
// differs from r, by their pointers and without their values. Both were checked.
func (r *MissionRequest) Differences(other *MissionRequest) ([]FieldError, error) {
	mine, err := r.tree()
	if err != nil {
		return nil, err
	}
	theirs, err := other.tree()
	if err != nil {
		return nil, err
	}
	var c check
	c.differ("", mine, theirs)
	slices.SortFunc(c.bad, func(a, b FieldError) int { return cmp.Compare(a.Pointer, b.Pointer) })
	return c.bad, nil
}

// differ goes into objects; whatever else is unlike is one difference.
func (c *check) differ(at string, a, b map[string]any) {
	names := maps.Clone(a)
	maps.Copy(names, b)
	for name := range names {
		va, vb := a[name], b[name]
		oa, inA := va.(map[string]any)
		ob, inB := vb.(map[string]any)
		switch {
		case inA && inB:
			c.differ(pointerTo(at, name), oa, ob)
		case !sameJSON(va, vb):
			c.add(pointerTo(at, name), "conflict", "differs from what the mission was opened with")
		}
	}
}

func sameJSON(a, b any) bool {
	ta, errA := json.Marshal(a)
	tb, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(ta, tb)
}

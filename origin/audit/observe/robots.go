package observe

import (
	"net/url"
	"strings"

	"github.com/dunglas/httpsfv"
)

// Limits of the statements that are read from a robots.txt. Real files have one or two; every
// pattern costs its length times that of a path.
const (
	maxStatements = 200 // lines of one kind that are read
	maxStatement  = 1 << 10
)

// Statement is a line of a robots.txt and what it states: yes or no by name.
type Statement struct {
	Line   string // without the name of the field, as the site wrote it
	Values map[string]bool
}

// Robots are the statements of a robots.txt that apply to all crawlers and to one path. A nil
// statement was not made.
type Robots struct {
	Signal   *Statement // Content-Signal; the names are search, ai-input and ai-train
	Usage    *Statement // Content-Usage; the names are train-ai and search
	Licenses []string   // absolute web addresses of License lines, at most maxLicenses
}

// maxLicenses is how many License lines are kept: a file has one.
const maxLicenses = 5

// ParseRobots reads the statements of a robots.txt of at most 500 KiB for a path. Content-Signal and
// Content-Usage belong to a group, as rules do; the groups for all crawlers (User-agent: *) count.
// Both may begin with a path, of which the longest that matches counts (draft-ietf-aipref-attach-05,
// section 4). License lines belong to no group (RSL 1.0, section 4.2).
func ParseRobots(body, path string) (r Robots) {
	everyone, rules := true, false // lines before the first group are read as a group for everyone
	best := map[string]int{}
	read := map[string]int{}
	for line := range strings.FieldsFuncSeq(body, func(c rune) bool { return c == '\n' || c == '\r' }) {
		if len(line) > maxStatement {
			continue
		}
		line, _, _ = strings.Cut(line, "#")
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		switch name = strings.ToLower(strings.TrimSpace(name)); name {
		case "user-agent":
			// Consecutive lines share a group; one after a rule begins another.
			everyone = value == "*" || everyone && !rules && read["user-agent"] > 0
			rules = false
			read[name]++
		case "content-signal", "content-usage":
			rules = true
			if read[name]++; !everyone || read[name] > maxStatements {
				continue
			}
			r.add(name, value, path, best)
		case "license":
			if u, err := url.Parse(value); err == nil && isAbsolute(u) && len(r.Licenses) < maxLicenses {
				r.Licenses = append(r.Licenses, u.String())
			}
		case "allow", "disallow", "crawl-delay":
			rules = true
		}
	}
	return r
}

// add records a statement if its path is the longest so far that matches.
func (r *Robots) add(name, value, path string, best map[string]int) {
	pattern, list := "/", value
	if strings.HasPrefix(value, "/") {
		pattern, list, _ = strings.Cut(value, " ")
	}
	if !matches(pattern, path) || len(pattern) < best[name] {
		return
	}
	if name == "content-signal" {
		if values := signals(list); values != nil {
			r.Signal, best[name] = &Statement{value, values}, len(pattern)
		}
		return
	}
	if values := Usage(list); values != nil {
		r.Usage, best[name] = &Statement{value, values}, len(pattern)
	}
}

// signals parses the list of a Content-Signal: name=yes or name=no. Other names and values, such as
// use=, are valid and not read.
func signals(list string) map[string]bool {
	values := map[string]bool{}
	for part := range strings.SplitSeq(list, ",") {
		name, value, _ := strings.Cut(part, "=")
		name, value = strings.ToLower(strings.TrimSpace(name)), strings.ToLower(strings.TrimSpace(value))
		switch name {
		case "search", "ai-input", "ai-train":
			if value == "yes" || value == "no" {
				values[name] = value == "yes"
			}
		}
	}
	if len(values) == 0 {
		return nil
	}
	return values
}

// Usage parses the dictionary of a Content-Usage field or line (draft-ietf-aipref-attach-05): the
// labels train-ai and search with the tokens y or n. Other labels and values are ignored, as is all
// of a dictionary that is malformed (RFC 9651, section 4.2) or has more than 1 KiB. It returns nil
// if no preference is stated.
func Usage(dictionary string) map[string]bool {
	if len(dictionary) > maxStatement {
		return nil
	}
	d, err := httpsfv.UnmarshalDictionary([]string{dictionary})
	if err != nil {
		return nil
	}
	values := map[string]bool{}
	for _, name := range []string{"train-ai", "search"} {
		m, ok := d.Get(name)
		if !ok {
			continue
		}
		item, ok := m.(httpsfv.Item)
		if token, isToken := item.Value.(httpsfv.Token); ok && isToken && (token == "y" || token == "n") {
			values[name] = token == "y"
		}
	}
	if len(values) == 0 {
		return nil
	}
	return values
}

// matches reports whether a path matches a pattern of robots.txt: a prefix, in which * is any text
// and a $ at the end is the end of the path. It takes linear time for each *.
func matches(pattern, path string) bool {
	pattern, exact := strings.CutSuffix(pattern, "$")
	parts := strings.Split(pattern, "*")
	if !strings.HasPrefix(path, parts[0]) {
		return false
	}
	rest := path[len(parts[0]):]
	for i, part := range parts[1:] {
		if exact && i == len(parts)-2 {
			return strings.HasSuffix(rest, part)
		}
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return !exact || rest == ""
}

// isAbsolute reports whether u is an absolute web address.
func isAbsolute(u *url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil
}

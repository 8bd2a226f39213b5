package dump

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
)

// maxTerm limits a licence and an attribution, in characters: they are in the list with every dump.
const maxTerm = 200

// licenceExpression matches SPDX license expressions (SPDX 2.3, annex D): ids, AND, OR, WITH and parentheses.
var licenceExpression = regexp.MustCompile(`^[A-Za-z0-9.+() -]+$`)

// ParseTerms checks the terms of dumps: a licence is an SPDX expression or an https URL, an attribution is a line of
// text. Both may be empty.
func ParseTerms(licence, attribution string) (fieldmark.DumpTerms, error) {
	t := fieldmark.DumpTerms{Licence: licence, Attribution: attribution}
	u, err := url.Parse(licence)
	// Only https: the address is published beside data that others pass on.
	address := err == nil && u.Scheme == "https" && u.Host != ""
	switch {
	case utf8.RuneCountInString(licence) > maxTerm || utf8.RuneCountInString(attribution) > maxTerm:
		return t, fmt.Errorf("a licence and an attribution have at most %d characters", maxTerm)
	case licence != "" && !address && !licenceExpression.MatchString(licence):
		return t, fmt.Errorf("licence %q is neither an SPDX expression, such as CC-BY-4.0, nor an https URL", licence)
	case !utf8.ValidString(attribution) || strings.ContainsFunc(attribution, unicode.IsControl):
		return t, errors.New("an attribution is one line of text")
	}
	return t, nil
}

package command

import (
	"fmt"

	"github.com/fieldmark/fieldmark"
)

// SuspicionText describes a suspicion on one line. What comes from the site is quoted: it
// may contain control characters and characters that terminals do not show.
func SuspicionText(s *fieldmark.Suspicion) string {
	how := "visible"
	if s.Hidden != "" {
		how = fmt.Sprintf("%q", s.Hidden)
	}
	text := fmt.Sprintf("%q on %q, %s, rule %s", s.Passage, s.URL, how, s.Rule)
	if s.Unread != "" {
		text += fmt.Sprintf("; the last audit could not read the page: %q", s.Unread)
	}
	return text
}

package operate

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/origin/chart"
	"github.com/fieldmark/fieldmark/origin/client"
)

// The columns of a line of a chart: the most for its sparkline, an hour by minutes; what is before
// it; and the width of a terminal from which the title and the name have columns of their own.
const (
	sparkWidth  = 60
	labelWidth  = 45
	narrowLabel = 29
	wideScreen  = labelWidth + 20
)

// monitorTimeout bounds the calls for one screen.
const monitorTimeout = 3 * time.Second * timeout.Scale

// Monitor prints what is wrong with an installation, and what its nodes count.
type Monitor struct {
	adminFlags `embed:""`
}

// Connect returns a client, or nil if no server and key are named.
func (m *Monitor) Connect() (*client.Client, error) {
	c, err := m.connect()
	if err != nil && m.URL == "" && m.AdminKey == "" && m.AdminKeyFile == "" {
		return nil, nil // the nodes are shown without
	}
	return c, err
}

// Print prints the issues and the charts of the last hour as sparklines, for a screen with a number
// of columns. An origin that does not answer is printed as an issue.
func (m *Monitor) Print(ctx context.Context, w io.Writer, c *client.Client, columns int) error {
	if c == nil {
		_, err := fmt.Fprint(w, "\nSet FIELDMARK_URL and FIELDMARK_ADMIN_KEY to see issues and charts.\n")
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, monitorTimeout)
	defer cancel()
	issues, err := c.Issues(ctx)
	if err != nil {
		_, err = fmt.Fprintf(w, "\ncritical  The origin gives no list of issues: %v\n", err)
		return err
	}
	if err := printIssues(w, issues, time.Now()); err != nil {
		return err
	}
	metrics, err := c.Metrics(ctx, fieldmark.Range1h)
	if err != nil {
		_, err = fmt.Fprintf(w, "\nNo charts: %v\n", err)
		return err
	}
	fmt.Fprint(w, "\nLAST HOUR, BY MINUTE\n")
	for _, c := range chart.Charts(metrics) {
		for _, s := range c.Series {
			if err := printSeries(w, c.Title, s, columns); err != nil {
				return err
			}
		}
	}
	return nil
}

func printSeries(w io.Writer, title string, s chart.Series, columns int) error {
	spark := func(label int) string { return chart.Sparkline(s.Values, min(sparkWidth, max(columns-label, 0))) }
	if columns >= wideScreen {
		_, err := fmt.Fprintf(w, "%-19s %-12s %10s  %s\n", title, s.Name, s.Now, spark(labelWidth))
		return err
	}
	if !strings.EqualFold(title, s.Name) {
		title += " " + s.Name
	}
	_, err := fmt.Fprintf(w, "%-18.18s %9s %s\n", title, s.Now, spark(narrowLabel))
	return err
}

func printIssues(w io.Writer, list fieldmark.IssueList, now time.Time) error {
	if len(list.Data) == 0 {
		_, err := fmt.Fprint(w, "\nNo issues\n")
		return err
	}
	fmt.Fprintf(w, "\n%d ISSUES\n", len(list.Data))
	for _, i := range list.Data {
		action := i.Action
		if i.Link != "" {
			action += ": " + i.Link
		}
		if _, err := fmt.Fprintf(w, "%-8s  %s (since %s, %s)\n          %s\n          %s\n", i.Severity,
			printable(i.Title), i.Since.Std().UTC().Format("2006-01-02 15:04"),
			now.Sub(i.Since.Std()).Round(time.Second),
			printable(i.Effect), printable(action)); err != nil {
			return err
		}
	}
	return nil
}

// printable replaces control characters: titles contain texts of receivers and sites, which
// must not control the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '\uFFFD'
		}
		return r
	}, s)
}

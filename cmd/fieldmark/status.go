package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/operate"
	"github.com/fieldmark/fieldmark/internal/timeout"
)

const (
	// statusTimeout bounds the requests to one node. A healthy node responds at once.
	statusTimeout = 3 * time.Second * timeout.Scale
	// maxMetrics bounds the metrics of a node, in bytes. They are some tens of kilobytes.
	maxMetrics = 4 << 20
	// topInterval is the refresh interval of `top`.
	topInterval = time.Second
)

// nodesFlag names the nodes to query.
type nodesFlag struct {
	Node []string `env:"FIELDMARK_NODES" default:"http://127.0.0.1:8090" placeholder:"URL" help:"Debug listeners of the nodes, separated by commas."`
}

// statusCmd shows the state of nodes.
type statusCmd struct {
	nodesFlag `embed:""`
	Quiet     bool `short:"q" help:"Print nothing; only set the exit status."`
}

// Run queries every node once.
func (c *statusCmd) Run(ctx context.Context, s *command.Streams) error {
	states := queryNodes(ctx, c.Node)
	if !c.Quiet {
		if err := printStates(s.Out, states, nil, 0); err != nil {
			return err
		}
	}
	failed := 0
	for _, n := range states {
		if n.err != nil {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d nodes are not ready", failed, len(states))
	}
	return nil
}

// topCmd shows the state and the rates of nodes, the issues and the charts repeatedly.
type topCmd struct {
	nodesFlag       `embed:""`
	operate.Monitor `embed:""`
	Once            bool `help:"Print one screen and exit, as if the output were not a terminal."`
}

// Run queries every node once a second until ctx ends.
func (c *topCmd) Run(ctx context.Context, s *command.Streams) error {
	api, err := c.Connect()
	if err != nil {
		return err
	}
	if _, _, ok := s.TerminalSize(); !ok {
		c.Once = true // a file or a pipe is not cleared
	}
	tick := time.NewTicker(topInterval)
	defer tick.Stop()
	var previous []nodeState
	since := time.Now()
	for {
		states, now := queryNodes(ctx, c.Node), time.Now()
		if ctx.Err() != nil {
			return nil
		}
		columns, rows, ok := s.TerminalSize() // it may have changed
		if !ok {
			columns = wholeScreen
		}
		var screen bytes.Buffer // written at once, so that the terminal does not flicker
		if err := printStates(&screen, states, previous, now.Sub(since)); err != nil {
			return err
		}
		if err := c.Print(ctx, &screen, api, columns); err != nil {
			return err
		}
		if c.Once {
			_, err := screen.WriteTo(s.Out)
			return err
		}
		// Move the cursor home and clear the screen.
		if _, err := io.WriteString(s.Out, "\x1b[H\x1b[2J"+fit(screen.String(), columns, rows)); err != nil {
			return err
		}
		previous, since = states, now
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// wholeScreen is the number of columns of output that is not a terminal: all of every line.
const wholeScreen = 120

// fit shortens a text to a screen: a terminal would wrap long lines and scroll the first ones away.
func fit(text string, columns, rows int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if over := len(lines) - (rows - 1); over > 0 { // the cursor is on the last row
		kept := max(rows-2, 0)
		lines = append(lines[:kept:kept], "… "+
			command.Count(len(lines)-kept, "more line", "more lines")+"; --once prints all")
	}
	for i, line := range lines {
		if letters := []rune(line); len(letters) > columns {
			lines[i] = string(letters[:max(columns-1, 0)]) + "…"
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// nodeState is the state that a node reports.
type nodeState struct {
	url     string
	err     error // not ready, or no response
	metrics map[string]float64
	labels  map[string]string // of fieldmark_build_info
}

func queryNodes(ctx context.Context, urls []string) []nodeState {
	states := make([]nodeState, len(urls))
	done := make(chan struct{})
	for i, url := range urls {
		go func() {
			states[i] = queryNode(ctx, strings.TrimSuffix(strings.TrimSpace(url), "/"))
			done <- struct{}{}
		}()
	}
	for range urls {
		<-done
	}
	return states
}

func queryNode(ctx context.Context, address string) nodeState {
	n := nodeState{url: address, metrics: map[string]float64{}}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	status, body, err := getText(ctx, address+"/readyz")
	switch {
	case err != nil:
		n.err = err
		return n
	case status != http.StatusOK:
		n.err = errors.New(strings.TrimSpace(body))
	}
	if _, body, err = getText(ctx, address+"/metrics"); err != nil {
		n.err = errors.Join(n.err, err)
		return n
	}
	n.metrics, n.labels = readMetrics(strings.NewReader(body))
	return n
}

func getText(ctx context.Context, address string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err // the address is in the same line
	}
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxMetrics))
	return resp.StatusCode, string(body), err
}

// readMetrics parses the Prometheus text format. It returns the sum of the samples of each
// metric, and the labels of fieldmark_build_info.
func readMetrics(r io.Reader) (sums map[string]float64, build map[string]string) {
	sums, build = map[string]float64{}, map[string]string{}
	for lines := bufio.NewScanner(r); lines.Scan(); {
		line := lines.Text()
		series, value, ok := cutLast(line, ' ')
		v, err := strconv.ParseFloat(value, 64)
		if !ok || err != nil || strings.HasPrefix(line, "#") {
			continue
		}
		name, labels, _ := strings.Cut(strings.TrimSuffix(series, "}"), "{")
		sums[name] += v
		if labels != "" {
			sums[series] += v
		}
		if strings.HasSuffix(name, "_requests_total") && strings.Contains(labels, `class="5xx"`) {
			sums[failedRequests] += v
		}
		if name == "fieldmark_build_info" {
			for pair := range strings.SplitSeq(labels, ",") {
				key, quoted, _ := strings.Cut(pair, "=")
				build[key] = strings.Trim(quoted, `"`)
			}
		}
	}
	return sums, build
}

func cutLast(s string, sep byte) (before, after string, ok bool) {
	if i := strings.LastIndexByte(s, sep); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

// printStates prints a line for each node: rates per second if there is a previous state,
// totals otherwise.
func printStates(w io.Writer, states, previous []nodeState, elapsed time.Duration) error {
	per := ""
	if previous != nil {
		per = "/S"
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "NODE\tROLE\tVERSION\tSTATE\tREQUESTS%s\tERRORS%s\tHITS\tEVENT\tBACKLOG\tMEMORY\tCPU\n", per, per)
	for i, n := range states {
		state := "ready"
		if n.err != nil {
			state = n.err.Error()
		}
		if n.labels == nil {
			fmt.Fprintf(tw, "%s\t\t\t%s\t\t\t\t\t\t\t\n", n.url, state)
			continue
		}
		get := func(name string) float64 { return n.metrics[name] }
		var seconds float64
		if previous != nil && previous[i].labels != nil && elapsed > 0 {
			seconds = elapsed.Seconds()
			get = func(name string) float64 { return n.metrics[name] - previous[i].metrics[name] }
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", n.url, n.labels["role"], n.labels["version"],
			state,
			count(get("fieldmark_edge_requests_total")+get("fieldmark_origin_requests_total"), seconds),
			count(get(failedRequests), seconds), hitsOf(get),
			sampleOf(n.metrics, "fieldmark_edge_event", "fieldmark_origin_event"),
			sampleOf(n.metrics, "fieldmark_webhook_backlog"),
			strconv.FormatFloat(n.metrics["process_resident_memory_bytes"]/(1<<20), 'f', 0, 64)+" MiB",
			cpuShare(get, seconds))
	}
	return tw.Flush()
}

// failedRequests is the key of the sum of all responses with a status of 500 or more.
const failedRequests = "5xx"

func count(n, seconds float64) string {
	if seconds > 0 {
		n /= seconds
	}
	return strconv.FormatFloat(n, 'f', 0, 64)
}

func hitsOf(get func(string) float64) string {
	hit, all := get(`fieldmark_edge_cache_total{result="hit"}`), get("fieldmark_edge_cache_total")
	if all == 0 {
		return "-"
	}
	return strconv.FormatFloat(100*hit/all, 'f', 1, 64) + " %"
}

// sampleOf returns the first of these metrics that a node has.
func sampleOf(metrics map[string]float64, names ...string) string {
	for _, name := range names {
		if v, ok := metrics[name]; ok {
			return strconv.FormatFloat(v, 'f', 0, 64)
		}
	}
	return "-"
}

func cpuShare(get func(string) float64, seconds float64) string {
	if seconds == 0 {
		return (time.Duration(get("process_cpu_seconds_total")*1000) * time.Millisecond).String()
	}
	return strconv.FormatFloat(100*get("process_cpu_seconds_total")/seconds, 'f', 0, 64) + " %"
}

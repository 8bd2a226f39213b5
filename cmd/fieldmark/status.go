package main

import (
	"bufio"
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
)

const (
	// statusTimeout bounds asking one node; it answers at once or is in trouble.
	statusTimeout = 3 * time.Second
	// maxMetrics bounds what is read of a node's metrics, in bytes: they are some
	// tens of kilobytes.
	maxMetrics = 4 << 20
	// topEvery is how often `top` looks.
	topEvery = time.Second
)

// nodesFlag says which nodes to look at.
type nodesFlag struct {
	Node []string `env:"FIELDMARK_NODES" default:"http://127.0.0.1:8090" placeholder:"URL" help:"Debug listeners of the nodes, with commas between."`
}

// statusCmd shows nodes at a glance.
type statusCmd struct {
	nodesFlag `embed:""`
	Quiet     bool `short:"q" help:"Print nothing; the exit status tells whether all are ready."`
}

// Run asks every node once.
func (c *statusCmd) Run(ctx context.Context, s *command.Streams) error {
	states := askNodes(ctx, c.Node)
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

// topCmd shows nodes again and again, with what happened in between.
type topCmd struct {
	nodesFlag `embed:""`
}

// Run looks every second until ctx ends.
func (c *topCmd) Run(ctx context.Context, s *command.Streams) error {
	tick := time.NewTicker(topEvery)
	defer tick.Stop()
	var before []nodeState
	began := time.Now()
	for {
		states, now := askNodes(ctx, c.Node), time.Now()
		if ctx.Err() != nil {
			return nil
		}
		fmt.Fprint(s.Out, "\x1b[H\x1b[2J") // to the upper left, and clear
		if err := printStates(s.Out, states, before, now.Sub(began)); err != nil {
			return err
		}
		before, began = states, now
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// nodeState is what a node says of itself.
type nodeState struct {
	url     string
	err     error // it is not ready, or does not answer
	metrics map[string]float64
	labels  map[string]string // of fieldmark_build_info
}

func askNodes(ctx context.Context, urls []string) []nodeState {
	states := make([]nodeState, len(urls))
	done := make(chan struct{})
	for i, url := range urls {
		go func() {
			states[i] = askNode(ctx, strings.TrimSuffix(strings.TrimSpace(url), "/"))
			done <- struct{}{}
		}()
	}
	for range urls {
		<-done
	}
	return states
}

func askNode(ctx context.Context, address string) nodeState {
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
		err = ue.Err // the address is shown beside it
	}
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxMetrics))
	return resp.StatusCode, string(body), err
}

// readMetrics sums the samples of each name in the Prometheus text format, and
// returns the labels of the build.
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

// printStates writes a line a node. With an earlier look it tells rates, else
// totals.
func printStates(w io.Writer, states, before []nodeState, since time.Duration) error {
	per := ""
	if before != nil {
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
		if before != nil && before[i].labels != nil && since > 0 {
			seconds = since.Seconds()
			get = func(name string) float64 { return n.metrics[name] - before[i].metrics[name] }
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", n.url, n.labels["role"], n.labels["version"], state,
			count(get("fieldmark_edge_requests_total")+get("fieldmark_origin_requests_total"), seconds), count(get(failedRequests), seconds), hitsOf(get),
			sampleOf(n.metrics, "fieldmark_edge_event", "fieldmark_origin_event"), sampleOf(n.metrics, "fieldmark_webhook_backlog"),
			strconv.FormatFloat(n.metrics["process_resident_memory_bytes"]/(1<<20), 'f', 0, 64)+" MiB", cpuShare(get, seconds))
	}
	return tw.Flush()
}

// failedRequests stands for all requests answered with a status of 500 or more.
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

// sampleOf is the first of these metrics that a node has.
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

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
)

// expositionType is the media type of the Prometheus text format.
const expositionType = "text/plain; version=0.0.4; charset=utf-8"

// metricFamily is one metric with all its samples.
type metricFamily struct {
	name, kind string
	samples    [][]byte
}

// writeExposition writes what the given functions write, in the Prometheus text
// format, with HELP and TYPE before each metric and its samples in one place.
// Counters end in _total; histograms and summaries have le and quantile labels.
func writeExposition(w io.Writer, write ...func(io.Writer)) error {
	var raw bytes.Buffer
	for _, f := range write {
		f(&raw)
	}
	var out bytes.Buffer
	for _, f := range families(raw.Bytes()) {
		fmt.Fprintf(&out, "# HELP %s %s\n# TYPE %s %s\n", f.name, helpOf(f.name), f.name, f.kind)
		for _, sample := range f.samples {
			out.Write(sample)
		}
	}
	_, err := w.Write(out.Bytes())
	return err
}

// families groups samples by metric, in the order in which they first appear.
func families(raw []byte) []*metricFamily {
	kinds := map[string]string{} // of metrics that have several samples for one value
	for line := range bytes.Lines(raw) {
		switch name := sampleName(line); {
		case strings.HasSuffix(name, "_bucket"):
			kinds[strings.TrimSuffix(name, "_bucket")] = "histogram"
		case bytes.Contains(line, []byte(`quantile="`)):
			kinds[name] = "summary"
		}
	}
	byName := map[string]*metricFamily{}
	var all []*metricFamily
	for line := range bytes.Lines(raw) {
		name := sampleName(line)
		if name == "" {
			continue
		}
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if base := strings.TrimSuffix(name, suffix); kinds[base] != "" {
				name = base
			}
		}
		f := byName[name]
		if f == nil {
			f = &metricFamily{name: name, kind: cmp.Or(kinds[name], plainKind(name))}
			byName[name] = f
			all = append(all, f)
		}
		f.samples = append(f.samples, line)
	}
	return all
}

// plainKind is the type of a metric that has one sample for each value.
func plainKind(name string) string {
	switch {
	case strings.HasSuffix(name, "_total"):
		return "counter"
	case strings.HasPrefix(name, "fieldmark_"):
		return "gauge"
	}
	return "untyped" // of the Go runtime and the process: some are named like parts of a histogram
}

// sampleName returns the name that a line begins with; empty for a comment.
func sampleName(line []byte) string {
	end := bytes.IndexAny(line, "{ ")
	if end < 0 || line[0] == '#' {
		return ""
	}
	return string(line[:end])
}

func helpOf(name string) string {
	if help, ok := metricHelp[name]; ok {
		return help
	}
	switch {
	case strings.HasPrefix(name, "go_"):
		return "Of the Go runtime."
	case strings.HasPrefix(name, "process_"):
		return "Of the process, as the operating system reports it."
	}
	return ""
}

package exposition

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
)

// ContentType is the media type of the Prometheus text format.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// metricFamily is one metric with all its samples.
type metricFamily struct {
	name, kind string
	samples    [][]byte
}

// renamedMetrics maps prefixes of metric names to those of the previous release, under
// which the metrics are also exported for one release.
var renamedMetrics = map[string]string{"fieldmark_database_": "fieldmark_record_"}

// Write writes what the given functions write, samples in the Prometheus text format, grouped by
// metric and with HELP and TYPE lines. It derives the types from the samples: counters end in
// _total, histograms have _bucket samples with the label le, summaries have the label quantile. The
// output of the functions is kept in memory; the error is that of w.
func Write(w io.Writer, write ...func(io.Writer)) error {
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
		for prefix, previous := range renamedMetrics {
			if rest, ok := strings.CutPrefix(f.name, prefix); ok {
				fmt.Fprintf(&out, "# HELP %[1]s%[2]s Previous name of %[3]s.\n# TYPE %[1]s%[2]s %[4]s\n", previous,
					rest, f.name, f.kind)
				for _, sample := range f.samples {
					out.WriteString(previous)
					out.Write(sample[len(prefix):])
				}
			}
		}
	}
	_, err := w.Write(out.Bytes())
	return err
}

// families groups samples by metric, in order of first appearance.
func families(raw []byte) []*metricFamily {
	kinds := map[string]string{} // of metrics with several samples per value
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

// plainKind returns the type of a metric with one sample per value.
func plainKind(name string) string {
	switch {
	case strings.HasSuffix(name, "_total"):
		return "counter"
	case strings.HasPrefix(name, "fieldmark_"):
		return "gauge"
	}
	return "untyped" // of the Go runtime and the process; some have names like those of histograms
}

// sampleName returns the name of a sample, or "" for a comment.
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
		return "Go runtime metric."
	case strings.HasPrefix(name, "process_"):
		return "Process metric, as the operating system reports it."
	}
	return ""
}

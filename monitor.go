package fieldmark

import "time"

// Issue is a problem of the installation that an operator has to fix. It disappears from the
// list when its cause is gone.
type Issue struct {
	Code     IssueCode     `json:"code"`
	Severity IssueSeverity `json:"severity"`
	Subject  string        `json:"subject,omitempty"` // id or name of the object
	Since    Time          `json:"since"`
	Title    string        `json:"title"`  // what is wrong, without a full stop
	Effect   string        `json:"effect"` // what it means for users, in sentences
	Action   string        `json:"action"` // what to do
	// path of the page of the admin console for Action; empty: Action is outside of it
	Link string `json:"link,omitempty"`
}

// IssueCode identifies a kind of issue. Codes do not change.
type IssueCode string

// The kinds of issues.
const (
	IssueEndpointFailing     IssueCode = "endpoint_failing"      // its messages are retried
	IssueCircuitOpen         IssueCode = "endpoint_circuit_open" // its messages are held
	IssueEndpointDisabled    IssueCode = "endpoint_disabled"
	IssueMessagesHeld        IssueCode = "messages_held"
	IssueDeliveriesDelayed   IssueCode = "deliveries_delayed" // the queue grows
	IssueSLABreached         IssueCode = "sla_breached"
	IssueSLAAtRisk           IssueCode = "sla_at_risk"
	IssueTimersDelayed       IssueCode = "timers_delayed"
	IssueAuditsStuck         IssueCode = "audits_stuck"
	IssueKeyExpiring         IssueCode = "api_key_expiring"
	IssueCertificateExpiring IssueCode = "certificate_expiring"
	IssueCertificateFailing  IssueCode = "certificate_failing" // orders fail
	IssueModuleMissing       IssueCode = "module_missing"
	IssueModuleMismatch      IssueCode = "module_mismatch" // an edge has another than the active module
	IssueEdgeLagging         IssueCode = "edge_lagging"
	IssueEdgeUnseen          IssueCode = "edge_unseen"
	IssueRedisUnavailable    IssueCode = "redis_unavailable"
	IssueDatabaseUnavailable IssueCode = "database_unavailable"
	IssueDatabaseReadOnly    IssueCode = "database_read_only" // it refuses writes
	IssueBackupOutdated      IssueCode = "backup_outdated"
	IssueDiskFilling         IssueCode = "disk_filling"
	IssueCDNFailing          IssueCode = "cdn_failing"    // purges are repeated
	IssueCDNRefused          IssueCode = "cdn_refused"    // its token was refused, and purges have stopped
	IssueCDNUnverified       IssueCode = "cdn_unverified" // probes through its public name failed
	IssueCDNEmptied          IssueCode = "cdn_emptied"    // everything was purged, because events were lost
)

// IssueSeverity is the urgency of an issue.
type IssueSeverity string

// Users notice a critical issue; a warning becomes critical if it is not fixed.
const (
	SeverityCritical IssueSeverity = "critical"
	SeverityWarning  IssueSeverity = "warning"
)

// IssueList is the state of the installation; without issues it works.
type IssueList struct {
	Data      []Issue `json:"data"` // critical ones first, then the oldest first
	CheckedAt Time    `json:"checkedAt"`
}

// MetricCounts are what nodes count in a period. Each node adds what it has counted itself;
// Held is the maximum.
type MetricCounts struct {
	Requests int64 `json:"requests"` // of clients, at the edges
	Errors   int64 `json:"errors"`   // responses with status 500 or more
	Hits     int64 `json:"hits"`     // lookups in the caches that needed no fill
	Misses   int64 `json:"misses"`
	Fetches  int64 `json:"fetches"` // requests to origins for a client

	Sent   int64 `json:"sent"`   // webhook messages that were accepted
	Failed int64 `json:"failed"` // attempts to deliver one that failed
	Held   int64 `json:"held"`   // messages that waited for their endpoint

	SLAMet      int64 `json:"slaMet"`
	SLAAtRisk   int64 `json:"slaAtRisk"`
	SLABreached int64 `json:"slaBreached"`
	Audits      int64 `json:"audits"` // finished with facts
}

// Add adds the counts of another node or period.
func (c *MetricCounts) Add(o MetricCounts) {
	c.Requests += o.Requests
	c.Errors += o.Errors
	c.Hits += o.Hits
	c.Misses += o.Misses
	c.Fetches += o.Fetches
	c.Sent += o.Sent
	c.Failed += o.Failed
	c.Held = max(c.Held, o.Held)
	c.SLAMet += o.SLAMet
	c.SLAAtRisk += o.SLAAtRisk
	c.SLABreached += o.SLABreached
	c.Audits += o.Audits
}

// MetricBucket contains the counts of a period, and the requests of that period by duration.
type MetricBucket struct {
	At Time `json:"at"` // begin of the period
	MetricCounts
	// requests whose duration was at most LatencyBounds of the same index; the last are slower
	// than every bound
	Latency []int64 `json:"latency,omitempty"`
}

// LatencyBounds returns the upper bounds of MetricBucket.Latency: from a response from memory
// to one that ran into every timeout.
func LatencyBounds() []time.Duration {
	return []time.Duration{time.Microsecond, 5 * time.Microsecond, 10 * time.Microsecond, 50 * time.Microsecond,
		100 * time.Microsecond, 500 * time.Microsecond, time.Millisecond, 5 * time.Millisecond,
		10 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond, time.Second,
		5 * time.Second, 30 * time.Second}
}

// Add adds the counts of another bucket.
func (b *MetricBucket) Add(o MetricBucket) {
	b.MetricCounts.Add(o.MetricCounts)
	for len(b.Latency) < len(o.Latency) {
		b.Latency = append(b.Latency, 0)
	}
	for i, n := range o.Latency {
		b.Latency[i] += n
	}
}

// Percentile estimates the duration that a share of the requests did not exceed, by linear
// interpolation within a bound, as Prometheus does. It is 0 without requests.
func (b *MetricBucket) Percentile(share float64) time.Duration {
	total := int64(0)
	for _, n := range b.Latency {
		total += n
	}
	bounds := LatencyBounds()
	rank, seen := share*float64(total), int64(0)
	for i, n := range b.Latency {
		if n == 0 || float64(seen+n) < rank {
			seen += n
			continue
		}
		if i >= len(bounds) {
			return bounds[len(bounds)-1]
		}
		lower := time.Duration(0)
		if i > 0 {
			lower = bounds[i-1]
		}
		return lower + time.Duration(float64(bounds[i]-lower)*(rank-float64(seen))/float64(n))
	}
	return 0
}

// MetricPoint is a point of the charts.
type MetricPoint struct {
	At Time `json:"at"` // begin of the period
	MetricCounts
	P50Micros int64 `json:"p50Micros"` // median duration of requests
	P99Micros int64 `json:"p99Micros"`
}

// Metrics are the points of a range of time, the oldest first and without gaps.
type Metrics struct {
	Range       MetricRange   `json:"range"`
	StepSeconds int           `json:"stepSeconds"`
	Points      []MetricPoint `json:"points"`
}

// MetricRange is the time that charts show, up to now.
type MetricRange string

// The ranges.
const (
	Range1h  MetricRange = "1h"
	Range24h MetricRange = "24h"
	Range7d  MetricRange = "7d"
	Range90d MetricRange = "90d"
)

// MetricRanges returns all ranges, the shortest first.
func MetricRanges() []MetricRange { return []MetricRange{Range1h, Range24h, Range7d, Range90d} }

const (
	// ReportInterval is how often an edge reports to the origin.
	ReportInterval = 5 * time.Second
	// MaxNodeBuckets limits the minutes that an edge keeps while the origin accepts no report.
	MaxNodeBuckets = 60
)

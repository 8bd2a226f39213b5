package edge

import (
	"fmt"
	"sync"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/wasm"
)

// meteredModules is how many modules a node keeps counters of, the newest ones;
// a year of activations must not become a year of series.
const meteredModules = 8

// moduleMeters are the counters of each module, by its digest.
type moduleMeters struct {
	mu    sync.RWMutex
	of    map[fieldmark.Digest]*moduleMeter
	order []fieldmark.Digest // oldest first
}

// moduleMeter is what is counted of one module.
type moduleMeter struct {
	digest    fieldmark.Digest
	fuel      *metrics.PrometheusHistogram
	seconds   *metrics.PrometheusHistogram
	faults    map[wasm.FaultKind]*metrics.Counter
	waits     *metrics.Counter
	instances *metrics.Gauge
	load      *metrics.Gauge
	rollbacks *metrics.Counter
}

// fuelBuckets reach from a small scorecard to the most fuel a call may use.
var fuelBuckets = []float64{1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6, 3e6, 1e7, 1e8}

var faultKinds = []wasm.FaultKind{
	wasm.FaultFuel, wasm.FaultDepth, wasm.FaultTrap, wasm.FaultOutput, wasm.FaultGrowth, wasm.FaultDeclined, wasm.FaultInput,
}

// module returns the counters of a module, making them the first time.
func (m *meters) module(digest fieldmark.Digest) *moduleMeter {
	s := &m.modules
	s.mu.RLock()
	meter := s.of[digest]
	s.mu.RUnlock()
	if meter != nil {
		return meter
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if meter = s.of[digest]; meter != nil {
		return meter
	}
	if s.of == nil {
		s.of = map[fieldmark.Digest]*moduleMeter{}
	}
	if len(s.order) == meteredModules {
		m.forget(s.of[s.order[0]])
		delete(s.of, s.order[0])
		s.order = s.order[1:]
	}
	meter = m.newModule(digest)
	s.of[digest] = meter
	s.order = append(s.order, digest)
	return meter
}

func moduleMetric(name string, digest fieldmark.Digest) string {
	return fmt.Sprintf(`fieldmark_edge_module_%s{digest=%q}`, name, digest)
}

func faultMetric(digest fieldmark.Digest, kind wasm.FaultKind) string {
	return fmt.Sprintf(`fieldmark_edge_module_faults_total{digest=%q,kind=%q}`, digest, kind)
}

func (m *meters) newModule(d fieldmark.Digest) *moduleMeter {
	meter := &moduleMeter{
		digest:    d,
		fuel:      m.set.NewPrometheusHistogramExt(moduleMetric("fuel", d), fuelBuckets),
		seconds:   m.set.NewPrometheusHistogramExt(moduleMetric("seconds", d), secondBuckets),
		waits:     m.set.NewCounter(moduleMetric("waits_total", d)),
		instances: m.set.NewGauge(moduleMetric("instances", d), nil),
		load:      m.set.NewGauge(moduleMetric("load_seconds", d), nil),
		rollbacks: m.set.NewCounter(moduleMetric("rollbacks_total", d)),
		faults:    map[wasm.FaultKind]*metrics.Counter{},
	}
	for _, kind := range faultKinds {
		meter.faults[kind] = m.set.NewCounter(faultMetric(d, kind))
	}
	return meter
}

func (m *meters) forget(old *moduleMeter) {
	for _, name := range []string{"fuel", "seconds", "waits_total", "instances", "load_seconds", "rollbacks_total"} {
		m.set.UnregisterMetric(moduleMetric(name, old.digest))
	}
	for _, kind := range faultKinds {
		m.set.UnregisterMetric(faultMetric(old.digest, kind))
	}
}

// observer counts what modules do.
func (m *meters) observer() wasm.Observer {
	return wasm.Observer{
		Loaded: func(r fieldmark.ModuleRef, took time.Duration) { m.module(r.Digest).load.Set(took.Seconds()) },
		Scored: func(r fieldmark.ModuleRef, fuel int64, took time.Duration) {
			meter := m.module(r.Digest)
			meter.fuel.Update(float64(fuel))
			meter.seconds.Update(took.Seconds())
		},
		Faulted: func(r fieldmark.ModuleRef, kind wasm.FaultKind) {
			if counter := m.module(r.Digest).faults[kind]; counter != nil {
				counter.Inc()
			}
		},
		Waited:    func(r fieldmark.ModuleRef) { m.module(r.Digest).waits.Inc() },
		Instances: func(r fieldmark.ModuleRef, change int) { m.module(r.Digest).instances.Add(float64(change)) },
	}
}

func (m *meters) rollback(r fieldmark.ModuleRef) { m.module(r.Digest).rollbacks.Inc() }

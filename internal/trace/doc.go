// Package trace carries W3C trace context (https://www.w3.org/TR/trace-context/)
// and tells a collector how long what we did took, as spans over OTLP/HTTP.
//
// In go parents as requests bring them; out come spans, in protobuf, to one
// address. A nil Tracer and a nil Span do nothing and cost nothing, so that
// callers ask no questions. It knows no routes, no database and no webhook, and
// never makes anybody wait: what the collector does not take in time is dropped
// and counted.
package trace

// Package trace implements W3C trace context (https://www.w3.org/TR/trace-context/) and
// exports spans to a collector by OTLP over HTTP.
//
// A nil Tracer and a nil Span do nothing at no cost, so that callers need no checks.
// The package contains no routes, no database and no webhook, and it never blocks its
// callers: spans that the collector does not accept in time are dropped and counted.
package trace

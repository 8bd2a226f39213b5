package client

import (
	"context"
	"net/url"

	"github.com/fieldmark/fieldmark"
)

// MonitorAPI contains the calls of operators: what is wrong, and what nodes count.
type MonitorAPI struct{ *caller }

// Issues returns what is wrong with the installation.
func (c MonitorAPI) Issues(ctx context.Context) (fieldmark.IssueList, error) {
	return get[fieldmark.IssueList](ctx, c.caller, "issues", nil)
}

// Metrics returns the counts of all nodes over a range of time.
func (c MonitorAPI) Metrics(ctx context.Context, r fieldmark.MetricRange) (fieldmark.Metrics, error) {
	return get[fieldmark.Metrics](ctx, c.caller, "metrics", url.Values{"range": {string(r)}})
}

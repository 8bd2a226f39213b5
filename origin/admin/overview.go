package admin

import (
	"fmt"
	"net/http"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/ui"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/chart"
	"github.com/fieldmark/fieldmark/origin/intake"
	"github.com/fieldmark/fieldmark/origin/web"
)

// overviewHandler serves the first page.
type overviewHandler struct {
	*console
	origin *origin.Service
}

// overviewData is the overview page.
type overviewData struct {
	Issues  fieldmark.IssueList
	Waiting []decision
	Open    string // missions
	Stats   origin.Stats
	Module  *fieldmark.ModuleRef
	Ranges  []option
	Charts  []chart.Chart
	Step    string // that a number of a chart counts
}

// decision is something that waits for an administrator, with a link to its page.
type decision struct{ Text, Link string }

// maxSuspected bounds the brands that the overview names for suspected manipulation.
const maxSuspected = 5

// decisions lists what waits for an administrator.
// A kind of which nothing waits has no line.
func (h *overviewHandler) decisions(req *request) (list []decision, err error) {
	waiting, err := h.brands.Waiting(req.r.Context())
	if err != nil {
		return nil, err
	}
	// Suspicions wait for a second audit and not for a decision; they are shown because a person may want to look.
	suspected, err := h.brands.Suspected(req.r.Context())
	if err != nil {
		return nil, err
	}
	add := func(n int, one, many, link string) {
		if n > 0 {
			list = append(list, decision{ui.Count(n, one, many), link})
		}
	}
	add(waiting.Disputes, "dispute needs a decision", "disputes need a decision",
		disputesPath)
	add(waiting.Requests, "request of a brand owner needs a decision", "requests of brand owners need a decision",
		requestsPath)
	add(waiting.Access, "request for an API key needs a decision", "requests for API keys need a decision", accessPath)
	add(waiting.Contests, "brand is contested by a second claim", "brands are contested by a second claim",
		claimsPath+"?state="+string(fieldmark.ClaimContested))
	// The first few by name, and the rest as a count: an attack on many sites must not push other work off the page.
	for _, slug := range suspected[:min(len(suspected), maxSuspected)] {
		list = append(list, decision{fmt.Sprintf("Suspected manipulation on the site of %s; the score "+
			"is not affected until a second audit finds it again", slug), brandsPath + "/" + string(slug)})
	}
	// A negative count adds no line.
	add(len(suspected)-maxSuspected, "more brand is suspected of manipulation",
		"more brands are suspected of manipulation", brandsPath)
	return list, nil
}

// rangeTexts are the ranges of charts in words, and what one number of them counts.
var rangeTexts = map[fieldmark.MetricRange][2]string{
	fieldmark.Range1h: {"1 hour", "minute"}, fieldmark.Range24h: {"24 hours", "15 minutes"},
	fieldmark.Range7d: {"7 days", "2 hours"}, fieldmark.Range90d: {"90 days", "day"},
}

// charts adds the charts of the chosen range.
func (h *overviewHandler) charts(req *request, d *overviewData) error {
	// In the address, so that a link to the page shows the same range.
	chosen := fieldmark.MetricRange(req.r.URL.Query().Get("range"))
	// An unknown range in the address shows the default.
	if _, ok := rangeTexts[chosen]; !ok {
		chosen = fieldmark.Range1h
	}
	for _, r := range fieldmark.MetricRanges() {
		d.Ranges = append(d.Ranges, option{Value: string(r), Label: rangeTexts[r][0], Selected: r == chosen})
	}
	d.Step = rangeTexts[chosen][1]
	m, err := h.origin.Monitor.Metrics(req.r.Context(), chosen)
	d.Charts = chart.Charts(m)
	return err
}

// serve shows what is wrong, what waits, the counts and the charts.
func (h *overviewHandler) serve(req *request) error {
	ctx := req.r.Context()
	var d overviewData
	var err error
	if d.Issues, err = h.origin.Monitor.Issues(ctx); err != nil {
		return err
	}
	if d.Waiting, err = h.decisions(req); err != nil {
		return err
	}
	// Counts stop at MaxCount, so the page costs the same with any number of missions.
	if d.Stats, err = h.origin.Stats(ctx, origin.MaxCount); err != nil {
		return err
	}
	open := 0
	for _, n := range d.Stats.Missions {
		open += n
	}
	d.Open = counted(open)
	// A new installation has no module, which is no error of this page.
	if ref, err := h.origin.Modules.Active(ctx); err == nil {
		d.Module = &ref
	} else if !fieldmark.IsCode(err, fieldmark.CodeNotFound) {
		return err
	}
	if err := h.charts(req, &d); err != nil {
		return err
	}
	return h.show(req, http.StatusOK, "overview", web.Page{Title: "Overview", Data: d})
}

// counted writes a count that stops at origin.MaxCount.
// An exact count of a large table would read all its rows.
func counted(n int) string {
	if n >= origin.MaxCount {
		return ui.Number(origin.MaxCount) + " or more"
	}
	return ui.Number(n)
}

// intakeHandler lists the requests that were refused after an edge had accepted them.
type intakeHandler struct {
	*console
	intake *intake.Service
}

type intakeData struct{ Refused []intake.Refusal }

// list shows them, because the sender got 202 and may never ask for the decision.
func (h *intakeHandler) list(req *request) error {
	refused, err := h.intake.Refused(req.r.Context())
	if err != nil {
		return err
	}
	return h.show(req, http.StatusOK, "refused", web.Page{Title: "Refused requests", Data: intakeData{refused}})
}

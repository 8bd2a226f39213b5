package owner

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/web"
)

// number parses a whole number; anything else is 0, which no form accepts.
func number(s string) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		return 0
	}
	return n
}

// disputesData is the page of the disputes of a brand.
type disputesData struct {
	Disputes    []ownDispute
	Signals     []choice
	Kinds       []choice
	Text        string // of the form
	Evidence    []evidenceRow
	HasEvidence bool // in the form
}

// ownDispute is a dispute in the words of the form.
type ownDispute struct {
	fieldmark.Dispute
	Label, Reason string
}

// evidenceRow is a page of evidence in the form.
type evidenceRow struct {
	fieldmark.DisputeEvidence
	Row, No int // from 0 in the names of inputs, from 1 in their labels
}

// choice is an option of a select element.
type choice struct {
	Value, Label string
	Selected     bool
}

// shownEvidence is how many pages the form has room for; the API accepts more.
const shownEvidence = 3

func (h *handler) disputes(req *request) error { return h.showDisputes(req, http.StatusOK, nil) }

// showDisputes also shows the form again after an error, with everything that was entered.
func (h *handler) showDisputes(req *request, status int, bad []web.FormError) error {
	list, err := h.origin.Brands.Disputes.ListOwn(req.r.Context(), req.key.Account, req.slug)
	if err != nil {
		return err
	}
	score, _, err := h.origin.Standings.Current(req.r.Context(), req.slug)
	if err != nil {
		return err
	}
	// A link beside a finding names the signal; after an error the form does.
	posted := req.r.PostForm
	signal := posted.Get("signal")
	if signal == "" {
		signal = req.r.URL.Query().Get("signal")
	}
	d := disputesData{Text: posted.Get("text")}
	for _, c := range score.Components {
		for _, s := range c.Signals {
			d.Signals = append(d.Signals, choice{s.ID, s.Label, s.ID == signal})
		}
	}
	// Of the gates, only the one for text that steers models can be disputed.
	for _, g := range score.Gates {
		if g.ID == fieldmark.GateManipulation {
			d.Signals = append(d.Signals, choice{g.ID, g.Reason, g.ID == signal})
		}
	}
	// The words are those of an owner; the API has codes.
	for _, k := range []choice{{Value: string(fieldmark.DisputeWrong), Label: "It is wrong"},
		{Value: string(fieldmark.DisputeOutdated), Label: "It is out of date"},
		{Value: string(fieldmark.DisputeNotApplicable), Label: "It does not apply to this site"},
		{Value: string(fieldmark.DisputeRefusedByWall), Label: "Bot protection refused your crawler"}} {
		k.Selected = k.Value == posted.Get("kind")
		d.Kinds = append(d.Kinds, k)
	}
	for i := range shownEvidence {
		n := strconv.Itoa(i)
		row := evidenceRow{fieldmark.DisputeEvidence{URL: posted.Get("url" + n), Note: posted.Get("note" + n)}, i,
			i + 1}
		d.Evidence = append(d.Evidence, row)
		d.HasEvidence = d.HasEvidence || row.DisputeEvidence != fieldmark.DisputeEvidence{}
	}
	for _, dispute := range list {
		d.Disputes = append(d.Disputes, ownDispute{dispute, labelOf(d.Signals, dispute.Signal),
			labelOf(d.Kinds, string(dispute.Kind))})
	}
	return h.show(req, status, "disputes", web.Page{Title: "Disputes", Errors: bad, Data: &d})
}

// labelOf returns the label of a choice, or the value itself if it is not in the list.
func labelOf(list []choice, value string) string {
	if i := slices.IndexFunc(list, func(c choice) bool { return c.Value == value }); i >= 0 {
		return list[i].Label
	}
	return value
}

// openDispute sends the form as the API would: rules, limits and errors are the same.
func (h *handler) openDispute(req *request) error {
	posted := req.r.PostForm
	r := fieldmark.DisputeRequest{Signal: posted.Get("signal"), Kind: fieldmark.DisputeKind(posted.Get("kind")),
		Text: posted.Get("text")}
	for i := range shownEvidence {
		e := fieldmark.DisputeEvidence{URL: strings.TrimSpace(posted.Get("url" + strconv.Itoa(i))),
			Note: strings.TrimSpace(posted.Get("note" + strconv.Itoa(i)))}
		// An empty row of the form is no evidence.
		if e != (fieldmark.DisputeEvidence{}) {
			r.Evidence = append(r.Evidence, e)
		}
	}
	_, err := h.origin.Brands.Disputes.OpenAsOwner(req.r.Context(), req.key.Account, req.slug, r)
	if isRefusal(err) {
		return h.showDisputes(req, statusOf(err), evidenceErrors(fieldmark.AsError(err), req.formErrors(err),
			posted.Get))
	}
	if err != nil {
		return err
	}
	return req.done("/disputes", "opened")
}

// evidenceErrors replaces errors of the pages of evidence by ones beside their inputs. Empty rows
// of the form are not sent, so the rows that are count.
// The API counts the rows that were sent, and the form has rows that were left empty, so an
// index is translated.
func evidenceErrors(e *fieldmark.Error, list []web.FormError, posted func(string) string) []web.FormError {
	var rows []string
	for i := range shownEvidence {
		n := strconv.Itoa(i)
		if strings.TrimSpace(posted("url"+n)+posted("note"+n)) != "" {
			rows = append(rows, n)
		}
	}
	for i, f := range e.Fields {
		parts := strings.Split(f.Pointer, "/") // "", evidence, row, member
		if len(parts) != 4 || parts[1] != "evidence" {
			continue
		}
		// Bounds are checked, because a later version of the API may report other pointers.
		if row := number(parts[2]); row < len(rows) && i < len(list) {
			label := map[string]string{"url": "Address", "note": "What it shows"}[parts[3]]
			list[i] = web.FormError{Field: parts[3] + rows[row],
				Text: web.Sentence(fmt.Sprintf("%s %d: %s", label, number(rows[row])+1, f.Detail))}
		}
	}
	return list
}

func (h *handler) withdrawDispute(req *request) error {
	// Withdrawing cannot be undone, so it needs a confirmation.
	if !web.Confirmed(req.r) {
		return req.confirm(h, web.Confirmation{Title: "Withdraw the dispute?", Button: "Withdraw dispute",
			Back: "/disputes", Text: "It ends without a decision. The finding stays as it is."})
	}
	_, err := h.origin.Brands.Disputes.Withdraw(req.r.Context(), req.key.Account, req.slug, req.r.PathValue("id"))
	if err != nil {
		return refuse(req, err, h.showDisputes)
	}
	return req.done("/disputes", "withdrawn")
}

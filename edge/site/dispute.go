package site

import (
	"cmp"
	"fmt"

	"github.com/fieldmark/fieldmark"
)

// disputesOf returns what a page shows of the disputes of a finding: those of the owner of
// the brand, and the oldest of the public, which have no text. The newest is the first in
// all.
func disputesOf(all []fieldmark.DisputeStatus, finding string) (shown []fieldmark.DisputeStatus) {
	public := -1
	for i := range all {
		switch {
		case all[i].Signal != finding:
		case all[i].Owner:
			shown = append(shown, all[i])
		default:
			public = i
		}
	}
	if public >= 0 {
		shown = append(shown, all[public])
	}
	return shown
}

// DisputePage is the data of the page on which a finding about a brand is disputed.
type DisputePage struct {
	BaseURL string // scheme and host of the site, without a slash at the end
	Score   fieldmark.Score
	Form    map[string]string        // what was entered, by the name of the field
	Errors  map[string]string        // what is wrong with it, by the name of the field; "" is the whole
	Opened  *fieldmark.DisputeStatus // the dispute to show; nil: the form is shown
}

// disputeView is what templates/dispute.html shows.
type disputeView struct {
	*Form

	Head   head
	Page   *DisputePage
	Score  *fieldmark.Score
	Groups []optionGroup
	Kinds  []option
	State  string // of the opened dispute, in words
}

// optionGroup is a group of options of a select element.
type optionGroup struct {
	Label   string
	Options []option
}

type option struct{ Value, Label string }

// disputeKinds are the kinds of a dispute, in words.
var disputeKinds = []option{
	{string(fieldmark.DisputeWrong), "It is wrong"},
	{string(fieldmark.DisputeOutdated), "It was right, and the site has changed"},
	{string(fieldmark.DisputeNotApplicable), "It does not apply to this site"},
	{string(fieldmark.DisputeRefusedByWall), "A firewall refused your crawler"},
}

// disputeStates are the states of a dispute, in words.
var disputeStates = map[fieldmark.DisputeState]string{
	fieldmark.DisputeOpen: "under review", fieldmark.DisputeUpheld: "upheld", fieldmark.DisputeRejected: "rejected",
}

func newDisputeView(c chrome, p *DisputePage) *disputeView {
	name := plain(p.Score.Name)
	v := &disputeView{Form: NewForm(p.Form, p.Errors), Page: p, Score: &p.Score, Kinds: disputeKinds,
		Head: head{
			chrome: c, Base: p.BaseURL, Kind: "website", Title: "Dispute a finding about " + name,
			Description: fmt.Sprintf("Tell the operator of this site what is wrong with a finding about %s.", name),
		}}
	if p.Opened != nil {
		v.State = disputeStates[p.Opened.State]
	}
	v.addGroup("Caps of the score", len(p.Score.Gates), func(i int) option {
		g := &p.Score.Gates[i]
		return option{g.ID, plain(g.Reason)}
	})
	if p.Form["signal"] == fieldmark.FactText {
		v.addGroup("Text", 1, func(int) option {
			return option{fieldmark.FactText, "The text was seen earlier at another brand"}
		})
	}
	for i := range p.Score.Components {
		component := &p.Score.Components[i]
		v.addGroup(component.Label, len(component.Signals), func(i int) option {
			return option{component.Signals[i].ID, plain(component.Signals[i].Label)}
		})
	}
	return v
}

func (v *disputeView) addGroup(label string, n int, at func(i int) option) {
	g := optionGroup{Label: plain(label)}
	for i := range n {
		g.Options = append(g.Options, at(i))
	}
	if n > 0 {
		v.Groups = append(v.Groups, g)
	}
}

// Finding names the finding of the opened dispute.
func (v *disputeView) Finding() string {
	for _, g := range v.Groups {
		for _, o := range g.Options {
			if o.Value == v.Page.Opened.Signal {
				return o.Label
			}
		}
	}
	return cmp.Or(v.Page.Opened.Signal, "–")
}

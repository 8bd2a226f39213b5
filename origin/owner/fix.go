package owner

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/brand"
	"github.com/fieldmark/fieldmark/origin/llms"
	"github.com/fieldmark/fieldmark/origin/web"
)

// The start page of an owner, and the page of a brand with what would improve its score.

// home shows the brands of the account, or its only one.
// An account with one brand has no use for a list of one.
func (h *handler) home(req *request) error {
	list, err := h.origin.Brands.Owners.Brands(req.r.Context(), req.key.Account)
	if err != nil {
		return err
	}
	if len(list) == 1 {
		http.Redirect(req.w, req.r, brandsPath+string(list[0].Slug), http.StatusSeeOther)
		return nil
	}
	return h.show(req, http.StatusOK, "home", web.Page{Title: "Your brands", Data: list})
}

// fixData is what templates/fix.html shows.
type fixData struct {
	Brand   brand.OwnedBrand
	Score   *fieldmark.Score
	Since   *scoreMove // nil: the score did not move
	Cap     *scoreCap  // nil: no gate limits the score
	First   []fix      // conditions of eligibility that are not met: nothing else helps before
	Fixes   []fix
	Unknown []unmeasured
	Refused []unmeasured // of Unknown, those whose evidence is that our auditor was refused
	Files   []file
	Wait    int  // minutes until another audit may be requested; 0: now
	Working bool // an audit is running or begins soon: the page updates itself
}

// soon is how long the page waits for the start of an audit. The recheck of a dispute may be an
// hour away.
const soon = time.Minute

// scoreCap is the limit of gates on a score.
type scoreCap struct {
	Now, Then fieldmark.Milli // the score, and what it would be without gates
	Gates     []fieldmark.Gate
}

// scoreMove is what the last audit that found something new did to the score.
type scoreMove struct{ From, To, Moved fieldmark.Milli }

// fix is something to improve.
type fix struct {
	fieldmark.Gain
	Effort string
	Strong string // how well it is known that it matters
}

// unmeasured is a signal that could not be measured, so that it counts neither for nor against
// the score.
type unmeasured struct {
	ID, Label string
	Evidence  []fieldmark.Evidence
}

// file is a file or an element that the facts suggest, ready to paste.
type file struct {
	Name, Where, Text string
}

var efforts = map[int]string{1: "hours", 2: "days", 3: "weeks"}

var evidenceWords = map[fieldmark.EvidenceGrade]string{
	fieldmark.EvidenceReproduced: "measured more than once", fieldmark.EvidenceDocumented: "documented by an engine",
	fieldmark.EvidenceOneStudy: "measured once", fieldmark.EvidenceJudgement: "plausible, not studied",
}

// fix shows what to fix first.
func (h *handler) fix(req *request) error { return h.showFix(req, http.StatusOK, nil) }

// showFix shows the page again with the errors of a refused form.
func (h *handler) showFix(req *request, status int, bad []web.FormError) error {
	b := req.owned
	// The score is that of the newest facts, computed now with the active module, so it is the
	// one that the public page shows.
	score, state, err := h.origin.Standings.Current(req.r.Context(), req.slug)
	if err != nil {
		return err
	}
	// A failed audit is not working: its reason is shown instead of a progress that never ends.
	d := fixData{Brand: b, Score: &score, Working: b.Audit != nil && b.Audit.Failure == "" &&
		(b.Audit.Running || time.Until(b.Audit.DueAt.Std()) < soon)}
	if wait := time.Until(b.AuditAfter); wait > 0 {
		d.Wait = minutes(wait)
	}
	if state.Facts != nil {
		d.advise(h.cfg.Advise, &score)
		before, ok, err := h.origin.Standings.Before(req.r.Context(), state)
		if err != nil {
			return err
		}
		// A change of the module moves scores too; Before is of the same module, so only
		// findings count here.
		if ok && before.Score != nil && score.Score != nil && *before.Score != *score.Score {
			d.Since = &scoreMove{From: *before.Score, To: *score.Score, Moved: *score.Score - *before.Score}
		}
		d.Files = filesOf(b.Brand, state.Facts)
	}
	return h.show(req, status, "fix", web.Page{Title: b.Name, Errors: bad, Data: &d})
}

// requestAudit queues an audit.
func (h *handler) requestAudit(req *request) error {
	err := h.origin.Brands.Owners.RequestAudit(req.r.Context(), req.key.Account, req.slug)
	// A refusal says when the next audit is possible. It is shown at the button, with the page
	// as it is.
	if isRefusal(err) {
		return h.showFix(req, statusOf(err), []web.FormError{{Field: "audit",
			Text: "No audit was queued: " + fieldmark.AsError(err).Detail + "."}})
	}
	if err != nil {
		return err
	}
	http.Redirect(req.w, req.r, brandsPath+string(req.slug), http.StatusSeeOther) // which shows the audit
	return nil
}

// advise lists what to improve as if no gate applied: while one limits the score, nothing else
// raises it, and the page shows it first.
func (d *fixData) advise(advise func(*fieldmark.Assessment) []fieldmark.Gain, s *fieldmark.Score) {
	a := s.Assessment
	// The copy of the assessment is changed and not the score that the page shows.
	if len(a.Gates) > 0 && a.Practice != nil && a.Score != nil {
		d.Cap = &scoreCap{Now: *a.Score, Then: a.Practice.Score, Gates: a.Gates}
		a.Gates, a.Score = nil, &a.Practice.Score
	}
	unknown := map[string]bool{}
	for _, c := range s.Components {
		for _, sig := range c.Signals {
			if sig.Status != fieldmark.Unknown {
				continue
			}
			unknown[sig.ID] = true
			u := unmeasured{ID: sig.ID, Label: sig.Label, Evidence: sig.Evidence}
			if slices.ContainsFunc(u.Evidence, wasRefused) {
				d.Refused = append(d.Refused, u)
			} else {
				d.Unknown = append(d.Unknown, u)
			}
		}
	}
	for _, g := range advise(&a) {
		// An unknown signal gets no advice: the first step is to let the auditor measure it.
		if unknown[g.ID] {
			continue
		}
		f := fix{Gain: g, Effort: efforts[g.Effort], Strong: evidenceWords[g.EvidenceGrade]}
		if strings.HasPrefix(g.ID, "eligibility.") {
			d.First = append(d.First, f)
		} else {
			d.Fixes = append(d.Fixes, f)
		}
	}
}

// wasRefused reports whether evidence states that a site refused the auditor, which is no finding
// about what others get.
func wasRefused(e fieldmark.Evidence) bool { return strings.Contains(e.Fact, "to this auditor") }

// filesOf collects the lines to paste in the evidence of facts, those of one file together, and
// a draft of llms.txt.
// Evidence names no file, so the kind of a patch follows from its text.
func filesOf(b fieldmark.Brand, facts *fieldmark.Facts) (files []file) {
	var robots, entity, sitemap []string
	for i := range facts.Facts {
		for _, e := range facts.Facts[i].Evidence {
			into := &robots
			switch {
			case e.Patch == "":
				continue
			case strings.Contains(e.Patch, "application/ld+json"):
				into = &entity
			case strings.HasPrefix(e.Patch, "<?xml"):
				into = &sitemap
			case !strings.Contains(e.Patch, "User-agent:") && !strings.HasPrefix(e.Patch, "Sitemap:"):
				continue
			}
			// Several facts may suggest the same lines.
			if text := strings.TrimSpace(e.Patch); !slices.Contains(*into, text) {
				*into = append(*into, text)
			}
		}
	}
	add := func(name, where string, parts []string) {
		if len(parts) > 0 {
			files = append(files, file{name, where, strings.Join(parts, "\n\n")})
		}
	}
	add("robots.txt", "Add these lines to /robots.txt. Keep the lines that it has.", robots)
	add("Organization in JSON-LD", "Paste it into the head of the home page.", entity)
	add("sitemap.xml", "Save it as /sitemap.xml and add the other pages.", sitemap)
	// A draft that cannot be made, such as of a site that was never read, is left out.
	if doc, err := llms.Generate(llms.FromAudit(b, facts)); err == nil {
		files = append(files, file{"llms.txt",
			"A draft from the pages of the last audit. Check it, then save it as /llms.txt.", doc.Content})
	}
	return files
}

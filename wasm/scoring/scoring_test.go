package scoring_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/wasm/scoring"
)

var audited = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

// assess returns one component with a maximum, points in thousandths, and a status, of an
// eligible site.
func assess(pages int, age time.Duration, gates []fieldmark.Gate, signals ...fieldmark.Signal) fieldmark.Assessment {
	facts := eligibleFacts()
	facts.Pages = pages
	return scoring.Assess([]fieldmark.Component{{ID: "c", Weight: 100, Signals: signals}}, gates, facts,
		nil, audited.Add(age))
}

func signal(max int, points fieldmark.Milli, status fieldmark.FactState) fieldmark.Signal {
	return fieldmark.Signal{Max: max, Points: points, Status: status}
}

func TestAssess(t *testing.T) {
	const day = 24 * time.Hour
	gate := []fieldmark.Gate{{ID: "app_shell", Limit: 50}}
	all := []fieldmark.Signal{signal(60, 48_000, fieldmark.Measured), signal(40, 40_000, fieldmark.Measured)}
	whole := signal(100, 84_950, fieldmark.Measured) // a single signal has no error of weights
	tests := []struct {
		name    string
		got     fieldmark.Assessment
		score   string
		grade   fieldmark.Grade
		low     string
		high    string
		conf    string
		status  fieldmark.ScoreStatus
		isReady bool
	}{
		{"graded by the lower end", assess(10, 0, nil, all...), "88", "B", "84.5", "91.5", "1", "scored", true},
		{"one page costs confidence", assess(1, 0, nil, all...), "88", "B", "84.5", "91.5", "0.73", "scored", true},
		{"unknown is not zero", assess(10, 0, nil, signal(60, 48_000, fieldmark.Measured),
			signal(40, 0, fieldmark.Unknown)), "80", "D", "48", "88", "0.6", "scored", true},
		{"not applicable leaves both sums", assess(10, 0, nil, signal(60, 48_000, fieldmark.Measured),
			signal(40, 0, fieldmark.NotApplicable)), "80", "B", "80", "80", "1", "scored", true},
		{"a gate caps score and range", assess(10, 0, gate, all...), "50", "D", "50", "50", "1", "scored", true},
		{"half up", assess(10, 0, nil, whole), "85", "A", "85", "85", "1", "scored", true},
		{"just below", assess(10, 0, nil, signal(100, 84_949, fieldmark.Measured)), "84.9", "B", "84.9", "84.9", "1",
			"scored", true},
		{"31 days old is not ready", assess(10, 31*day, nil, whole), "85", "A", "85", "85", "0.75", "scored", false},
		{"91 days old is stale", assess(10, 91*day, nil, whole), "85", "A", "85", "85", "0.5", "stale", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := tt.got
			if a.Score == nil {
				t.Fatalf("no score, status %s", a.Status)
			}
			got := []string{a.Score.String(), string(a.Grade), a.Range.Low.String(), a.Range.High.String(),
				a.Confidence.Value.String(), string(a.Status)}
			want := []string{tt.score, string(tt.grade), tt.low, tt.high, tt.conf, string(tt.status)}
			if !slices.Equal(got, want) {
				t.Errorf("score, grade, low, high, confidence, status = %v, want %v", got, want)
			}
			if a.GeoReady != tt.isReady {
				t.Errorf("GeoReady = %v, want %v", a.GeoReady, tt.isReady)
			}
		})
	}
	if capped := assess(10, 0, gate, all...); capped.Practice.Score != 88_000 || capped.Practice.Range.Low != 84_500 {
		t.Errorf("practice under a gate: %+v, want 88 from 84.5", *capped.Practice)
	}
}

func TestAssessWithoutScore(t *testing.T) {
	unreachable := assess(0, 0, []fieldmark.Gate{{ID: fieldmark.GateUnreachable}}, signal(100, 0, fieldmark.Unknown))
	if unreachable.Status != fieldmark.StatusUnreachable || unreachable.Score != nil {
		t.Errorf("unreachable: status %s, score %v", unreachable.Status, unreachable.Score)
	}
	thin := assess(10, 0, nil, signal(39, 39_000, fieldmark.Measured), signal(61, 0, fieldmark.Unknown))
	if thin.Status != fieldmark.StatusInsufficientData || thin.Score != nil {
		t.Errorf("thin: status %s, score %v", thin.Status, thin.Score)
	}
	facts := eligibleFacts()
	facts.Refused = true
	refused := scoring.Assess([]fieldmark.Component{{Signals: []fieldmark.Signal{signal(100, 80_000,
		fieldmark.Measured)}}}, nil, facts, nil, audited)
	if refused.Status != fieldmark.StatusRefused || refused.Score != nil {
		t.Errorf("refused: status %s, score %v", refused.Status, refused.Score)
	}
	if refused.Ranked() || thin.Ranked() || unreachable.Ranked() {
		t.Error("a brand without a score is ranked")
	}
}

// TestVisibilityWithoutAccuracy checks that the result does not depend on whether
// statements were graded, or how: leaving out grades must not raise a score.
func TestVisibilityWithoutAccuracy(t *testing.T) {
	sample := fieldmark.VisibilitySample{Engine: "chatgpt", Prompts: 20, Runs: 5, Answers: 100, Mentions: 40, Cited: 80,
		Citations: 20, Voices: 90, To: fieldmark.At(audited)}
	without := scoring.Visibility([]fieldmark.VisibilitySample{sample}, nil, audited)
	for _, right := range []int{0, 15, 30} {
		graded := sample
		graded.Graded, graded.Right = 30, right
		v := scoring.Visibility([]fieldmark.VisibilitySample{graded}, nil, audited)
		if v.Score != without.Score || v.Range != without.Range {
			t.Errorf("%d of 30 statements right: %s in %v, want %s in %v as without grading", right, v.Score, v.Range,
				without.Score, without.Range)
		}
		if v.Engines[0].Accuracy == nil || without.Engines[0].Accuracy != nil {
			t.Errorf("accuracy %v with grading and %v without, want a rate and none", v.Engines[0].Accuracy,
				without.Engines[0].Accuracy)
		}
	}
	// (35 x 0.4 + 30 x 0.25 + 25 x 0.444) / 90
	if got := without.Score.String(); got != "36.2" {
		t.Errorf("score %s, want 36.2", got)
	}
}

func TestGradeOf(t *testing.T) {
	for score, want := range map[fieldmark.Milli]fieldmark.Grade{
		100_000: "A", 85_000: "A", 84_999: "B", 70_000: "B", 69_999: "C", 55_000: "C", 54_999: "D", 40_000: "D",
		39_999: "E", 0: "E",
	} {
		if got := scoring.GradeOf(score); got != want {
			t.Errorf("GradeOf(%s) = %s, want %s", score, got, want)
		}
	}
}

// TestAdvise checks that the advice contains the exact gain of each full mark, ordered by
// gain, evidence and effort.
func TestAdvise(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	facts := eligibleFacts()
	facts.AsOf = fieldmark.At(now)
	signal := func(id string, max int, mark fieldmark.Milli, state fieldmark.FactState) fieldmark.Signal {
		return fieldmark.Signal{ID: id, Label: id, Status: state, Points: fieldmark.Milli(max) * mark, Max: max,
			Advice: "do " + id}
	}
	components := []fieldmark.Component{{ID: "all", Weight: 100, Signals: []fieldmark.Signal{
		signal("full", 40, 1000, fieldmark.Measured),
		signal("half", 30, 500, fieldmark.Measured),
		signal("none", 20, 0, fieldmark.Measured),
		signal("apart", 10, 0, fieldmark.NotApplicable),
	}}}
	a := scoring.Assess(components, []fieldmark.Gate{}, facts, nil, now)
	gains := scoring.Advise(&a)
	if len(gains) != 2 || gains[0].ID != "none" || gains[1].ID != "half" || gains[0].Gain != 22_200 ||
		gains[1].Gain != 16_700 ||
		gains[0].Score != *a.Score+gains[0].Gain || gains[0].Advice != "do none" {
		t.Errorf("from %v: %+v", a.Score, gains)
	}
	a.Components[0].Signals[1].EvidenceGrade, a.Components[0].Signals[2].Effort = fieldmark.EvidenceReproduced, 2
	if gains := scoring.Advise(&a); len(gains) != 2 || gains[0].ID != "half" || gains[0].Gain != 16_700 {
		t.Errorf("a reproduced effect comes after a judgement that takes longer: %+v", gains)
	}
	if components[0].Signals[1].Points != 15_000 {
		t.Error("the assessment was changed")
	}
	capped := scoring.Assess(components, []fieldmark.Gate{{ID: "g", Limit: 10}}, facts, nil, now)
	if gains := scoring.Advise(&capped); len(gains) != 0 {
		t.Errorf("under a gate that decides: %+v", gains)
	}
	none := fieldmark.PendingAssessment()
	if gains := scoring.Advise(&none); gains == nil || len(gains) != 0 {
		t.Errorf("without a score: %v", gains)
	}
}

// TestAdviseEligibility: what keeps engines from using a site comes first, also without a
// score, and evidence with something to paste before the rest.
func TestAdviseEligibility(t *testing.T) {
	facts := eligibleFacts()
	for i := range facts.Facts {
		if f := &facts.Facts[i]; f.ID == "crawler.perplexitybot" || f.ID == "home.indexable" {
			f.Value = 0
			f.Evidence = []fieldmark.Evidence{{URL: "https://a.example/1", Fact: "one"},
				{URL: "https://a.example/2", Fact: "two", Passage: "words"},
				{URL: "https://a.example/3", Fact: "three", Patch: "paste"}}
		}
	}
	components := []fieldmark.Component{{ID: "all", Weight: 100, Signals: []fieldmark.Signal{
		{ID: "big", Label: "Big", Status: fieldmark.Measured, Max: 100, Advice: "Do it."}}}}
	a := scoring.Assess(components, nil, facts, nil, audited)
	gains := scoring.Advise(&a)
	if len(gains) != 3 || gains[0].ID != "eligibility.fetch" || gains[1].ID != "eligibility.index" ||
		gains[2].ID != "big" {
		t.Fatalf("advice %+v, want what prevents use before what earns points", gains)
	}
	for _, g := range gains[:2] {
		if g.Gain != 0 || !strings.HasPrefix(g.Label, "Fix this first") ||
			g.EvidenceGrade != fieldmark.EvidenceDocumented ||
			len(g.Evidence) != 3 || g.Evidence[0].Patch != "paste" || g.Evidence[1].Passage != "words" {
			t.Errorf("%+v", g)
		}
	}
	a.Score = nil
	if gains := scoring.Advise(&a); len(gains) != 2 {
		t.Errorf("without a score: %+v, want the two conditions", gains)
	}
	// Behind a site that cannot be fetched nothing else is known to be wrong.
	a.Eligibility.Checks[1].State = fieldmark.EligibilityUnknown
	if gains := scoring.Advise(&a); len(gains) != 1 || gains[0].ID != "eligibility.fetch" {
		t.Errorf("what was not measured behind it: %+v, want the first condition alone", gains)
	}
	a.Eligibility.Checks[0].State = fieldmark.EligibilityUnknown
	if gains := scoring.Advise(&a); len(gains) != 1 || gains[0].ID != "eligibility.fetch" {
		t.Errorf("nothing was measured: %+v, want the first condition", gains)
	}
}

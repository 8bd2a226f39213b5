package fieldmark_test

import (
	"slices"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
)

var audited = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

// judged returns one component with a maximum, points in thousandths, and a status.
func judged(pages int, age time.Duration, gates []fieldmark.Gate, signals ...fieldmark.Signal) fieldmark.Assessment {
	facts := &fieldmark.Facts{Pages: pages, AsOf: fieldmark.At(audited)}
	return fieldmark.Judge([]fieldmark.Component{{ID: "c", Weight: 100, Signals: signals}}, gates, facts,
		audited.Add(age))
}

func signal(max int, points fieldmark.Milli, status fieldmark.FactState) fieldmark.Signal {
	return fieldmark.Signal{Max: max, Points: points, Status: status}
}

func TestJudge(t *testing.T) {
	const day = 24 * time.Hour
	gate := []fieldmark.Gate{{ID: "app_shell", Limit: 50}}
	all := []fieldmark.Signal{signal(60, 48_000, fieldmark.Measured), signal(40, 40_000, fieldmark.Measured)}
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
		{"all measured", judged(10, 0, nil, all...), "88", "A", "88", "88", "1", "scored", true},
		{"one page costs confidence", judged(1, 0, nil, all...), "88", "A", "88", "88", "0.73", "scored", true},
		{"unknown is not zero", judged(10, 0, nil, signal(60, 48_000, fieldmark.Measured),
			signal(40, 0, fieldmark.Unknown)), "80", "B", "48", "88", "0.6", "scored", true},
		{"not applicable leaves both sums", judged(10, 0, nil, signal(60, 48_000, fieldmark.Measured),
			signal(40, 0, fieldmark.NotApplicable)), "80", "B", "80", "80", "1", "scored", true},
		{"a gate caps score and range", judged(10, 0, gate, all...), "50", "D", "50", "50", "1", "scored", false},
		{"half up", judged(10, 0, nil, signal(100, 84_950, fieldmark.Measured)), "85", "A", "85", "85", "1", "scored",
			true},
		{"just below", judged(10, 0, nil, signal(100, 84_949, fieldmark.Measured)), "84.9", "B", "84.9", "84.9", "1",
			"scored", true},
		{"31 days old is not ready", judged(10, 31*day, nil, all...), "88", "A", "88", "88", "0.75", "scored", false},
		{"91 days old is stale", judged(10, 91*day, nil, all...), "88", "A", "88", "88", "0.5", "stale", false},
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
}

func TestJudgeWithoutScore(t *testing.T) {
	unreachable := judged(0, 0, []fieldmark.Gate{{ID: fieldmark.GateUnreachable}}, signal(100, 0, fieldmark.Unknown))
	if unreachable.Status != fieldmark.StatusUnreachable || unreachable.Score != nil {
		t.Errorf("unreachable: status %s, score %v", unreachable.Status, unreachable.Score)
	}
	thin := judged(10, 0, nil, signal(39, 39_000, fieldmark.Measured), signal(61, 0, fieldmark.Unknown))
	if thin.Status != fieldmark.StatusInsufficientData || thin.Score != nil {
		t.Errorf("thin: status %s, score %v", thin.Status, thin.Score)
	}
	if thin.Ranked() || unreachable.Ranked() {
		t.Error("a brand without a score is ranked")
	}
}

// TestVisibilityWithoutAccuracy checks that the result does not depend on whether
// statements were graded, or how: leaving out grades must not raise a score.
func TestVisibilityWithoutAccuracy(t *testing.T) {
	sample := fieldmark.VisibilitySample{Engine: "chatgpt", Prompts: 20, Runs: 5, Answers: 100, Mentions: 40, Cited: 80,
		Citations: 20, Voices: 90, To: fieldmark.At(audited)}
	without := fieldmark.JudgeVisibility([]fieldmark.VisibilitySample{sample}, audited)
	for _, right := range []int{0, 15, 30} {
		graded := sample
		graded.Graded, graded.Right = 30, right
		v := fieldmark.JudgeVisibility([]fieldmark.VisibilitySample{graded}, audited)
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
		if got := fieldmark.GradeOf(score); got != want {
			t.Errorf("GradeOf(%s) = %s, want %s", score, got, want)
		}
	}
}

func TestFactsDigest(t *testing.T) {
	f := fieldmark.Facts{Version: fieldmark.FactsVersion, URL: "https://a.example/",
		Facts: []fieldmark.Fact{{ID: "home.words", State: fieldmark.Measured, Value: 300_000, Unit: "words"}}}
	first, err := f.Digest()
	if err != nil {
		t.Fatal(err)
	}
	f.AsOf = fieldmark.At(audited)
	if later, _ := f.Digest(); later != first {
		t.Errorf("the date changes the digest: %s, %s", first, later)
	}
	f.Facts[0].Value++
	if other, _ := f.Digest(); other == first {
		t.Error("another value has the same digest")
	}
	if _, ok := f.Find("home.words"); !ok {
		t.Error("Find misses home.words")
	}
	if _, ok := f.Find("home.wordz"); ok {
		t.Error("Find finds home.wordz")
	}
}

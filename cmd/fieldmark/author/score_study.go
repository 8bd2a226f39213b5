package author

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin/client"
	"github.com/fieldmark/fieldmark/origin/visibility/study"
	"github.com/fieldmark/fieldmark/wasm/scoring"
)

// verifyVisibility fetches the counts of the study in a score by their digest, and recomputes the rates, intervals and
// ranks of the brand. Sums of answers (form 1) are not published, so visibility without a study is not verified.
func verifyVisibility(ctx context.Context, s *command.Streams, edge *client.Client, score *fieldmark.Score,
	made time.Time) error {
	v := score.Visibility
	if v == nil || v.Study == nil {
		return nil
	}
	if v.Methodology != fieldmark.VisibilityMethodology {
		return fmt.Errorf("the visibility was computed by %s %s; this version of fieldmark computes %s %s",
			v.Methodology.ID, v.Methodology.Version, fieldmark.VisibilityMethodology.ID,
			fieldmark.VisibilityMethodology.Version)
	}
	rows, err := edge.PublicStudy(ctx, v.Study.Digest)
	if err != nil {
		return err
	}
	var documents []*study.Document
	for i, row := range rows.Documents {
		d, err := study.ParseJSON(row)
		if err != nil {
			return command.WithStatus(command.StatusNotMet,
				fmt.Errorf("document %d of study %s: %w", i, v.Study.ID, err))
		}
		documents = append(documents, d)
	}
	if len(documents) == 0 {
		return command.WithStatus(command.StatusNotMet, fmt.Errorf("study %s has no documents", v.Study.ID))
	}
	result := study.Result(documents)
	if result.Digest != v.Study.Digest {
		return command.WithStatus(command.StatusNotMet, fmt.Errorf("the study with digest %s has the digest %s",
			v.Study.Digest, result.Digest))
	}
	same, err := followsFrom(&result, score, made)
	if err != nil {
		return err
	}
	if !same {
		return command.WithStatus(command.StatusNotMet,
			fmt.Errorf("the visibility of %s does not follow from the counts of study %s", score.Slug, v.Study.ID))
	}
	_, err = fmt.Fprintf(s.Out, "study   %s verified, %d answers: visibility recomputed, the same\n", result.Digest,
		result.All.Answers)
	return err
}

// followsFrom reports whether the visibility and the full score of a document are those of a brand of a result. The
// brand may have had another slug when the study was imported, so every brand of the panel is compared if none has
// the present one.
func followsFrom(result *fieldmark.StudyResult, score *fieldmark.Score, made time.Time) (bool, error) {
	panel := []fieldmark.Slug{score.Slug}
	if _, found := result.Of(score.Slug); !found {
		panel = nil
		for i := range result.All.Brands {
			panel = append(panel, result.All.Brands[i].Slug)
		}
	}
	for _, slug := range panel {
		one, _ := result.Of(slug)
		again := fieldmark.Score{Slug: score.Slug, Assessment: score.Assessment}
		scoring.SetVisibility(&again, &fieldmark.BrandState{Studies: []fieldmark.StudyResult{one}}, made)
		if again.Visibility == nil {
			continue
		}
		served := *score.Visibility
		if n := len(again.Visibility.Engines); len(served.Engines) >= n {
			served.Engines = served.Engines[:n] // further ones are of form 1
		}
		want, err := json.Marshal(again.Visibility)
		if err != nil {
			return false, fmt.Errorf("encode the visibility of %s: %w", score.Slug, err)
		}
		got, err := json.Marshal(served)
		if err != nil {
			return false, fmt.Errorf("encode the visibility of %s: %w", score.Slug, err)
		}
		sameFull := (again.Full == nil) == (score.Full == nil) && (again.Full == nil || *again.Full == *score.Full)
		if bytes.Equal(got, want) && sameFull {
			return true, nil
		}
	}
	return false, nil
}

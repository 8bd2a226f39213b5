package author

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/demo"
	"github.com/fieldmark/fieldmark/origin/client"
	"github.com/fieldmark/fieldmark/wasm"
)

// ScoreCmd shows and verifies scores.
type ScoreCmd struct {
	Show   scoreShowCmd   `cmd:"" help:"Print a registered brand's score as a report."`
	Verify scoreVerifyCmd `cmd:"" help:"Compute a brand's score again on this machine and compare it byte for byte."`
}

// edgeFlags name the edge to read scores from. Scores are public, so there is no key.
type edgeFlags struct {
	URL  string `env:"FIELDMARK_URL" placeholder:"URL" help:"Address of any edge; that of the demo in --data if unset."`
	Data string `env:"FIELDMARK_DATA" type:"path" default:"./var" help:"Data folder of a demo."`
}

func (f *edgeFlags) connect() (*client.Client, error) {
	address := f.URL
	if address == "" {
		access, err := demo.ReadAccess(f.Data)
		if err != nil {
			return nil, err
		}
		if access == nil {
			return nil, fmt.Errorf("no edge to ask: set FIELDMARK_URL, or start a demo with `fieldmark serve --demo` (no %s in %s)", demo.AccessFile, f.Data)
		}
		address = access.BaseURL
	}
	return client.New(client.Config{BaseURL: address})
}

type scoreShowCmd struct {
	edgeFlags `embed:""`
	Slug      string `arg:"" help:"The brand's slug."`
	MD        bool   `name:"md" help:"Print the report as Markdown."`
}

// Run prints the report an audit would have printed.
func (c *scoreShowCmd) Run(ctx context.Context, s *command.Streams) error {
	slug, err := fieldmark.ParseSlug(c.Slug)
	if err != nil {
		return err
	}
	edge, err := c.connect()
	if err != nil {
		return err
	}
	score, err := edge.Score(ctx, slug)
	if err != nil {
		return err
	}
	if score.AsOf == nil {
		_, err := fmt.Fprintf(s.Out, "%s has not been audited yet\n", slug)
		return err
	}
	if c.MD {
		return printMarkdown(s.Out, score.URL, &score.Assessment, nil)
	}
	return printReport(s.Out, score.URL, &score.Assessment, nil, s.UseColor())
}

type scoreVerifyCmd struct {
	edgeFlags `embed:""`
	Slug      string `arg:"" help:"The brand's slug."`
}

// Help says what a script must know.
func (c *scoreVerifyCmd) Help() string {
	return `Fetches the score, and by the digests it names the facts and the module; checks
both digests, runs the module here and compares the documents byte for byte. What
does not follow from these two is taken over: names, rank, trend, visibility.

Exit status: 0 the same, 1 it could not be tried, 3 something differs.`
}

// Run fetches, computes and compares.
func (c *scoreVerifyCmd) Run(ctx context.Context, s *command.Streams) error {
	slug, err := fieldmark.ParseSlug(c.Slug)
	if err != nil {
		return err
	}
	edge, err := c.connect()
	if err != nil {
		return err
	}
	doc, err := edge.ScoreDocument(ctx, slug)
	if err != nil {
		return err
	}
	var score fieldmark.Score
	if err := json.Unmarshal(doc.Body, &score); err != nil {
		return fmt.Errorf("read the score of %s: %w", slug, err)
	}
	if score.FactsDigest == "" {
		return fmt.Errorf("%s has not been audited yet: there is nothing to verify", slug)
	}
	facts, err := edge.PublicFacts(ctx, slug, score.FactsDigest)
	if err != nil {
		return err
	}
	if err := holds(s, "facts", score.FactsDigest, facts); err != nil {
		return err
	}
	module, err := edge.PublicModule(ctx, score.Module.Digest)
	if err != nil {
		return err
	}
	if err := holds(s, "module", score.Module.Digest, module); err != nil {
		return err
	}
	again, err := recompute(ctx, &score, facts, module, doc.CreatedAt)
	if err != nil {
		return err
	}
	if got := bytes.TrimSuffix(doc.Body, []byte("\n")); !bytes.Equal(got, again) {
		at := 0
		for at < min(len(got), len(again)) && got[at] == again[at] {
			at++
		}
		return command.WithStatus(command.StatusNotMet, fmt.Errorf("the score of %s is not what its facts and its module come to; the documents part at byte %d:\n  served   …%s\n  computed …%s",
			slug, at, excerpt(got, at), excerpt(again, at)))
	}
	value := "no score"
	if score.Score != nil {
		value = score.Score.String() + " of 100"
	}
	_, err = fmt.Fprintf(s.Out, "score   %s, %s: computed here, the same %d bytes\n", value, score.Status, len(again))
	return err
}

// holds checks that bytes are what their digest names.
func holds(s *command.Streams, what string, want fieldmark.Digest, b []byte) error {
	if got := fieldmark.DigestOf(sha256.Sum256(b)); got != want {
		return command.WithStatus(command.StatusNotMet, fmt.Errorf("the %s named %s are %s", what, want, got))
	}
	_, err := fmt.Fprintf(s.Out, "%-7s %s holds, %d bytes\n", what, want, len(b))
	return err
}

// recompute makes the document again from facts and module.
func recompute(ctx context.Context, score *fieldmark.Score, factsFile, module []byte, made time.Time) (doc []byte, err error) {
	var facts fieldmark.Facts
	if err := json.Unmarshal(factsFile, &facts); err != nil {
		return nil, fmt.Errorf("read the facts: %w", err)
	}
	facts.AsOf = *score.AsOf // which is not part of what the digest names
	engine, err := wasm.New(wasm.Config{Instances: 1})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, engine.Close(context.WithoutCancel(ctx))) }()
	m, err := engine.Load(ctx, module)
	if err != nil {
		return nil, fmt.Errorf("load the module: %w", err)
	}
	again := *score
	if again.Assessment, err = m.Assess(ctx, &facts, made); err != nil {
		return nil, err
	}
	return json.Marshal(again)
}

// excerpt is what a document says from just before a byte on.
func excerpt(b []byte, at int) []byte {
	const before, after = 20, 60
	return b[max(at-before, 0):min(at+after, len(b))]
}

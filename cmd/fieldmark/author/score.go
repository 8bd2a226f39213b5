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
	Show   scoreShowCmd   `cmd:"" help:"Print the score of a registered brand as a report."`
	Verify scoreVerifyCmd `cmd:"" help:"Recompute a brand's score here and compare the documents byte by byte."`
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
			return nil, fmt.Errorf(
				"no edge to call: set FIELDMARK_URL, or start a demo with `fieldmark serve --demo` (no %s in %s)",
				demo.AccessFile, f.Data)
		}
		address = access.BaseURL
	}
	return client.New(client.Config{BaseURL: address})
}

type scoreShowCmd struct {
	edgeFlags `embed:""`
	Slug      string `arg:"" help:"Slug of the brand."`
	MD        bool   `name:"md" help:"Print the report as Markdown."`
}

// Run prints the report.
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
	body, err := edge.PublicFacts(ctx, slug, score.FactsDigest)
	if err != nil {
		return fmt.Errorf("read the facts of %s: %w", slug, err)
	}
	var facts fieldmark.Facts
	if err := json.Unmarshal(body, &facts); err != nil {
		return fmt.Errorf("read the facts of %s: %w", slug, err)
	}
	facts.URL = score.URL
	if c.MD {
		return printMarkdown(s.Out, &facts, &score.Assessment, notesOf(&facts))
	}
	return printReport(s.Out, &facts, &score.Assessment, notesOf(&facts), s.UseColor())
}

type scoreVerifyCmd struct {
	edgeFlags  `embed:""`
	Slug       string `arg:"" help:"Slug of the brand."`
	Checkpoint string `type:"path" placeholder:"FILE" help:"Checkpoint that the public log must extend."`
	WitnessKey string `placeholder:"KEY" help:"Key of the witness that cosigned it."`
}

// Help is printed below the flags.
func (c *scoreVerifyCmd) Help() string {
	return `Fetches the score document, and the facts and the module that it names by digest.
Verifies both digests, runs the module on this machine and compares the documents
byte by byte. Names, rank and trend do not follow from facts and module; they are
copied from the document. If the document has visibility by a study, also fetches
the counts of the study by their digest and recomputes visibility and full score.

If the server keeps a public log of scores, verifies that the log has the score:
the signature of its checkpoint, the proof of its leaf, and that the leaf has both
digests. With --checkpoint, also verifies that nothing was changed in the log since
the checkpoint in FILE, and then replaces that by the newest one; a missing FILE is
created. With --witness-key, FILE must be a checkpoint that the witness cosigned,
and is only read.

Exit status: 0 the documents are equal, 1 verification was not possible, 3 they differ.`
}

// Run fetches the document and its parts, recomputes it and compares.
func (c *scoreVerifyCmd) Run(ctx context.Context, s *command.Streams) error {
	slug, err := fieldmark.ParseSlug(c.Slug)
	if err != nil {
		return err
	}
	edge, err := c.connect()
	if err != nil {
		return err
	}
	doc, err := readProven(ctx, edge, slug)
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
	if err := verifyScore(ctx, s, edge, doc, &score); err != nil {
		return err
	}
	if err := verifyVisibility(ctx, s, edge, &score, doc.CreatedAt); err != nil {
		return err
	}
	log := logVerifier{edge: edge, checkpoint: c.Checkpoint, witnessKey: c.WitnessKey}
	return log.verify(ctx, s, &score)
}

// verifyScore recomputes a score document and compares it.
func verifyScore(ctx context.Context, s *command.Streams, edge *client.Client, doc client.ScoreDocument,
	score *fieldmark.Score) error {
	slug := score.Slug
	facts, err := edge.PublicFacts(ctx, slug, score.FactsDigest)
	if err != nil {
		return err
	}
	if err := verifyDigest(s, "facts", score.FactsDigest, facts); err != nil {
		return err
	}
	module, err := edge.PublicModule(ctx, score.Module.Digest)
	if err != nil {
		return err
	}
	if err := verifyDigest(s, "module", score.Module.Digest, module); err != nil {
		return err
	}
	again, err := recompute(ctx, score, facts, module, doc.CreatedAt)
	if err != nil {
		return err
	}
	if got := bytes.TrimSuffix(doc.Body, []byte("\n")); !bytes.Equal(got, again) {
		at := 0
		for at < min(len(got), len(again)) && got[at] == again[at] {
			at++
		}
		return command.WithStatus(command.StatusNotMet,
			fmt.Errorf("the score of %s does not follow from its facts and module; the documents differ at byte "+
				"%d:\n  served   …%s\n  computed …%s",
				slug, at, excerpt(got, at), excerpt(again, at)))
	}
	value := "no score"
	if score.Score != nil {
		value = score.Score.String() + " of 100"
	}
	_, err = fmt.Fprintf(s.Out, "score   %s, %s: recomputed, the same %d bytes\n", value, score.Status, len(again))
	return err
}

// verifyDigest checks bytes against their digest.
func verifyDigest(s *command.Streams, what string, want fieldmark.Digest, b []byte) error {
	if got := fieldmark.DigestOf(sha256.Sum256(b)); got != want {
		return command.WithStatus(command.StatusNotMet, fmt.Errorf("the %s with digest %s have the digest %s", what,
			want, got))
	}
	_, err := fmt.Fprintf(s.Out, "%-7s %s verified, %d bytes\n", what, want, len(b))
	return err
}

// recompute builds the document from facts and module.
func recompute(ctx context.Context, score *fieldmark.Score, factsFile, module []byte, made time.Time) (doc []byte,
	err error) {
	var facts fieldmark.Facts
	if err := json.Unmarshal(factsFile, &facts); err != nil {
		return nil, fmt.Errorf("read the facts: %w", err)
	}
	facts.AsOf = *score.AsOf // the digest does not cover it
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
	again.Substantiate(&facts)
	return json.Marshal(again)
}

// excerpt returns the part of a document around a byte.
func excerpt(b []byte, at int) []byte {
	const before, after = 20, 60
	return b[max(at-before, 0):min(at+after, len(b))]
}

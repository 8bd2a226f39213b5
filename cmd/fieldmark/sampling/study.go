package sampling

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/client"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/listen"
	"github.com/fieldmark/fieldmark/origin/visibility/engine/fake"
	"github.com/fieldmark/fieldmark/origin/visibility/plan"
	"github.com/fieldmark/fieldmark/origin/visibility/sampler"
	"github.com/fieldmark/fieldmark/origin/visibility/study"
)

// studyArg names the folder of a study.
type studyArg struct {
	Dir string `arg:"" type:"existingdir" help:"Folder of the study."`
}

type statusCmd struct {
	studyArg
	JSON bool `name:"json" help:"Print JSON."`
}

// Run prints the state of a study.
func (c *statusCmd) Run(s *command.Streams) error {
	st, err := sampler.Open(c.Dir)
	if err != nil {
		return usage(err)
	}
	status := st.Status(time.Now())
	if err := st.AddRates(&status); err != nil {
		return err
	}
	return printStatus(s, &status, c.JSON)
}

func printStatus(s *command.Streams, st *sampler.Status, asJSON bool) error {
	if asJSON {
		return s.PrintJSON(st)
	}
	var b strings.Builder
	final := ", not final"
	if st.Over {
		final = ", over"
	}
	fmt.Fprintf(&b, "Study %s, %s to %s%s\n", st.Study, st.From, st.To, final)
	for _, e := range st.Engines {
		fmt.Fprintf(&b, "  %-20s %d of %d answers, %d failed, %d lost, %d missed, $%s", e.Engine, e.Done, e.Of,
			e.Failed, e.Lost, e.Missed, sampler.Dollars(e.Spent))
		if r := e.MentionRate; r != nil {
			fmt.Fprintf(&b, ", named in %s %% (%s to %s)", percent(r.Value), percent(r.Low), percent(r.High))
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "Spent $%s of $%s by the prices of the plan: compare it with the bills.\n",
		sampler.Dollars(st.Spent), sampler.Dollars(st.Budget))
	for _, why := range st.Unranked {
		fmt.Fprintf(&b, "Cannot be ranked: %s.\n", why)
	}
	_, err := fmt.Fprint(s.Out, b.String())
	return err
}

// percent formats a share as a percentage with one decimal.
func percent(m fieldmark.Milli) string { return fmt.Sprintf("%d.%d", m/10, m%10) }

type reviewCmd struct {
	studyArg
	Brand string `help:"Slug of a brand; default: all whose name is a common word."`
}

// Run shows matches and near-misses, and stores what the person says of them.
func (c *reviewCmd) Run(s *command.Streams) error {
	st, err := sampler.Open(c.Dir)
	if err != nil {
		return usage(err)
	}
	items, err := st.ReviewItems(c.Brand)
	if err != nil {
		return err
	}
	return mark(s, items, func(i *sampler.Item) string { return "Does this name " + i.Slug + "?" }, st.Review)
}

type gradeCmd struct {
	studyArg
	Brand string `help:"Slug of a brand; default: all."`
	Count int    `default:"50" help:"Number of statements; every fifth is shown twice."`
}

// Run shows statements, and stores whether they are right.
func (c *gradeCmd) Run(s *command.Streams) error {
	st, err := sampler.Open(c.Dir)
	if err != nil {
		return usage(err)
	}
	items, err := st.GradeItems(c.Brand, c.Count)
	if err != nil {
		return err
	}
	if err := mark(s, items, func(i *sampler.Item) string {
		return "Is what this says of " + i.Slug + " right?"
	}, st.Grade); err != nil {
		return err
	}
	kappa, n, err := st.Agreement()
	if err != nil || n == 0 {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "Agreement of %d statements graded twice: Cohen's kappa %.2f\n", n, kappa)
	return err
}

// mark asks for each item until the end of the input.
func mark(s *command.Streams, items []sampler.Item, question func(*sampler.Item) string,
	store func(*sampler.Item, bool) error) error {
	in := bufio.NewScanner(s.In)
	marked := 0
	for k := range items {
		i := &items[k]
		// What comes from answers is quoted: it may have control characters.
		fmt.Fprintf(s.Out, "%d of %d: %q [%q] %q\n%s y, n, s to skip, q to stop: ", k+1, len(items), i.Before, i.Match,
			i.After, question(i))
		if !in.Scan() {
			break
		}
		answer := strings.ToLower(strings.TrimSpace(in.Text()))
		if answer == "q" {
			break
		}
		if answer == "y" || answer == "n" {
			if err := store(i, answer == "y"); err != nil {
				return err
			}
			marked++
		}
	}
	_, err := fmt.Fprintf(s.Out, "\n%d of %d marked.\n", marked, len(items))
	return errors.Join(err, in.Err())
}

type exportCmd struct{ studyArg }

// Run writes a document for each engine.
func (c *exportCmd) Run(s *command.Streams) error {
	st, err := sampler.Open(c.Dir)
	if err != nil {
		return usage(err)
	}
	documents, warnings, err := st.Export(time.Now())
	if err != nil {
		return err
	}
	for _, w := range warnings {
		fmt.Fprintln(s.Err, "fieldmark: warning:", w)
	}
	names, err := st.WriteExport(documents)
	if err != nil {
		return err
	}
	for i, name := range names {
		if _, err := fmt.Fprintf(s.Out, "%s %s\n", name, documents[i].Digest()); err != nil {
			return err
		}
	}
	return nil
}

type verifyCmd struct {
	studyArg
	URL string `env:"FIELDMARK_URL" placeholder:"URL" help:"Server whose studies are compared too."`
}

// Run counts again and compares.
func (c *verifyCmd) Run(ctx context.Context, s *command.Streams) error {
	st, err := sampler.Open(c.Dir)
	if err != nil {
		return usage(err)
	}
	exported, err := st.ReadExport()
	if err != nil {
		return err
	}
	counted, _, err := st.Export(time.Now())
	if err != nil {
		return err
	}
	differs := false
	for _, d := range exported {
		i := slices.IndexFunc(counted, func(other *study.Document) bool { return other.Engine == d.Engine })
		same := i >= 0 && counted[i].Digest() == d.Digest()
		differs = differs || !same
		state := "the answers give the same counts"
		if !same {
			state = "differs: the answers give other counts"
		}
		if _, err := fmt.Fprintf(s.Out, "%s: %s\n", d.Engine, state); err != nil {
			return err
		}
		if c.URL == "" {
			continue
		}
		found, err := c.compare(ctx, d)
		if err != nil {
			return err
		}
		differs = differs || !found
		state = c.URL + " has these counts"
		if !found {
			state = "differs: " + c.URL + " does not have these counts"
		}
		if _, err := fmt.Fprintf(s.Out, "%s: %s\n", d.Engine, state); err != nil {
			return err
		}
	}
	if differs {
		return command.WithStatus(command.StatusNotMet, errors.New("the study differs"))
	}
	return nil
}

// compare reports whether a server has the counts of a document. A server stores it under the present slugs of
// the brands it lists.
func (c *verifyCmd) compare(ctx context.Context, d *study.Document) (bool, error) {
	api, err := client.New(client.Config{BaseURL: c.URL})
	if err != nil {
		return false, err
	}
	var failed error
	d.Rename(func(slug string) string {
		score, err := api.Score(ctx, fieldmark.Slug(slug))
		if err != nil && !fieldmark.IsCode(err, fieldmark.CodeNotFound) {
			failed = err
		}
		if err != nil {
			return ""
		}
		return string(score.Slug)
	})
	if failed != nil {
		return false, failed
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet,
		strings.TrimSuffix(c.URL, "/")+"/api/v1/visibility/studies/"+string(d.Digest()), nil)
	if err != nil {
		return false, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, study.MaxBody))
	return resp.StatusCode == http.StatusOK, err
}

type pruneCmd struct{ studyArg }

// Run removes old answers.
func (c *pruneCmd) Run(s *command.Streams) error {
	st, err := sampler.Open(c.Dir)
	if err != nil {
		return usage(err)
	}
	removed, err := st.Prune(time.Now())
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "%d answers removed\n", removed)
	return err
}

type fakeEngineCmd struct {
	Plan   string `arg:"" type:"path" help:"A plan: its panel has the brands to name."`
	Listen string `default:"127.0.0.1:8091" help:"Address to listen on."`
	Seed   uint64 `default:"1" help:"Another number gives other answers."`
}

// Run serves the fake engine until the process is stopped.
func (c *fakeEngineCmd) Run(ctx context.Context, s *command.Streams) error {
	p, _, err := plan.Load(c.Plan)
	if err != nil {
		return usage(err)
	}
	var brands []fake.Brand
	for i := range p.Panel {
		b := fake.Brand{Name: p.Panel[i].Aliases[0].Text}
		if len(p.Panel[i].Domains) > 0 {
			b.Domain = p.Panel[i].Domains[0]
		}
		brands = append(brands, b)
	}
	ln, err := listen.Open(c.Listen, "--listen")
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(s.Out, "A fake engine that invents its answers: %s/v1 (model %s)\n",
		command.ListenerURL(ln), fake.Model); err != nil {
		return errors.Join(err, ln.Close())
	}
	return listen.ServeHTTP(ctx, fake.New(c.Seed, brands...), ln)
}

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
// A folder has one study with all that these commands need, without the files of the plan.
type studyArg struct {
	Dir string `arg:"" type:"existingdir" help:"Folder of the study."`
}

// statusCmd only reads, so it can run beside the process that samples.
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
	// Only of a study that is over: interim rates invite stopping when they please.
	if err := st.AddRates(&status); err != nil {
		return err
	}
	return printStatus(s, &status, c.JSON)
}

// printStatus is also the end of sample. Its text is for people and may change; JSON is the stable form.
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
		// With its interval: the value alone suggests a precision that it does not have.
		if r := e.MentionRate; r != nil {
			fmt.Fprintf(&b, ", named in %s %% (%s to %s)", percent(r.Value), percent(r.Low), percent(r.High))
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "Spent $%s of $%s by the prices of the plan: compare it with the bills.\n",
		sampler.Dollars(st.Spent), sampler.Dollars(st.Budget))
	if st.Next != "" {
		fmt.Fprintf(&b, "The next question is due at %s.\n", st.Next)
	}
	// Said as soon as it is certain, so that no more money is spent on a ranking.
	for _, why := range st.Unranked {
		fmt.Fprintf(&b, "Cannot be ranked: %s.\n", why)
	}
	_, err := fmt.Fprint(s.Out, b.String())
	return err
}

// percent formats a share as a percentage with one decimal.
func percent(m fieldmark.Milli) string { return fmt.Sprintf("%d.%d", m/10, m%10) }

// reviewCmd samples matches and near-misses of names that are common words, without which they are not ranked.
type reviewCmd struct {
	studyArg
	Brand string `help:"Slug of a brand; default: all whose name is a common word."`
}

// Run shows matches and near-misses, and stores the person's judgment of each.
func (c *reviewCmd) Run(s *command.Streams) error {
	st, err := sampler.Open(c.Dir)
	if err != nil {
		return usage(err)
	}
	items, err := st.ReviewItems(c.Brand)
	if err != nil {
		return err
	}
	if err := mark(s, items, func(i *sampler.Item) string {
		return "Does this name " + i.Slug + "?"
	}, st.Review); err != nil {
		return err
	}
	reviews, err := st.Reviews()
	if err != nil {
		return err
	}
	for i := range reviews {
		r := &reviews[i]
		for _, part := range []struct {
			what string
			rate *fieldmark.Rate
		}{{"matches name the brand", r.Precision()}, {"near-misses name it after all", r.Missed()}} {
			// Shown with its interval: 50 of 50 does not say that all are right.
			if p := part.rate; p != nil {
				fmt.Fprintf(s.Out, "%s: %s %% of %d %s (%s to %s)\n", r.Brand, percent(p.Value), p.Of, part.what,
					percent(p.Low), percent(p.High))
			}
		}
	}
	return nil
}

// gradeCmd shows neither engine nor model, because graders who know them judge differently.
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
	// Shown after each session, because grades below the limit of the export do not count.
	a, err := st.Agreement()
	if err != nil || a == nil {
		return err
	}
	said := ""
	if a.Kappa < fieldmark.MinKappa {
		said = ": graders disagree, and no grade counts"
	}
	_, err = fmt.Fprintf(s.Out, "Agreement of %d statements graded twice: Cohen's kappa %.2f%s\n", a.Statements,
		float64(a.Kappa)/1000, said)
	return err
}

// mark reads a judgment of each item until the end of the input.
// Each mark is stored at once, so that a review can end at any item.
func mark(s *command.Streams, items []sampler.Item, question func(*sampler.Item) string,
	store func(*sampler.Item, bool) error) error {
	in := bufio.NewScanner(s.In)
	marked := 0
	for k := range items {
		i := &items[k]
		// What comes from answers is quoted: it may have control characters.
		fmt.Fprintf(s.Out, "%d of %d: %q [%q] %q\n%s y, n, s to skip, q to stop: ", k+1, len(items), i.Before, i.Match,
			i.After, question(i))
		// The end of the input is a stop, not an answer; marks are stored one by one.
		if !in.Scan() {
			break
		}
		answer := strings.ToLower(strings.TrimSpace(in.Text()))
		if answer == "q" {
			break
		}
		// Any other text skips the item, which comes again at the next start.
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

// exportCmd counts without network and key.
type exportCmd struct{ studyArg }

// Run writes a document for each engine.
func (c *exportCmd) Run(s *command.Streams) error {
	st, err := sampler.Open(c.Dir)
	if err != nil {
		return usage(err)
	}
	// Refused before the end of the study.
	documents, warnings, err := st.Export(time.Now())
	if err != nil {
		return err
	}
	// They are also of interest to readers of the counts, but a document has no member for them.
	for _, w := range warnings {
		fmt.Fprintln(s.Err, "fieldmark: warning:", w)
	}
	// Only after all documents were computed: an export has the counts of one moment.
	names, err := st.WriteExport(documents)
	if err != nil {
		return err
	}
	for i, name := range names {
		// The digest is what a server reports after the import.
		if _, err := fmt.Fprintf(s.Out, "%s %s\n", name, documents[i].Digest()); err != nil {
			return err
		}
	}
	return nil
}

// verifyCmd proves to a third party with the answers that published counts follow from them.
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
	// What was published, to be compared with what the answers give now.
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
		// By engine, because each has a document.
		i := slices.IndexFunc(counted, func(other *study.Document) bool { return other.Engine == d.Engine })
		// Digests are compared, so a single changed count shows.
		same := i >= 0 && counted[i].Digest() == d.Digest()
		differs = differs || !same
		state := "the answers give the same counts"
		if !same {
			state = "differs: the answers give other counts"
		}
		if _, err := fmt.Fprintf(s.Out, "%s: %s\n", d.Engine, state); err != nil {
			return err
		}
		// Without a server only the folder is checked.
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
	// After all engines: the report names each that differs. The status is that of a condition that is not met.
	if differs {
		return command.WithStatus(command.StatusNotMet, errors.New("the study differs"))
	}
	return nil
}

// compareTimeout is the limit of a request for a document, of which each has at most study.MaxBody bytes.
const compareTimeout = time.Minute

// compare reports whether a server has the counts of a document. A server stores it under the present slugs of
// the brands it lists.
// The digest of the document under these slugs is requested from the server.
func (c *verifyCmd) compare(ctx context.Context, d *study.Document) (bool, error) {
	api, err := client.New(client.Config{BaseURL: c.URL})
	if err != nil {
		return false, err
	}
	var failed error
	d.Rename(func(slug string) string {
		score, err := api.Score(ctx, fieldmark.Slug(slug))
		// Any other error would make a brand unknown that the server lists.
		if err != nil && !fieldmark.IsCode(err, fieldmark.CodeNotFound) {
			failed = err
		}
		if err != nil {
			return ""
		}
		// The present slug, if the brand was renamed.
		return string(score.Slug)
	})
	if failed != nil {
		return false, failed
	}
	ctx, cancel := context.WithTimeout(ctx, compareTimeout)
	defer cancel()
	// The route of one document, which is addressed by its digest.
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
	// Only the status counts: the address contains the digest of the content.
	_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, study.MaxBody))
	return resp.StatusCode == http.StatusOK, err
}

// pruneCmd keeps the journal, so that costs and digests stay known.
type pruneCmd struct{ studyArg }

// Run removes old answers.
func (c *pruneCmd) Run(s *command.Streams) error {
	st, err := sampler.Open(c.Dir)
	if err != nil {
		return usage(err)
	}
	// Only what is older than the plan keeps, so a timer may run it daily.
	removed, err := st.Prune(time.Now())
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "%d answers removed\n", removed)
	return err
}

// fakeEngineCmd tries out a plan without a vendor. It listens on this machine only by default.
type fakeEngineCmd struct {
	Plan   string `arg:"" type:"path" help:"A plan: its panel has the brands to name."`
	Listen string `default:"127.0.0.1:8095" help:"Address to listen on."`
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
		// The first alias: every brand of a checked panel has one, and the matcher finds it.
		b := fake.Brand{Name: p.Panel[i].Aliases[0].Text}
		// A brand without a domain is named and never cited.
		if len(p.Panel[i].Domains) > 0 {
			b.Domain = p.Panel[i].Domains[0]
		}
		brands = append(brands, b)
	}
	// Opened before the line is printed: who reads the address can connect.
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

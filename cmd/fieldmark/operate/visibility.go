package operate

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin/client"
	"github.com/fieldmark/fieldmark/origin/visibility/sampler"
	"github.com/fieldmark/fieldmark/origin/visibility/study"
)

// VisibilityCommands import what answer engines say about brands.
type VisibilityCommands struct {
	Import visibilityImportCmd `cmd:"" help:"Import answer samples or a study from a CSV or JSON file."`
	Push   visibilityPushCmd   `cmd:"" help:"Import the exported counts of a study; answers stay on this machine."`
	Proxy  visibilityProxyCmd  `cmd:"" help:"Import a proxy variable of the popularity of brands, for the validity."`
}

type visibilityImportCmd struct {
	adminFlags `embed:""`
	File       string `arg:"" help:"The file; - reads standard input."`
	Format     string `enum:"auto,csv,json" default:"auto" help:"Format of the file: auto, csv or json. auto decides by the file name, then by the content."`
}

// Run imports the samples and reports every rejected line.
func (c *visibilityImportCmd) Run(ctx context.Context, s *command.Streams) error {
	file, err := s.ReadFile(c.File)
	if err != nil {
		return err
	}
	return run(c, func(api *client.Client) (fieldmark.VisibilityImport, error) {
		return importFile(ctx, api, file, c.isCSV(file))
	}, func(report fieldmark.VisibilityImport) error { return printImport(s, &report) })
}

// importFile imports a file. One that is refused for its faults has the status of a plan that makes no sense: nothing
// was stored.
func importFile(ctx context.Context, api *client.Client, file []byte,
	isCSV bool) (fieldmark.VisibilityImport, error) {
	report, err := api.ImportVisibility(ctx, file, isCSV)
	return report, refused(err)
}

// refused gives the error of a file with faults the status of a wrong command line.
func refused(err error) error {
	if fieldmark.IsCode(err, fieldmark.CodeValidationFailed) {
		return command.WithStatus(command.StatusUsage, err)
	}
	return err
}

func printWarnings(s *command.Streams, report *fieldmark.VisibilityImport) error {
	for _, w := range report.Warnings {
		if _, err := fmt.Fprintf(s.Err, "warning: %s: %s\n", w.Pointer, w.Detail); err != nil {
			return err
		}
	}
	return nil
}

func printImport(s *command.Streams, report *fieldmark.VisibilityImport) error {
	if err := printf(s, "%d added, %d known already, file %s\n", report.Added, report.Unchanged,
		report.FileHash); err != nil {
		return err
	}
	if err := printWarnings(s, report); err != nil {
		return err
	}
	if len(report.Rejected) == 0 {
		return nil
	}
	return &fieldmark.Error{Code: fieldmark.CodeValidationFailed, Fields: report.Rejected,
		Detail: command.Count(len(report.Rejected)+report.Omitted, "problem", "problems") +
			"; the lines below were not imported"}
}

type visibilityPushCmd struct {
	adminFlags `embed:""`
	Dir        string `arg:"" type:"existingdir" help:"Folder of the study."`
}

// Run imports the documents of a study one by one. A second run changes nothing.
func (c *visibilityPushCmd) Run(ctx context.Context, s *command.Streams) error {
	st, err := sampler.Open(c.Dir)
	if err != nil {
		return err
	}
	documents, err := st.ReadExport()
	if err != nil {
		return err
	}
	for _, d := range documents {
		if err := run(c, func(api *client.Client) (fieldmark.VisibilityImport, error) {
			return importFile(ctx, api, d.Bytes(), false)
		}, func(report fieldmark.VisibilityImport) error { return printImport(s, &report) }); err != nil {
			return fmt.Errorf("push %s: %w", d.Engine, err)
		}
	}
	return nil
}

type visibilityProxyCmd struct {
	adminFlags `embed:""`
	File       string `arg:"" help:"A CSV file; - reads standard input."`
}

// Help describes the file and its effect.
func (c *visibilityProxyCmd) Help() string {
	return `Well-known brands are named more often and often have a better site. A proxy
variable says how well known brands are by another measure than the answers,
such as the number of links to a site or the views of an article. The validity
(/methodology#validity) then shows the association of scores and answers within
the less and the better known half of the brands, and the partial tau.

The file has the columns slug and the name of the variable, such as

  slug,backlinks
  alpenglow,1520

with whole numbers. It replaces all values of the variable; without rows the
variable is deleted. A file with a fault is refused with the line and column of
every fault, and status 2; nothing is stored. Brands that are not registered are
left out with a warning.`
}

// Run imports the variable.
func (c *visibilityProxyCmd) Run(ctx context.Context, s *command.Streams) error {
	file, err := s.ReadFile(c.File)
	if err != nil {
		return err
	}
	name, v, err := study.ParseProxy(file)
	if err != nil {
		return command.WithStatus(command.StatusUsage, err)
	}
	return run(c, func(api *client.Client) (fieldmark.VisibilityImport, error) {
		report, err := api.PutProxy(ctx, name, v)
		return report, refused(err)
	}, func(report fieldmark.VisibilityImport) error {
		if err := printf(s, "%s of %s\n", name, command.Count(report.Added, "brand", "brands")); err != nil {
			return err
		}
		return printWarnings(s, &report)
	})
}

func (c *visibilityImportCmd) isCSV(file []byte) bool {
	switch ext := strings.ToLower(filepath.Ext(c.File)); {
	case c.Format != "auto":
		return c.Format == "csv"
	case ext == ".csv" || ext == ".json":
		return ext == ".csv"
	}
	return !bytes.ContainsAny(bytes.TrimLeft(file, " \t\r\n")[:min(1, len(file))], "[{")
}

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
)

// VisibilityCmd manages samples of the statements of answer engines about brands.
type VisibilityCmd struct {
	Import visibilityImportCmd `cmd:"" help:"Import answer samples from a CSV or JSON file."`
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
		return api.ImportVisibility(ctx, file, c.isCSV(file))
	}, func(report fieldmark.VisibilityImport) error {
		if err := printf(s, "%d added, %d known already, file %s\n", report.Added, report.Unchanged,
			report.FileHash); err != nil {
			return err
		}
		for _, w := range report.Warnings {
			if _, err := fmt.Fprintf(s.Err, "warning: %s: %s\n", w.Pointer, w.Detail); err != nil {
				return err
			}
		}
		if len(report.Rejected) == 0 {
			return nil
		}
		return &fieldmark.Error{Code: fieldmark.CodeValidationFailed, Fields: report.Rejected,
			Detail: fmt.Sprintf("%d problems; the lines below were not imported", len(report.Rejected)+report.Omitted)}
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

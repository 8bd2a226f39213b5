package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/fieldmark/fieldmark"
)

type visibilityCmd struct {
	Import visibilityImportCmd `cmd:"" help:"Import answer samples from a CSV or JSON file."`
}

type visibilityImportCmd struct {
	targetSettings `embed:""`
	File           string `arg:"" help:"The file; - is standard input."`
	Format         string `enum:"auto,csv,json" default:"auto" help:"What the file is: auto, csv or json; auto looks at its name, then at how it begins."`
}

// Run imports the samples and reports on every line that was refused.
func (c *visibilityImportCmd) Run(ctx context.Context, s *streams) error {
	file, err := readInput(s, c.File)
	if err != nil {
		return err
	}
	api, err := c.connect()
	if err != nil {
		return err
	}
	report, err := api.ImportVisibility(ctx, file, c.isCSV(file))
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "%d added, %d known already, file %s\n", report.Added, report.Unchanged, report.FileHash)
	if len(report.Rejected) == 0 {
		return nil
	}
	return &fieldmark.Error{Code: fieldmark.CodeValidationFailed, Detail: fmt.Sprintf("%d complaints; these lines were not imported", len(report.Rejected)+report.Omitted), Fields: report.Rejected}
}

func (c *visibilityImportCmd) isCSV(file []byte) bool {
	switch ext := strings.ToLower(filepath.Ext(c.File)); {
	case c.Format != "auto":
		return c.Format == "csv"
	case ext == ".csv" || ext == ".json":
		return ext == ".csv"
	}
	return !bytes.HasPrefix(bytes.TrimLeft(file, " \t\r\n"), []byte("["))
}

// readInput reads a file, or standard input, up to what an import may weigh.
func readInput(s *streams, name string) ([]byte, error) {
	var from io.Reader = s.in
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		from = f
	}
	b, err := io.ReadAll(io.LimitReader(from, fieldmark.MaxBulkBody+1))
	if err == nil && len(b) > fieldmark.MaxBulkBody {
		err = fmt.Errorf("%s is larger than %d bytes", name, fieldmark.MaxBulkBody)
	}
	return b, err
}

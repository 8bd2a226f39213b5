package sampler

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fieldmark/fieldmark/internal/atomicfile"
	"github.com/fieldmark/fieldmark/origin/visibility/study"
)

// exportFolder has the documents that export wrote.
const exportFolder = "export"

// WriteExport writes documents into the folder of the study, and returns the names of the files.
func (s *Study) WriteExport(documents []*study.Document) (names []string, err error) {
	if err := os.MkdirAll(s.path(exportFolder), folderMode); err != nil {
		return nil, fmt.Errorf("write the export: %w", err)
	}
	for _, d := range documents {
		name := s.path(exportFolder, d.Engine+".json")
		if err := atomicfile.Write(name, append(d.Bytes(), '\n')); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// ReadExport reads the documents that WriteExport wrote.
func (s *Study) ReadExport() (documents []*study.Document, err error) {
	files, err := filepath.Glob(s.path(exportFolder, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("read the export: %w", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read the export: %w", err)
		}
		d, err := study.ParseJSON(text)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		documents = append(documents, d)
	}
	if len(documents) == 0 {
		return nil, errors.New("nothing is exported yet: run `fieldmark visibility export` first")
	}
	return documents, nil
}

package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fieldmark/fieldmark/internal/atomicfile"
)

// AccessFile is the name of the file in the data folder that holds an Access. LogFile
// is the name of the demo's log beside it.
const (
	AccessFile = "demo.json"
	LogFile    = "demo.log"
)

// Access is the content of demo.json: the addresses and credentials that a script
// needs to use a demo.
type Access struct {
	BaseURL       string `json:"baseUrl"`
	OriginURL     string `json:"originUrl"`
	DebugURL      string `json:"debugUrl"`
	AdminUser     string `json:"adminUser"`
	AdminPassword string `json:"adminPassword"`
	APIKey        string `json:"apiKey"`
	AdminKey      string `json:"adminKey"`
	NodeToken     string `json:"nodeToken"`
}

// ReadAccess reads demo.json in a data folder. It returns nil and no error if no
// demo was started there.
func ReadAccess(data string) (*Access, error) {
	raw, err := os.ReadFile(filepath.Join(data, AccessFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	a := new(Access)
	if err := json.Unmarshal(raw, a); err != nil {
		return nil, fmt.Errorf("%s: %w", AccessFile, err)
	}
	return a, nil
}

// write replaces demo.json atomically. Only its owner may read it.
func (a *Access) write(data string) error {
	raw, err := json.MarshalIndent(a, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(data, AccessFile), append(raw, '\n'))
}

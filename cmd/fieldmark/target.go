package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fieldmark/fieldmark/origin/client"
)

// targetSettings are which Fieldmark a command talks to, and as whom. Without
// them a command finds a demo started in this folder by itself.
type targetSettings struct {
	URL          string `env:"FIELDMARK_URL" placeholder:"URL" help:"Address of the Fieldmark to talk to; that of the demo in --data if unset."`
	AdminKey     string `env:"FIELDMARK_ADMIN_KEY" placeholder:"KEY" help:"API key with scope admin:*; that of the demo in --data if unset."`
	AdminKeyFile string `env:"FIELDMARK_ADMIN_KEY_FILE" type:"path" placeholder:"FILE" help:"File that holds the key."`
	Data         string `env:"FIELDMARK_DATA" type:"path" default:"./var" help:"Folder a demo was started with."`
}

// connect returns a client for the chosen Fieldmark.
func (t *targetSettings) connect() (*client.Client, error) {
	c, _, err := t.connectAt()
	return c, err
}

// connectAt also returns the address it is at.
func (t *targetSettings) connectAt() (*client.Client, string, error) {
	key, err := secretOrFile(t.AdminKey, t.AdminKeyFile)
	if err != nil {
		return nil, "", err
	}
	url := t.URL
	if url == "" || key == "" {
		demo, err := readDemoFacts(t.Data)
		if err != nil {
			return nil, "", err
		}
		switch {
		case demo == nil:
			return nil, "", fmt.Errorf("no Fieldmark to talk to: set FIELDMARK_URL and FIELDMARK_ADMIN_KEY, or start a demo with `fieldmark serve --demo` (no %s in %s)", demoFile, t.Data)
		case url == "":
			url = demo.BaseURL
		case url != demo.BaseURL:
			// The demo's key is for the demo alone: it must not be shown to another host.
			return nil, "", fmt.Errorf("FIELDMARK_ADMIN_KEY is not set, and the key in %s is not for %s", demoFile, url)
		}
		if key == "" {
			key = demo.AdminKey
		}
	}
	c, err := client.New(client.Config{BaseURL: url, Key: key})
	return c, url, err
}

// readDemoFacts reads demo.json; it is nil where no demo was started.
func readDemoFacts(data string) (*demoFacts, error) {
	raw, err := os.ReadFile(filepath.Join(data, demoFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f := new(demoFacts)
	if err := json.Unmarshal(raw, f); err != nil {
		return nil, fmt.Errorf("%s: %w", demoFile, err)
	}
	return f, nil
}

// printJSON writes v for machines and for people who read JSON.
func printJSON(s *streams, v any) error {
	enc := json.NewEncoder(s.out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

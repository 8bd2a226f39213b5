package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin/store"
)

// minSecret is the least length of the application secret, in bytes: the size
// of the SHA-256 keys derived from it.
const minSecret = 32

// maxNodeTokens is how many node tokens may be set: a change needs two, and and a
// third would be one that should have been removed.
const maxNodeTokens = 2

// tokenSettings are how an edge and an origin know each other.
type tokenSettings struct {
	NodeToken     string `env:"FIELDMARK_NODE_TOKEN" placeholder:"TOKEN" help:"Token edges show to origins; the same on all of them, at least 32 characters. While it is changed: the new and the old one, with a comma between; origins accept both, edges send the first."`
	NodeTokenFile string `env:"FIELDMARK_NODE_TOKEN_FILE" type:"path" placeholder:"FILE" help:"File that holds the node token."`
}

// token returns the node tokens as they are set, from their file if need be.
func (t *tokenSettings) token() (string, error) {
	return command.ReadSecret(t.NodeToken, t.NodeTokenFile)
}

// requireToken returns the node tokens, with a comma between, or says how to set one.
func (t *tokenSettings) requireToken() (string, error) {
	list, err := t.token()
	if err != nil {
		return "", err
	}
	tokens := fieldmark.SplitNodeTokens(list)
	if len(tokens) > maxNodeTokens {
		return "", fmt.Errorf("FIELDMARK_NODE_TOKEN has %d tokens, want at most %d: the new and the old one", len(tokens), maxNodeTokens)
	}
	for _, token := range tokens {
		if len(token) < minSecret {
			return "", fmt.Errorf("FIELDMARK_NODE_TOKEN must have at least %d characters; the same on every edge and origin", minSecret)
		}
	}
	return list, nil
}

// databaseSettings say where an origin's record is.
type databaseSettings struct {
	Data            string `env:"FIELDMARK_DATA" type:"path" default:"./var" help:"Folder of the SQLite database and of generated secrets."`
	DatabaseURL     string `env:"FIELDMARK_DATABASE_URL" placeholder:"URL" help:"PostgreSQL to keep the record in, shared by any number of origins: postgres://USER:PASSWORD@HOST:PORT/NAME; unset means SQLite in the data folder."`
	DatabaseURLFile string `env:"FIELDMARK_DATABASE_URL_FILE" type:"path" placeholder:"FILE" help:"File that holds the address of the database."`
}

// dataSettings are what an origin keeps its record with.
type dataSettings struct {
	databaseSettings `embed:""`
	Secret           string `env:"FIELDMARK_SECRET" placeholder:"SECRET" help:"Application secret every key at rest is derived from, at least 32 characters; made and kept in the data folder if unset; required with a database address."`
	SecretFile       string `env:"FIELDMARK_SECRET_FILE" type:"path" placeholder:"FILE" help:"File that holds the application secret."`
}

// appSecret returns the application secret, making one in the data folder on
// the first start of a deployment that sets none.
func (d *dataSettings) appSecret() ([]byte, error) {
	value, err := command.ReadSecret(d.Secret, d.SecretFile)
	if err != nil {
		return nil, err
	}
	if value == "" {
		// One made here would be another on the next machine, where every key
		// and every webhook secret of the shared record would be wrong.
		if url, err := command.ReadSecret(d.DatabaseURL, d.DatabaseURLFile); err != nil || url != "" {
			return nil, errors.Join(err, errors.New("FIELDMARK_SECRET is required with FIELDMARK_DATABASE_URL: the same on every origin"))
		}
		if value, err = keptSecret(filepath.Join(d.Data, "secret")); err != nil {
			return nil, err
		}
	}
	if len(value) < minSecret {
		return nil, fmt.Errorf("FIELDMARK_SECRET must have at least %d characters", minSecret)
	}
	return []byte(value), nil
}

// record returns where the record is, making the folder of one that is a file.
func (d *databaseSettings) record() (store.Config, error) {
	url, err := command.ReadSecret(d.DatabaseURL, d.DatabaseURLFile)
	if err != nil || url != "" {
		return store.Config{URL: url}, err
	}
	if err := os.MkdirAll(d.Data, 0o700); err != nil {
		return store.Config{}, fmt.Errorf("make the data folder: %w", err)
	}
	return store.Config{Path: filepath.Join(d.Data, "fieldmark.db")}, nil
}

// place names the engine for a log line.
func place(cfg store.Config) string {
	if cfg.URL != "" {
		return "postgres"
	}
	return cfg.Path
}

// keptSecret reads a generated secret, or makes it, readable to its owner only.
// Of processes that make it at the same time one wins, and all return its secret.
func keptSecret(path string) (string, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeSecret(path); err != nil {
			return "", fmt.Errorf("keep a generated secret: %w", err)
		}
		b, err = os.ReadFile(path)
	}
	if err != nil {
		return "", fmt.Errorf("read a generated secret: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// makeSecret writes a new secret to a file unless it exists. The file appears
// with its whole content, because a link to it is made when it is on disk.
func makeSecret(path string) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".secret-*") // readable to its owner only
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	_, err = f.WriteString(rand.Text() + rand.Text() + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

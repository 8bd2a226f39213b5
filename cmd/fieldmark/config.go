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
	"github.com/fieldmark/fieldmark/origin/objects"
	"github.com/fieldmark/fieldmark/origin/store"
)

// minSecret is the minimum length of the application secret and of a node token, in
// bytes: the size of the SHA-256 keys that are derived from the secret.
const minSecret = 32

// maxNodeTokens is the maximum number of node tokens: a rotation needs two, and a third
// is one that should have been removed.
const maxNodeTokens = 2

// tokenSettings authenticate edges to origins.
type tokenSettings struct {
	NodeToken     string `env:"FIELDMARK_NODE_TOKEN" placeholder:"TOKEN" help:"Token that edges send to origins: the same on every node, at least 32 characters. To rotate it, set the new and the old token, separated by a comma: origins accept both, edges send the first."`
	NodeTokenFile string `env:"FIELDMARK_NODE_TOKEN_FILE" type:"path" placeholder:"FILE" help:"File of the node token."`
}

// token returns the node tokens as they are set, by value or by file.
func (t *tokenSettings) token() (string, error) {
	return command.ReadSecret(t.NodeToken, t.NodeTokenFile)
}

// requireToken returns the node tokens, separated by a comma. It is an error if none is
// set.
func (t *tokenSettings) requireToken() (string, error) {
	list, err := t.token()
	if err != nil {
		return "", err
	}
	tokens := fieldmark.SplitNodeTokens(list)
	if len(tokens) > maxNodeTokens {
		return "", fmt.Errorf("FIELDMARK_NODE_TOKEN has %d tokens, want at most %d: the new and the old one",
			len(tokens), maxNodeTokens)
	}
	for _, token := range tokens {
		if len(token) < minSecret {
			return "", fmt.Errorf(
				"FIELDMARK_NODE_TOKEN must have at least %d characters; the same on every edge and origin", minSecret)
		}
	}
	return list, nil
}

// databaseSettings name the database of an origin.
type databaseSettings struct {
	Data            string `env:"FIELDMARK_DATA" type:"path" default:"./var" help:"Folder for SQLite and secrets."`
	DatabaseURL     string `env:"FIELDMARK_DATABASE_URL" placeholder:"URL" help:"PostgreSQL database, shared by any number of origins: postgres://USER:PASSWORD@HOST:PORT/NAME; SQLite in the data folder if unset."`
	DatabaseURLFile string `env:"FIELDMARK_DATABASE_URL_FILE" type:"path" placeholder:"FILE" help:"File that holds the database URL."`
}

// replicaSettings name a replica of the database of an origin.
type replicaSettings struct {
	ReadURL     string `env:"FIELDMARK_DATABASE_READ_URL" placeholder:"URL" help:"Replica that edges and lists read."`
	ReadURLFile string `env:"FIELDMARK_DATABASE_READ_URL_FILE" type:"path" placeholder:"FILE" help:"File that holds it"`
}

// objectSettings name the place of large contents, such as attachments.
type objectSettings struct {
	Objects string `env:"FIELDMARK_OBJECTS" default:"file:" help:"Place of large files: file:DIR or s3://BUCKET/DIR."`
}

// place returns the place. Data is the data folder.
func (o *objectSettings) place(data string) (objects.Store, error) {
	place, err := objects.Parse(o.Objects, data)
	if err != nil {
		return nil, fmt.Errorf("--objects: %w", err)
	}
	return place, nil
}

// dataSettings name the database of an origin and the secret that protects keys in it.
type dataSettings struct {
	databaseSettings `embed:""`
	Secret           string `env:"FIELDMARK_SECRET" placeholder:"SECRET" help:"Application secret that all keys at rest are derived from, at least 32 characters; generated and stored in the data folder if unset; required with a database URL."`
	SecretFile       string `env:"FIELDMARK_SECRET_FILE" type:"path" placeholder:"FILE" help:"File that holds the application secret."`
}

// appSecret returns the application secret. If none is set, it is generated in the data
// folder on the first start.
func (d *dataSettings) appSecret() ([]byte, error) {
	value, err := command.ReadSecret(d.Secret, d.SecretFile)
	if err != nil {
		return nil, err
	}
	if value == "" {
		// A generated secret would differ on the next origin, which then could not use
		// the keys and webhook secrets in the shared database.
		if url, err := command.ReadSecret(d.DatabaseURL, d.DatabaseURLFile); err != nil || url != "" {
			return nil, errors.Join(err,
				errors.New("FIELDMARK_SECRET is required with FIELDMARK_DATABASE_URL: the same on every origin"))
		}
		if value, err = generatedSecret(filepath.Join(d.Data, "secret")); err != nil {
			return nil, err
		}
	}
	if len(value) < minSecret {
		return nil, fmt.Errorf("FIELDMARK_SECRET must have at least %d characters", minSecret)
	}
	return []byte(value), nil
}

// storeConfig returns where the database is. It creates the data folder if the database
// is a file.
func (d *databaseSettings) storeConfig() (store.Config, error) {
	url, err := command.ReadSecret(d.DatabaseURL, d.DatabaseURLFile)
	if err != nil || url != "" {
		return store.Config{URL: url}, err
	}
	if err := os.MkdirAll(d.Data, 0o700); err != nil {
		return store.Config{}, fmt.Errorf("create the data folder: %w", err)
	}
	return store.Config{Path: filepath.Join(d.Data, "fieldmark.db")}, nil
}

// dbName returns the name of the database for log lines, without credentials.
func dbName(cfg store.Config) string {
	if cfg.URL != "" {
		return "postgres"
	}
	return cfg.Path
}

// generatedSecret reads a secret from a file, or generates it, readable by its owner only.
// If several processes generate it at the same time, all return the same secret.
func generatedSecret(path string) (string, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeSecret(path); err != nil {
			return "", fmt.Errorf("store a generated secret: %w", err)
		}
		b, err = os.ReadFile(path)
	}
	if err != nil {
		return "", fmt.Errorf("read a generated secret: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// makeSecret writes a new secret to a file unless the file exists. It links the file to
// its name when the content is on disk, so that the file is never seen incomplete.
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

package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
)

// minSecret is the least length of the application secret, in bytes: the size
// of the SHA-256 keys derived from it.
const minSecret = 32

// tokenSettings are how an edge and an origin know each other.
type tokenSettings struct {
	NodeToken     string `env:"FIELDMARK_NODE_TOKEN" placeholder:"TOKEN" help:"Token edges show to origins; the same on all of them, at least 32 characters."`
	NodeTokenFile string `env:"FIELDMARK_NODE_TOKEN_FILE" type:"path" placeholder:"FILE" help:"File that holds the node token."`
}

// token returns the node token, from its file if need be.
func (t *tokenSettings) token() (string, error) { return secretOrFile(t.NodeToken, t.NodeTokenFile) }

// requireToken returns the node token or says how to set one.
func (t *tokenSettings) requireToken() (string, error) {
	token, err := t.token()
	if err == nil && len(token) < minSecret {
		err = fmt.Errorf("FIELDMARK_NODE_TOKEN must have at least %d characters; the same on every edge and origin", minSecret)
	}
	return token, err
}

// dataSettings are what an origin keeps its record with.
type dataSettings struct {
	Data       string `env:"FIELDMARK_DATA" type:"path" default:"./var" help:"Folder of the database and of generated secrets."`
	Secret     string `env:"FIELDMARK_SECRET" placeholder:"SECRET" help:"Application secret every key at rest is derived from, at least 32 characters; made and kept in the data folder if unset."`
	SecretFile string `env:"FIELDMARK_SECRET_FILE" type:"path" placeholder:"FILE" help:"File that holds the application secret."`
}

// appSecret returns the application secret, making one in the data folder on
// the first start of a deployment that sets none.
func (d *dataSettings) appSecret() ([]byte, error) {
	value, err := secretOrFile(d.Secret, d.SecretFile)
	if err != nil {
		return nil, err
	}
	if value == "" {
		if value, err = keptSecret(filepath.Join(d.Data, "secret")); err != nil {
			return nil, err
		}
	}
	if len(value) < minSecret {
		return nil, fmt.Errorf("FIELDMARK_SECRET must have at least %d characters", minSecret)
	}
	return []byte(value), nil
}

func (d *dataSettings) database() string { return filepath.Join(d.Data, "fieldmark.db") }

// outboundSettings are where an origin may connect to on behalf of others.
type outboundSettings struct {
	AllowNetworks []netip.Prefix `env:"FIELDMARK_ALLOW_NETWORKS" placeholder:"CIDR" help:"Networks audits and webhooks may reach although they are private; none by default."`
}

// loopback are the networks that --demo and tests allow.
func loopback() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
}

// secretOrFile returns a secret given by value or by file; both is a mistake.
func secretOrFile(value, file string) (string, error) {
	if file == "" {
		return value, nil
	}
	if value != "" {
		return "", fmt.Errorf("a secret and its file %s are both given; give one", file)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read a secret: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// keptSecret reads a generated secret, or makes it, readable to its owner only.
func keptSecret(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err == nil {
		return strings.TrimSpace(string(b)), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read a generated secret: %w", err)
	}
	secret := rand.Text() + rand.Text()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("make the data folder: %w", err)
	}
	if err := os.WriteFile(path, []byte(secret+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("keep a generated secret: %w", err)
	}
	return secret, nil
}

package author

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/wasm"
)

// SignatureSuffix is appended to the name of a module to name its signature file.
const SignatureSuffix = ".sig"

type moduleKeygenCmd struct {
	Output string `short:"o" required:"" placeholder:"FILE" help:"File for the private key (PKCS #8 in PEM, as openssl genpkey -algorithm ed25519 writes it); it must not exist."`
}

// Run generates a key pair and prints the public key in the form that settings use.
func (c *moduleKeygenCmd) Run(s *command.Streams) error {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return err
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(c.Output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(pem.Encode(f, &pem.Block{Type: "PRIVATE KEY", Bytes: raw}), f.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.Out, fieldmark.ModuleKeyOf(public))
	return err
}

type moduleSignCmd struct {
	ModuleFile
	Key string `required:"" type:"path" placeholder:"FILE" help:"Private key from fieldmark module keygen or openssl."`
}

// Help is printed below the flags.
func (moduleSignCmd) Help() string {
	return `The signature (Ed25519 over the digest) is written to FILE.sig; push uploads it with
the module. Origins and edges with FIELDMARK_MODULE_KEYS accept only modules that are
signed with one of these keys.`
}

// Run writes FILE.sig.
func (c *moduleSignCmd) Run(s *command.Streams) error {
	private, err := readPrivateKey(c.Key)
	if err != nil {
		return err
	}
	module, err := c.Read(s)
	if err != nil {
		return err
	}
	if _, err := wasm.Ref(module); err != nil {
		return err
	}
	signature := fieldmark.SignModule(fieldmark.DigestOf(sha256.Sum256(module)), private)
	raw, err := json.MarshalIndent(signature, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.File+SignatureSuffix, append(raw, '\n'), 0o644); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "signed %s by %s\n", signature.Digest, signature.Key)
	return err
}

func readPrivateKey(path string) (ed25519.PrivateKey, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(raw)
	if block == nil {
		return nil, fmt.Errorf("%s: not a private key in PEM", path)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	private, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s: not an Ed25519 key", path)
	}
	return private, nil
}

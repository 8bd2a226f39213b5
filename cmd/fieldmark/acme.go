package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/mail"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/acme"
)

// acmeSettings configure the certificates that an origin orders.
type acmeSettings struct {
	ACME        string   `name:"acme" env:"FIELDMARK_ACME" placeholder:"EMAIL" help:"Order TLS certificates for every --domain, with this contact. You agree to the terms of service of the CA, by default Let's Encrypt."`
	Domain      []string `env:"FIELDMARK_DOMAIN" placeholder:"NAME" help:"Host name of the certificate; repeatable."`
	Directory   string   `name:"acme-directory" env:"FIELDMARK_ACME_DIRECTORY" placeholder:"URL" help:"ACME directory of the CA; Let's Encrypt if unset."`
	Staging     bool     `name:"acme-staging" env:"FIELDMARK_ACME_STAGING" help:"Use the staging directory of Let's Encrypt, whose certificates browsers do not trust."`
	CARoot      string   `name:"acme-ca-root" env:"FIELDMARK_ACME_CA_ROOT" type:"path" placeholder:"FILE" help:"Root certificates to verify the CA's own server with, in PEM."`
	EABKeyID    string   `name:"acme-eab-kid" env:"FIELDMARK_ACME_EAB_KID" placeholder:"ID" help:"Key id of the account that the CA requires to exist (external account binding)."`
	EABKeyFile  string   `name:"acme-eab-key-file" env:"FIELDMARK_ACME_EAB_KEY_FILE" type:"path" placeholder:"FILE" help:"File that holds its MAC key, in base64url."`
	ACMEProfile string   `name:"acme-profile" env:"FIELDMARK_ACME_PROFILE" placeholder:"NAME" help:"Profile of certificates, as the CA names it."`
}

// acmeTimeout bounds a request to the CA.
const acmeTimeout = 30 * time.Second

// config returns the settings of orders; the zero Config if none are set.
func (c *acmeSettings) config() (cfg acme.Config, err error) {
	if err := c.check(); err != nil || len(c.Domain) == 0 {
		return cfg, err
	}
	cfg = acme.Config{Names: c.Domain, Directory: c.Directory, Email: c.ACME, Profile: c.ACMEProfile,
		Agent: "fieldmark/" + version}
	switch {
	case c.Staging:
		cfg.Directory = acme.LetsEncryptStaging
	case c.Directory == "":
		cfg.Directory = acme.LetsEncrypt
	}
	if c.EABKeyID != "" {
		key, err := os.ReadFile(c.EABKeyFile)
		if err != nil {
			return cfg, fmt.Errorf("--acme-eab-key-file: %w", err)
		}
		cfg.EABKeyID, cfg.EABKey = c.EABKeyID, strings.TrimRight(strings.TrimSpace(string(key)), "=")
	}
	if c.CARoot != "" {
		text, err := os.ReadFile(c.CARoot)
		if err != nil {
			return cfg, fmt.Errorf("--acme-ca-root: %w", err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(text) {
			return cfg, errUsage("--acme-ca-root: %s has no certificate in PEM", c.CARoot)
		}
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
		cfg.HTTP = &http.Client{Timeout: acmeTimeout, Transport: transport}
	}
	return cfg, nil
}

// check returns an error for settings that are incomplete or contradict each other.
func (c *acmeSettings) check() error {
	slices.Sort(c.Domain)
	c.Domain = slices.Compact(c.Domain)
	for i, name := range c.Domain {
		c.Domain[i] = strings.ToLower(strings.TrimSpace(name))
		switch {
		case strings.HasPrefix(name, "*."):
			return errUsage("--domain %s: wildcards need DNS challenges, which are not supported; list each host", name)
		case !fieldmark.ValidDNSName(c.Domain[i]):
			return errUsage("--domain %q must be a host name without a port, such as marks.example.org", name)
		}
	}
	switch {
	case len(c.Domain) > acme.MaxNames:
		return errUsage("--domain: %d names, at most %d", len(c.Domain), acme.MaxNames)
	case len(c.Domain) > 0 && c.ACME == "":
		return errUsage("--domain orders certificates and needs an account: add --acme EMAIL, by which you agree to " +
			"the terms of service of the CA (Let's Encrypt: https://letsencrypt.org/repository/)")
	case len(c.Domain) == 0 && c.ACME != "":
		return errUsage("--acme orders certificates for host names: add --domain NAME")
	case c.Staging && c.Directory != "":
		return errUsage("--acme-staging and --acme-directory are two directories: set one")
	case (c.EABKeyID == "") != (c.EABKeyFile == ""):
		return errUsage("set both --acme-eab-kid and --acme-eab-key-file, or neither")
	}
	if c.ACME != "" {
		if a, err := mail.ParseAddress(c.ACME); err != nil || a.Address != c.ACME {
			return errUsage("--acme %q must be an e-mail address, such as you@example.org", c.ACME)
		}
	}
	return nil
}

// httpsPort is the port for which --http-listen and the port of URLs need no setting.
const httpsPort = 443

// applyTo completes the settings of an edge in the same process: it uses the certificates, its
// public URL is that of the first name, and if clients reach it at port 443, it redirects
// from port 80.
func (c *acmeSettings) applyTo(e *edgeSettings) {
	if len(c.Domain) == 0 {
		return
	}
	e.FromOrigin, e.fromOriginBy = true, "--acme"
	host, service, err := net.SplitHostPort(e.Listen)
	if err != nil || host == "systemd" { // the socket unit has the port
		service = strconv.Itoa(httpsPort)
	} else if service == strconv.Itoa(httpsPort) && e.HTTPListen == "" {
		e.HTTPListen = net.JoinHostPort(host, "80")
	}
	if e.BaseURL == "" {
		e.BaseURL = "https://" + c.Domain[0]
		if service != strconv.Itoa(httpsPort) {
			e.BaseURL += ":" + service
		}
	}
}

package operate

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin/client"
)

// CertificateCmd manages the TLS certificates of an origin.
type CertificateCmd struct {
	List   certificateListCmd   `cmd:"" help:"List TLS certificates, their expiry and what failed."`
	Renew  certificateRenewCmd  `cmd:"" help:"Order a new certificate for a name now."`
	Import certificateImportCmd `cmd:"" help:"Store a certificate that was issued elsewhere; it is not renewed."`
	Remove certificateRemoveCmd `cmd:"" help:"Remove the certificate of a name."`
}

type certificateListCmd struct {
	adminFlags `embed:""`
}

// Run prints a line for each certificate, and a second one for what failed.
func (c *certificateListCmd) Run(ctx context.Context, s *command.Streams) error {
	return run(c, func(api *client.Client) (fieldmark.CertificateList, error) { return api.CertificateList(ctx) },
		func(list fieldmark.CertificateList) error {
			for i := range list.Data {
				if err := printCertificate(s, &list.Data[i]); err != nil {
					return err
				}
			}
			return printf(s, "orders: %d of %d in the last hour, %d of %d in the last day\n", list.OrdersHour,
				fieldmark.MaxCertificateOrdersHour, list.OrdersDay, fieldmark.MaxCertificateOrdersDay)
		})
}

func printCertificate(s *command.Streams, c *fieldmark.Certificate) error {
	now := time.Now()
	expires, left, renewal := "not issued yet", "-", "not renewed"
	if c.NotAfter != nil {
		expires, left = "expires "+c.NotAfter.Std().Format(time.DateOnly), strconv.Itoa(c.DaysLeft(now))
	}
	if c.Source == fieldmark.CertificateACME {
		renewal = "renewal not planned"
	}
	if c.RenewAt != nil {
		renewal = "renewal " + c.RenewAt.Std().Format(time.DateOnly)
	}
	if err := printf(s, "%-40s %5s days  %-18s  %-19s  %s\n", c.Name, left, expires, renewal, c.Source); err != nil {
		return err
	}
	if c.LastError == "" && c.RateLimitedUntil == nil {
		return nil
	}
	what := fmt.Sprintf("%d failures, the last: %s", c.Failures, c.LastError)
	if c.RateLimitedUntil != nil {
		what = "rate limited: " + c.LastError
	}
	next := "soon"
	if c.NextTryAt != nil {
		next = "at " + c.NextTryAt.Std().Format(time.RFC3339)
	}
	return printf(s, "  %s\n  next try %s\n", what, next)
}

type certificateRenewCmd struct {
	adminFlags `embed:""`
	Name       string `arg:"" help:"Host name."`
}

// Run makes the renewal due. It does not wait for the CA.
func (c *certificateRenewCmd) Run(ctx context.Context, s *command.Streams) error {
	return run(c, func(api *client.Client) (fieldmark.Certificate, error) { return api.RenewCertificate(ctx, c.Name) },
		func(fieldmark.Certificate) error {
			return printf(s, "a new certificate for %s is being ordered; see certificate list\n", c.Name)
		})
}

type certificateImportCmd struct {
	adminFlags `embed:""`
	Name       string `arg:"" help:"Host name that the certificate is valid for."`
	Cert       string `required:"" type:"existingfile" placeholder:"FILE" help:"Certificate chain in PEM."`
	Key        string `required:"" type:"existingfile" placeholder:"FILE" help:"Private key in PEM."`
}

// Run sends the certificate and its key.
func (c *certificateImportCmd) Run(ctx context.Context, s *command.Streams) error {
	var in fieldmark.CertificateImport
	for path, to := range map[string]*string{c.Cert: &in.Chain, c.Key: &in.Key} {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		*to = string(text)
	}
	return run(c, func(api *client.Client) (fieldmark.Certificate, error) {
		return api.ImportCertificate(ctx, c.Name, in)
	}, func(cert fieldmark.Certificate) error { return printCertificate(s, &cert) })
}

type certificateRemoveCmd struct {
	adminFlags `embed:""`
	Name       string `arg:"" help:"Host name."`
}

// Run removes the certificate; edges stop serving it within a second.
func (c *certificateRemoveCmd) Run(ctx context.Context, s *command.Streams) error {
	return run(c, func(api *client.Client) (none struct{}, err error) {
		return none, api.RemoveCertificate(ctx, c.Name)
	}, func(struct{}) error { return printf(s, "the certificate of %s was removed\n", c.Name) })
}

package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/fieldmark/fieldmark"
)

// CertificateAPI contains the calls of administrators about TLS certificates.
type CertificateAPI struct{ *caller }

// CertificateList returns the TLS certificates and the use of the limits of orders.
func (c CertificateAPI) CertificateList(ctx context.Context) (fieldmark.CertificateList, error) {
	return get[fieldmark.CertificateList](ctx, c.caller, "certificates", nil)
}

// RenewCertificate orders a new certificate for a name.
func (c CertificateAPI) RenewCertificate(ctx context.Context, name string) (fieldmark.Certificate, error) {
	return post[fieldmark.Certificate](ctx, c.caller, "certificates/"+url.PathEscape(name)+"/renew", nil)
}

// ImportCertificate stores a certificate that was issued elsewhere.
func (c CertificateAPI) ImportCertificate(
	ctx context.Context, name string, in fieldmark.CertificateImport,
) (fieldmark.Certificate, error) {
	return put[fieldmark.Certificate](ctx, c.caller, "certificates/"+url.PathEscape(name), in)
}

// RemoveCertificate removes the certificate of a name.
func (c CertificateAPI) RemoveCertificate(ctx context.Context, name string) error {
	_, err := c.do(ctx, c.admin(http.MethodDelete, "certificates/"+url.PathEscape(name)), nil)
	return err
}

// SigningKeyAPI contains the calls of administrators about the keys that sign the requests of
// the auditor.
type SigningKeyAPI struct{ *caller }

// SigningKeys lists the keys that sign the requests of the auditor.
func (c SigningKeyAPI) SigningKeys(ctx context.Context) (fieldmark.SigningKeys, error) {
	return get[fieldmark.SigningKeys](ctx, c.caller, "signing-keys", nil)
}

// RotateSigningKey publishes a new signing key.
func (c SigningKeyAPI) RotateSigningKey(ctx context.Context) (fieldmark.SigningKeys, error) {
	return post[fieldmark.SigningKeys](ctx, c.caller, "signing-keys/rotate", nil)
}

// RetireSigningKey deletes a signing key at once.
func (c SigningKeyAPI) RetireSigningKey(ctx context.Context, id string) (fieldmark.SigningKeys, error) {
	return send[fieldmark.SigningKeys](ctx, c.caller, http.MethodDelete, "signing-keys/"+url.PathEscape(id), nil)
}

// CDNAPI contains the calls of administrators about CDNs in front of the edges.
type CDNAPI struct{ *caller }

// CDNs lists the CDNs that are purged.
func (c CDNAPI) CDNs(ctx context.Context) ([]fieldmark.CDN, error) {
	list, err := get[fieldmark.List[fieldmark.CDN]](ctx, c.caller, "cdns", nil)
	return list.Data, err
}

// PutCDN creates or replaces a CDN.
func (c CDNAPI) PutCDN(ctx context.Context, name string, r fieldmark.CDNRequest) (fieldmark.CDN, error) {
	return put[fieldmark.CDN](ctx, c.caller, "cdns/"+url.PathEscape(name), r)
}

// TestCDN purges a key from a CDN that nothing has.
func (c CDNAPI) TestCDN(ctx context.Context, name string) (fieldmark.CDNResult, error) {
	return post[fieldmark.CDNResult](ctx, c.caller, "cdns/"+url.PathEscape(name)+"/test", nil)
}

// PurgeCDN purges everything from a CDN.
func (c CDNAPI) PurgeCDN(ctx context.Context, name string) (fieldmark.CDNResult, error) {
	return post[fieldmark.CDNResult](ctx, c.caller, "cdns/"+url.PathEscape(name)+"/purge", nil)
}

// RemoveCDN removes a CDN, which is no longer purged.
func (c CDNAPI) RemoveCDN(ctx context.Context, name string) error {
	_, err := c.do(ctx, c.admin(http.MethodDelete, "cdns/"+url.PathEscape(name)), nil)
	return err
}

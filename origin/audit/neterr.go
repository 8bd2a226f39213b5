package audit

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
)

// isTimeout reports whether an error is a matter of time.
func isTimeout(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	n, ok := errors.AsType[net.Error](err)
	return ok && n.Timeout()
}

// isCertificate reports whether a TLS handshake failed over the certificate.
func isCertificate(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return true
	}
	_, ok := errors.AsType[x509.UnknownAuthorityError](err)
	return ok
}

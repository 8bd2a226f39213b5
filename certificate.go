package fieldmark

import (
	"strings"
	"time"
)

// CertificateSource is where the origin has a TLS certificate from.
type CertificateSource string

// Sources of certificates.
const (
	CertificateACME     CertificateSource = "acme"     // ordered from a CA, and renewed
	CertificateImported CertificateSource = "imported" // uploaded by an administrator, and not renewed
)

// Certificate describes the TLS certificate of a name, without its key.
type Certificate struct {
	Name      string            `json:"name"`
	Source    CertificateSource `json:"source"`
	Issuer    string            `json:"issuer,omitempty"`
	Serial    string            `json:"serial,omitempty"`    // hexadecimal
	NotBefore *Time             `json:"notBefore,omitempty"` // absent until the first certificate is issued
	NotAfter  *Time             `json:"notAfter,omitempty"`
	RenewAt   *Time             `json:"renewAt,omitempty"`   // planned renewal; absent for imported certificates
	NextTryAt *Time             `json:"nextTryAt,omitempty"` // of an order, after failures
	Failures  int               `json:"failures"`            // since the last success
	LastError string            `json:"lastError,omitempty"`
	// RateLimitedUntil is when the CA, or the limit of orders of this installation, allows
	// another order.
	RateLimitedUntil *Time `json:"rateLimitedUntil,omitempty"`
	Ordering         bool  `json:"ordering"` // an order is open at the CA
}

// DaysLeft returns the days until the certificate expires, rounded down; negative after
// that. It is 0 without a certificate.
func (c *Certificate) DaysLeft(now time.Time) int {
	if c.NotAfter == nil {
		return 0
	}
	return DaysUntil(c.NotAfter.Std(), now)
}

// DaysUntil returns the days from now until t, rounded down.
func DaysUntil(t, now time.Time) int {
	const day = 24 * time.Hour
	left := t.Sub(now)
	if left < 0 {
		left -= day - 1
	}
	return int(left / day)
}

// CertificateList is the state of all certificates and of the limits of orders.
type CertificateList struct {
	Data       []Certificate `json:"data"`
	OrdersHour int           `json:"ordersHour"` // orders of the last hour
	OrdersDay  int           `json:"ordersDay"`  // orders of the last 24 hours
}

// Limits of orders to a CA, in all: far more than the names of an installation need, and
// far fewer than the limits of Let's Encrypt (300 orders in 3 hours).
const (
	MaxCertificateOrdersHour = 10
	MaxCertificateOrdersDay  = 300
)

// CertificateImport is a certificate to import: PEM, the leaf first.
type CertificateImport struct {
	Chain string `json:"chain" doc:"Certificate chain in PEM, the certificate of the name first"`
	Key   string `json:"key" doc:"Private key of the certificate in PEM"`
}

// EdgeCertificates are the certificates for edges.
type EdgeCertificates struct {
	Certificates []SealedCertificate `json:"certificates"`
}

// SealedCertificate is a name with its certificate. Its key is encrypted under a key that
// is derived from the node token.
type SealedCertificate struct {
	Name  string `json:"name"`
	Chain string `json:"chain,omitempty"` // PEM; empty until the first certificate is issued
	Key   string `json:"key,omitempty"`
}

// CertificateChallenge is the response to a challenge of a CA.
type CertificateChallenge struct {
	KeyAuthorization string `json:"keyAuthorization"` // RFC 8555, 8.1
}

// ValidDNSName reports whether name is a host name in DNS that a certificate can have: lower
// case, without a wildcard or a dot at the end, international names in their ASCII form.
func ValidDNSName(name string) bool {
	if len(name) > 253 || name == "" {
		return false
	}
	letters := false
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			c := label[i]
			switch {
			case 'a' <= c && c <= 'z':
				letters = true
			case '0' <= c && c <= '9', c == '-':
			default:
				return false
			}
		}
	}
	return letters // an IPv4 address has none
}

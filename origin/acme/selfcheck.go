package acme

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/asn1"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/mholt/acmez/v3/acme"

	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/origin/store"
)

const (
	// selfCheckTimeout bounds each of the two requests of a check. A firewall that drops them
	// may be open to the CA all the same.
	selfCheckTimeout = 5 * time.Second * timeout.Scale
	// selfCheckLife is how long the edges answer the challenges of a check.
	selfCheckLife = time.Minute
	// maxSelfCheck bounds a response to it, in bytes; the right one has 37.
	maxSelfCheck = 1 << 10
)

// selfCheck requests two challenges that it has made, as a CA would, before the first order for
// a name: a failed validation counts against the limits of the CA, five an hour at Let's
// Encrypt. It returns an error if another server answers for the name. If nothing answers,
// the name may be reachable from outside only, and the CA decides.
// The suffix of the answer distinguishes it from that to a CA.
func (s *Service) selfCheck(ctx context.Context, name string) error {
	token := rand.Text()
	answer := token + ".self-check"
	if err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		for _, c := range []store.Challenge{{Token: token, Kind: acme.ChallengeTypeHTTP01},
			{Token: rand.Text(), Kind: acme.ChallengeTypeTLSALPN01}} {
			c.Name, c.Answer, c.ExpiresAt = name, answer, time.Now().Add(selfCheckLife)
			if err := tx.PutChallenge(ctx, c); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	other := s.otherServer(ctx, name, token, answer)
	if other == "" || s.answersTLS(ctx, name, answer) {
		return nil
	}
	return fmt.Errorf("no order was made: another server answers for the name at port 80 (%s), and no edge at port "+
		"443; the DNS entry must lead to an edge, with no proxy that ends TLS in between", other)
}

// otherServer requests HTTP-01 (RFC 8555, 8.3) and describes the server that answers if it is
// not an edge of this origin. It returns an empty string if it is one, or nothing answers.
// An error means that nothing is known, and that is no reason to refuse an order.
func (s *Service) otherServer(ctx context.Context, name, token, answer string) string {
	ctx, cancel := context.WithTimeout(ctx, selfCheckTimeout)
	defer cancel()
	// Like a CA, it follows redirects, to servers with any certificate.
	transport := &http.Transport{DialContext: s.cfg.Dial, DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+name+"/.well-known/acme-challenge/"+token,
		nil)
	if err != nil {
		return ""
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxSelfCheck))
	if err != nil || resp.StatusCode == http.StatusOK && string(body) == answer {
		return ""
	}
	return fmt.Sprintf("%.100q, status %d", resp.Header.Get("Server"), resp.StatusCode)
}

// acmeIdentifier is the extension with the digest of the answer (RFC 8737, 6.1).
var acmeIdentifier = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 31}

// answersTLS reports whether an edge of this origin answers TLS-ALPN-01 (RFC 8737, 3).
func (s *Service) answersTLS(ctx context.Context, name, answer string) bool {
	ctx, cancel := context.WithTimeout(ctx, selfCheckTimeout)
	defer cancel()
	nc, err := s.cfg.Dial(ctx, "tcp", net.JoinHostPort(name, "443"))
	if err != nil {
		return false
	}
	defer nc.Close()
	// Certificates of this protocol are signed by the edge itself; the extension is what counts.
	c := tls.Client(nc, &tls.Config{ServerName: name, NextProtos: []string{"acme-tls/1"}, InsecureSkipVerify: true})
	if c.HandshakeContext(ctx) != nil {
		return false
	}
	digest := sha256.Sum256([]byte(answer))
	want, err := asn1.Marshal(digest[:])
	if err != nil {
		return false
	}
	for _, e := range c.ConnectionState().PeerCertificates[0].Extensions {
		if e.Id.Equal(acmeIdentifier) {
			return bytes.Equal(e.Value, want)
		}
	}
	return false
}

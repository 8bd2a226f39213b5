package acme

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/mholt/acmez/v3/acme"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/store"
)

const (
	// challengeLife is how long the answer to a challenge is given. Validation takes seconds.
	challengeLife = time.Hour
	// loadDelay is how long edges take at most to load a new name. An edge that does not serve the name
	// yet lets the validation fail, and the next order is a minute later.
	loadDelay = time.Second
	// processingPause is the pause before the state of an order is read again that the CA
	// is still processing.
	processingPause = 5 * time.Second
	// maxChain bounds a certificate chain in bytes of PEM: four certificates with RSA keys
	// have 8 kB.
	maxChain = 64 << 10

	idPrefix = "ord" // of the ids of orders
)

// place stores an order that finish then makes, unless a limit is reached.
// The order is stored with its key before the request to the CA: a process that stops in between has
// used up one order of the limits, and another finishes it with the same key.
func (s *Service) place(ctx context.Context, c *store.Certificate, o *store.CertificateOrder) (limited bool,
	err error) {
	key, err := newKey()
	if err != nil {
		return false, err
	}
	text, err := encodeKey(key)
	if err != nil {
		return false, err
	}
	now := time.Now()
	*o = store.CertificateOrder{ID: fieldmark.NewID(idPrefix, now), Name: c.Name, Directory: s.cfg.Directory,
		Key: s.cfg.Keyring.Certificate.Seal(c.Name, text), OrderedAt: now}
	until := c.LimitedUntil
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		until = c.LimitedUntil
		// Both are counted in the database, for all origins together. They are far below those of
		// Let's Encrypt, so a defect here never uses up what the CA allows.
		for _, limit := range []struct {
			orders int
			window time.Duration
		}{{fieldmark.MaxCertificateOrdersHour, time.Hour}, {fieldmark.MaxCertificateOrdersDay, 24 * time.Hour}} {
			at, err := tx.OrderTime(ctx, limit.orders)
			if err != nil {
				return err
			}
			if free := at.Add(limit.window); !at.IsZero() && free.After(until) {
				until = free
			}
		}
		if until.After(now) {
			return nil
		}
		return tx.AddOrder(ctx, *o)
	})
	if err != nil {
		return false, err
	}
	if !until.After(now) {
		c.LimitedUntil = time.Time{}
		return false, nil
	}
	s.results[resultLimited].Add(1)
	c.LimitedUntil, c.DueAt = until, until
	s.log.Warn("certificate order postponed by a limit", slog.String("name", c.Name), slog.Time("until", until))
	return true, nil
}

// finish brings an order to its end and puts the certificate into c. It begins where an
// earlier process stopped: every state of an order is the CA's.
// Nothing is kept in memory between two steps, and each may be repeated.
func (s *Service) finish(ctx context.Context, c *store.Certificate, o *store.CertificateOrder) error {
	account, err := s.registered(ctx)
	if err != nil {
		return err
	}
	order := acme.Order{Location: o.URL}
	if o.URL == "" {
		if order, err = s.newOrder(ctx, account, c); err != nil {
			return err
		}
		// Stored at once: an order whose address is lost can only expire, and counts all the same.
		o.URL = order.Location
		if err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			return tx.SetOrderURL(ctx, o.ID, o.URL)
		}); err != nil {
			return err
		}
	} else if order, err = s.client.GetOrder(ctx, account, order); err != nil {
		return fmt.Errorf("read order %s: %w", o.URL, err)
	}
	if order.Status == acme.StatusPending {
		if err := s.authorize(ctx, account, c, &order); err != nil {
			return err
		}
	}
	key, err := s.openKey(o.Name, o.Key)
	if err != nil {
		return err
	}
	// The request has the name as a SAN and no subject; CAs ignore a common name (CA/Browser
	// Forum, Baseline Requirements 7.1.4.3).
	if order.Status == acme.StatusReady {
		csr, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{DNSNames: []string{c.Name}},
			key)
		if err != nil {
			return fmt.Errorf("create the certificate request: %w", err)
		}
		if order, err = s.client.FinalizeOrder(ctx, account, order, csr); err != nil {
			return fmt.Errorf("finalize order %s: %w", o.URL, err)
		}
	}
	switch order.Status {
	case acme.StatusValid:
		return s.download(ctx, account, c, o, order.Certificate)
	// The lease is given back meanwhile, so a slow CA occupies no worker.
	case acme.StatusProcessing:
		c.DueAt = time.Now().Add(processingPause)
		return nil
	case acme.StatusInvalid:
		if order.Error != nil {
			return &rejectedError{error: fmt.Errorf("the CA refused the order: %w", *order.Error)}
		}
		return &rejectedError{error: errors.New("the CA gave the order up")}
	}
	return fmt.Errorf("order %s is %q after its validation", o.URL, order.Status)
}

// newOrder makes an order at the CA. A renewal names the certificate that it replaces, so
// that it does not count against limits (RFC 9773, 5).
func (s *Service) newOrder(ctx context.Context, account acme.Account, c *store.Certificate) (acme.Order, error) {
	request := acme.Order{Identifiers: []acme.Identifier{{Type: "dns", Value: c.Name}}, Profile: s.cfg.Profile}
	if c.Chain != "" && c.Source == fieldmark.CertificateACME {
		if leaf, err := leafOf(c.Chain); err == nil {
			request.Replaces, _ = acme.ARIUniqueIdentifier(leaf) // "" if the CA has no key identifier
		}
	}
	order, err := s.client.NewOrder(ctx, account, request)
	problem, refused := errors.AsType[acme.Problem](err)
	if refused && request.Replaces != "" && problem.Type != acme.ProblemTypeRateLimited {
		// The certificate is of another CA or account, was replaced by an order that was lost, or
		// the CA does not find it. CAs report these by different types, some as internal errors.
		request.Replaces = ""
		order, err = s.client.NewOrder(ctx, account, request)
	}
	if err != nil {
		return order, fmt.Errorf("order a certificate: %w", err)
	}
	return order, nil
}

// authorize answers the challenges of an order, and reads its state after that.
// There is one authorization for each order, as an order has one name. It may be valid already,
// from an order of the last weeks.
func (s *Service) authorize(ctx context.Context, account acme.Account, c *store.Certificate, order *acme.Order) error {
	for _, url := range order.Authorizations {
		authz, err := s.client.GetAuthorization(ctx, account, url)
		if err != nil {
			return fmt.Errorf("read an authorization: %w", err)
		}
		if authz.Status == acme.StatusPending {
			if err := s.answer(ctx, account, c, &authz); err != nil {
				return err
			}
		}
		if authz, err = s.client.PollAuthorization(ctx, account, authz); err != nil {
			if authz.Status == acme.StatusInvalid {
				return &rejectedError{fmt.Errorf("the CA could not verify the name by %s: %w", c.Challenge, err), true}
			}
			return fmt.Errorf("wait for the validation: %w", err)
		}
	}
	var err error
	if *order, err = s.client.GetOrder(ctx, account, *order); err != nil {
		return fmt.Errorf("read order %s: %w", order.Location, err)
	}
	return nil
}

// answer publishes a challenge to the edges and requests its validation by the CA.
// It is stored before the CA is requested to validate, and edges load it on request: the CA may connect to
// any of them within milliseconds.
func (s *Service) answer(ctx context.Context, account acme.Account, c *store.Certificate,
	authz *acme.Authorization) error {
	for _, kind := range []string{c.Challenge, otherKind(c.Challenge)} {
		for _, challenge := range authz.Challenges {
			if challenge.Type != kind {
				continue
			}
			if challenge.Status != acme.StatusPending { // it was initiated before this process stopped
				return nil
			}
			if err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
				return tx.PutChallenge(ctx, store.Challenge{Token: challenge.Token, Name: c.Name, Kind: kind,
					Answer: challenge.KeyAuthorization, ExpiresAt: time.Now().Add(challengeLife)})
			}); err != nil {
				return err
			}
			if len(c.Chain) == 0 {
				if err := timeout.Sleep(ctx, loadDelay); err != nil {
					return err
				}
			}
			if _, err := s.client.InitiateChallenge(ctx, account, challenge); err != nil {
				return fmt.Errorf("start the challenge %s: %w", kind, err)
			}
			return nil
		}
	}
	return &rejectedError{error: errors.New("the CA offers neither tls-alpn-01 nor http-01")}
}

// otherKind returns the kind of challenge that is used when one failed: TLS-ALPN-01 needs only
// the port for https, HTTP-01 only that for http.
// A firewall often blocks one of them only.
func otherKind(kind string) string {
	if kind == acme.ChallengeTypeTLSALPN01 {
		return acme.ChallengeTypeHTTP01
	}
	return acme.ChallengeTypeTLSALPN01
}

// download stores the issued certificate and notifies edges.
// Of several chains the first is taken, which is the one that the CA recommends.
func (s *Service) download(ctx context.Context, account acme.Account, c *store.Certificate, o *store.CertificateOrder,
	url string) error {
	chains, err := s.client.GetCertificateChain(ctx, account, url)
	if err == nil && len(chains) == 0 {
		err = errors.New("the CA sent none")
	}
	if err != nil {
		return fmt.Errorf("download the certificate: %w", err)
	}
	next, err := s.parsePair(c.Name, string(chains[0].ChainPEM), o.Key)
	if err != nil {
		return &rejectedError{error: err}
	}
	next.Source, next.Challenge = fieldmark.CertificateACME, c.Challenge
	next.RenewAt = renewalTime(next.NotBefore, next.NotAfter)
	s.plan(ctx, &next)
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		held, err := tx.UpdateCertificate(ctx, next, s.jobs.Worker())
		if err != nil {
			return err
		}
		if !held {
			return errLeaseLost
		}
		if err := tx.EndOrder(ctx, *o, time.Now(), ""); err != nil {
			return err
		}
		return s.emitChanged(ctx, tx, c.Name)
	})
	if err != nil {
		return err
	}
	s.results[resultIssued].Add(1)
	*c = next
	return nil
}

// errLeaseLost means that another process may be working on the name.
var errLeaseLost = errors.New("the lease was lost; another process continues the order")

// emitChanged adds the event that makes edges load certificates.
func (s *Service) emitChanged(ctx context.Context, tx *store.Tx, name string) error {
	_, err := event.Emit(ctx, tx, "", store.Event{Event: fieldmark.Event{Type: fieldmark.EventCertificateChanged},
		Subject: name}, struct {
		Name string `json:"name"`
	}{name})
	return err
}

// parsePair checks that a chain and a sealed key belong together and to a name.
// It is used for imported pairs as well. What a CA sends is not trusted either: a certificate
// for another name would make every handshake fail.
func (s *Service) parsePair(name, chain, sealed string) (c store.Certificate, err error) {
	key, err := s.cfg.Keyring.Certificate.Open(name, sealed)
	if err != nil {
		return c, fmt.Errorf("open the key of %s: %w", name, err)
	}
	if len(chain) > maxChain {
		return c, fmt.Errorf("the chain has %d bytes, at most %d", len(chain), maxChain)
	}
	pair, err := tls.X509KeyPair([]byte(chain), []byte(key))
	if err != nil {
		return c, err
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return c, err
	}
	if err := leaf.VerifyHostname(name); err != nil {
		return c, err
	}
	return store.Certificate{Name: name, Chain: chain, Key: sealed, NotBefore: leaf.NotBefore,
		NotAfter: leaf.NotAfter}, nil
}

// leafOf parses the first certificate of a chain.
// A chain begins with the certificate of the name (RFC 8555, 9.1).
func leafOf(chain string) (*x509.Certificate, error) {
	block, _ := pem.Decode([]byte(chain))
	if block == nil {
		return nil, errors.New("not a certificate in PEM")
	}
	return x509.ParseCertificate(block.Bytes)
}

// newKey returns a key for a certificate or an account: ECDSA P-256, which every client and
// CA supports.
// Each order has a new one, so a leaked key is of use until the next renewal at most.
func newKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

// encodeKey returns a key as PEM of PKCS #8, the form in which it is sealed and imported.
func encodeKey(key *ecdsa.PrivateKey) (string, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", fmt.Errorf("encode a key: %w", err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), nil
}

// openKey decrypts a key that was sealed for an owner.
// The owner is part of what is authenticated: a sealed key cannot be moved to the row of another
// name.
func (s *Service) openKey(owner, sealed string) (crypto.Signer, error) {
	text, err := s.cfg.Keyring.Certificate.Open(owner, sealed)
	if err != nil {
		return nil, fmt.Errorf("open the key of %s: %w", owner, err)
	}
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, fmt.Errorf("the key of %s is not PEM", owner)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the key of %s: %w", owner, err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("the key of %s cannot sign", owner)
	}
	return signer, nil
}

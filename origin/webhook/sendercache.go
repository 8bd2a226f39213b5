package webhook

import (
	"fmt"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark/origin/store"
)

// maxCachedSenders limits the cached senders. When the cache is full, all are
// dropped and rebuilt on use, which costs some decryption and parsing each.
const maxCachedSenders = 4096

// senderCache caches a Sender for each endpoint until the endpoint changes. A Sender keeps
// decrypted secrets and, with a client certificate, connections; making one for each message
// would cost more than sending it.
type senderCache struct {
	mu  sync.Mutex
	all map[string]cachedSender
}

type cachedSender struct {
	*Sender
	changed time.Time
}

// sender returns the Sender for the current state of an endpoint. ChangedAt identifies the
// state: every change of an endpoint increases it. A Sender in use stays usable after it was
// replaced; its message is signed with the secrets as they were when it was claimed.
func (s *Service) sender(e *store.Endpoint) (*Sender, error) {
	s.senders.mu.Lock()
	defer s.senders.mu.Unlock()
	if kept, ok := s.senders.all[e.ID]; ok {
		if kept.changed.Equal(e.ChangedAt) {
			return kept.Sender, nil
		}
		kept.Close()
	}
	if len(s.senders.all) >= maxCachedSenders {
		for _, kept := range s.senders.all {
			kept.Close()
		}
		clear(s.senders.all)
	}
	o, err := s.newSender(e)
	if err != nil {
		return nil, fmt.Errorf("endpoint %s: %w", e.ID, err)
	}
	s.senders.all[e.ID] = cachedSender{o, e.ChangedAt}
	return o, nil
}

// newSender decrypts the secrets and the credentials of an endpoint. Previous secrets keep signing
// during their overlap period. An error is a bug, or the database was written under another
// application secret.
func (s *Service) newSender(e *store.Endpoint) (*Sender, error) {
	signer := &Signer{}
	add := func(sealed string, until time.Time) error {
		secret, err := s.keyring.WebhookSecret.Open(e.ID, sealed)
		if err != nil {
			return err
		}
		return signer.Add(secret, until)
	}
	if err := add(e.Secret, time.Time{}); err != nil {
		return nil, err
	}
	for _, old := range e.PreviousSecrets {
		if err := add(old.Secret, old.Until.Std()); err != nil {
			return nil, err
		}
	}
	settings, err := s.settings(e)
	if err != nil {
		return nil, err
	}
	return NewSender(SenderConfig{HTTP: httpOf(s, e.Account), URL: e.URL, Settings: settings, Signer: signer})
}

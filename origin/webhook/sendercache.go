package webhook

import (
	"fmt"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark/origin/store"
)

// maxOutlets bounds how many endpoints are kept ready to send to: beyond it all
// are made anew, which costs some decryption and parsing each.
const maxOutlets = 4096

// outlets keeps endpoints ready to send to, until they change.
type outlets struct {
	mu  sync.Mutex
	all map[string]keptOutlet
}

type keptOutlet struct {
	*Outlet
	changed time.Time
}

// outlet returns the way to an endpoint as it is now.
func (s *Service) outlet(e *store.Endpoint) (*Outlet, error) {
	s.outlets.mu.Lock()
	defer s.outlets.mu.Unlock()
	if kept, ok := s.outlets.all[e.ID]; ok {
		if kept.changed.Equal(e.ChangedAt) {
			return kept.Outlet, nil
		}
		kept.Close()
	}
	if len(s.outlets.all) >= maxOutlets {
		for _, kept := range s.outlets.all {
			kept.Close()
		}
		clear(s.outlets.all)
	}
	o, err := s.newOutlet(e)
	if err != nil {
		return nil, fmt.Errorf("endpoint %s: %w", e.ID, err)
	}
	s.outlets.all[e.ID] = keptOutlet{o, e.ChangedAt}
	return o, nil
}

func (s *Service) newOutlet(e *store.Endpoint) (*Outlet, error) {
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
	return NewOutlet(OutletConfig{HTTP: s.http, URL: e.URL, Settings: settings, Signer: signer})
}

package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// credentials are the parts of settings that are stored encrypted.
type credentials struct {
	Headers map[string]string       `json:"headers,omitempty"`
	Auth    *fieldmark.EndpointAuth `json:"auth,omitempty"`
}

// sealSettings sets the settings of an endpoint, with the credentials encrypted.
func (s *Service) sealSettings(e *store.Endpoint, settings fieldmark.EndpointSettings) error {
	e.Credentials = ""
	if len(settings.Headers) > 0 || settings.Auth != nil {
		b, err := json.Marshal(credentials{settings.Headers, settings.Auth})
		if err != nil {
			return fmt.Errorf("write credentials: %w", err)
		}
		e.Credentials = s.keyring.WebhookCredentials.Seal(e.ID, string(b))
	}
	e.EndpointSettings = settings.Shown()
	return nil
}

// settings returns an endpoint's settings with its credentials decrypted.
func (s *Service) settings(e *store.Endpoint) (fieldmark.EndpointSettings, error) {
	full := withDefaults(e.EndpointSettings)
	if e.Credentials == "" {
		return full, nil
	}
	text, err := s.keyring.WebhookCredentials.Open(e.ID, e.Credentials)
	if err != nil {
		return full, err
	}
	var c credentials
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return full, fmt.Errorf("read credentials: %w", err)
	}
	full.Headers, full.Auth = c.Headers, c.Auth
	return full, nil
}

// withDefaults returns settings with defaults for what an endpoint does not set.
func withDefaults(s fieldmark.EndpointSettings) fieldmark.EndpointSettings {
	if s.Payload == "" {
		s.Payload = fieldmark.PayloadFull
	}
	if s.Format == "" {
		s.Format = fieldmark.FormatStandard
	}
	if s.Ordering == "" {
		s.Ordering = fieldmark.OrderingNone
	}
	s.MaxInFlight = maxInFlightOf(&s)
	return s
}

// maxInFlightOf returns the maximum number of messages in flight to an endpoint.
func maxInFlightOf(s *fieldmark.EndpointSettings) int {
	if s.MaxInFlight == 0 {
		return defaultInFlight
	}
	return s.MaxInFlight
}

// checkTokenURL validates the token server's URL of an endpoint, if it has one.
func (s *Service) checkTokenURL(ctx context.Context, account string,
	auth *fieldmark.EndpointAuth) []fieldmark.FieldError {
	if auth == nil || auth.Kind != fieldmark.AuthOAuth2 || auth.TokenURL == "" {
		return nil
	}
	return s.checkURL(ctx, account, "/auth/tokenUrl", auth.TokenURL)
}

// checkSettings returns the errors of settings that need no network, and drops an
// auth of kind none.
func checkSettings(r *fieldmark.EndpointSettings) []fieldmark.FieldError {
	var bad validation.Errors
	if len(r.Headers) > maxHeaders {
		bad.Add("/headers", "too_long", fmt.Sprintf("at most %d header fields", maxHeaders))
	}
	size, seen := 0, map[string]bool{}
	for name, value := range r.Headers {
		at := "/headers/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		if problem := CheckHeader(name, value); problem != "" {
			bad.Add(at, "format", problem)
		}
		if lower := strings.ToLower(name); seen[lower] {
			bad.Add(at, "conflict", "is there twice in other letters")
		} else {
			seen[lower] = true
		}
		size += len(name) + len(value)
	}
	if size > maxHeaderBytes {
		bad.Add("/headers", "too_long", fmt.Sprintf("must have at most %d bytes together", maxHeaderBytes))
	}
	if r.Retry != nil {
		for i, step := range r.Retry.Steps {
			if d := time.Duration(step) * time.Second; step < 0 || d < MinStep || d > MaxStep {
				bad.Add(fmt.Sprintf("/retry/steps/%d", i), "range",
					fmt.Sprintf("must be %v to %v seconds", MinStep.Seconds(), MaxStep.Seconds()))
			}
		}
	}
	if r.Auth != nil {
		if member, problem := CheckAuth(r.Auth); problem != "" {
			bad.Add("/auth/"+member, "format", problem)
		} else if r.Auth.Kind == fieldmark.AuthNone {
			r.Auth = nil
		}
	}
	slices.SortFunc(bad, func(a, b fieldmark.FieldError) int { return strings.Compare(a.Pointer, b.Pointer) })
	return bad
}

package webhook

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// chooseSecret returns the secret of the request after validation, or a new one. It is stored
// encrypted only; the response to the request is the last time that the origin shows it.
func chooseSecret(scheme fieldmark.Signing, own string) (string, []fieldmark.FieldError) {
	if scheme != fieldmark.SigningV1 && scheme != fieldmark.SigningV1a {
		return "", []fieldmark.FieldError{{Pointer: "/signing", Code: "enum", Detail: "must be v1 or v1a"}}
	}
	if own != "" {
		if err := CheckSecret(scheme, own); err != nil {
			return "", []fieldmark.FieldError{{Pointer: "/secret", Code: "format", Detail: err.Error()}}
		}
		return own, nil
	}
	secret, err := NewSecret(scheme, rand.Reader)
	if err != nil {
		panic("BUG: crypto/rand never fails: " + err.Error())
	}
	return secret, nil
}

// sealSecret sets the current secret of an endpoint. The id of the endpoint is authenticated
// with it: a copied row does not decrypt under another id.
func (s *Service) sealSecret(e *store.Endpoint, secret string) {
	e.Secret = s.keyring.WebhookSecret.Seal(e.ID, secret)
	e.Signing = fieldmark.SigningV1
	e.PublicKey = ""
	if public, _, ok := PublicKey(secret); ok {
		e.Signing, e.PublicKey = fieldmark.SigningV1a, public
	}
}

// RotateSecret gives an endpoint a new secret. The previous one keeps signing during the overlap
// period, so that the receiver can switch without losing a message. Without an overlap all previous secrets end
// at once. At most MaxKeys secrets are live at a time, because each adds a signature to every
// message.
func (s *Service) RotateSecret(ctx context.Context, account, id string,
	r fieldmark.SecretRequest) (fieldmark.NewEndpoint, error) {
	var none fieldmark.NewEndpoint
	overlap := defaultOverlap
	set(&overlap, r.OverlapHours)
	var secret string
	row, err := s.changeEndpoint(ctx, "webhook.secret_rotated", account, id,
		func(_ context.Context, _ *store.Tx, row *store.Endpoint) error {
			scheme := cmp.Or(r.Signing, signingOf(row))
			var bad validation.Errors
			if secret, bad = chooseSecret(scheme, r.Secret); overlap < 0 || overlap > maxOverlap {
				bad.Add("/overlapHours", "range", fmt.Sprintf("must be 0 to %d", maxOverlap))
			}
			if err := validation.Errors(bad).Err(); err != nil {
				return err
			}
			until := fieldmark.At(row.ChangedAt.Add(time.Duration(overlap) * time.Hour))
			live := []store.PreviousSecret{{Secret: row.Secret, Until: until}}
			for _, old := range row.PreviousSecrets {
				if old.Until.Std().After(row.ChangedAt) {
					live = append(live, old)
				}
			}
			row.PreviousSecrets = slices.DeleteFunc(live,
				func(o store.PreviousSecret) bool { return !o.Until.Std().After(row.ChangedAt) })
			if len(row.PreviousSecrets) >= MaxKeys {
				return fieldmark.Errorf(fieldmark.CodeValidationFailed,
					"%d secrets are live already; wait until the oldest ends, or rotate with overlapHours 0", MaxKeys)
			}
			if overlap == 0 {
				row.PreviousSecrets = nil // the old ones end too: this is how to respond to a leak
			}
			s.sealSecret(row, secret)
			return nil
		})
	if err != nil {
		return none, err
	}
	return s.newEndpoint(&row, secret)
}

// signingOf returns the scheme of an endpoint's current secret.
func signingOf(e *store.Endpoint) fieldmark.Signing {
	if e.PublicKey != "" {
		return fieldmark.SigningV1a
	}
	return fieldmark.SigningV1
}

// PublicKeys returns the key set of an endpoint. It needs no authentication but the id. It is
// empty if the secret is shared. Previous keys stay in the set during the overlap period, so
// that a receiver that caches the set verifies every message.
func (s *Service) PublicKeys(ctx context.Context, id string) (fieldmark.KeySet, error) {
	set := fieldmark.KeySet{Keys: []fieldmark.PublicJWK{}}
	row, err := s.store.Endpoint(ctx, id, time.Now())
	if err := of(&row, "", err); err != nil {
		return set, err
	}
	sealed := []string{row.Secret}
	for _, old := range row.PreviousSecrets {
		if old.Until.Std().After(time.Now()) {
			sealed = append(sealed, old.Secret)
		}
	}
	for i, one := range sealed {
		secret, err := s.keyring.WebhookSecret.Open(row.ID, one)
		if err != nil {
			return set, err
		}
		if _, jwk, ok := PublicKey(secret); ok {
			jwk.ID = fmt.Sprintf("%s.%d", row.ID, len(sealed)-i)
			set.Keys = append(set.Keys, jwk)
		}
	}
	return set, nil
}

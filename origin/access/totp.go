package access

import (
	"context"
	"crypto/subtle"
	"fmt"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/totp"

	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// Parameters of TOTP codes (RFC 6238): six digits that change every 30 seconds. The
// clock of the phone may be one step off either way.
const (
	totpIssuer = "Fieldmark"
	totpStep   = 30 // seconds
	totpSkew   = 1  // steps
)

// TOTP is the secret for two-factor authentication with an authenticator app.
type TOTP struct {
	Secret string // base 32
	URI    string // otpauth://totp/…, for a QR code
}

// NewTOTP returns a random secret for a user. It is not stored: SetTOTP does that once
// the user has entered a code.
func NewTOTP(user string) (TOTP, error) {
	k, err := totp.Generate(totp.GenerateOpts{Issuer: totpIssuer, AccountName: user, Period: totpStep,
		Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1})
	if err != nil {
		return TOTP{}, fmt.Errorf("generate a second factor: %w", err)
	}
	return TOTP{Secret: k.Secret(), URI: k.URL()}, nil
}

// matchStep returns the time step of a code, or 0 if it is wrong. It compares all
// steps, so that timing reveals nothing.
func matchStep(secret, code string, now time.Time) (step int64, err error) {
	for skew := -totpSkew; skew <= totpSkew; skew++ {
		at := now.Add(time.Duration(skew) * totpStep * time.Second)
		want, err := totp.GenerateCodeCustom(secret, at,
			totp.ValidateOpts{Period: totpStep, Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1})
		if err != nil {
			return 0, fmt.Errorf("compute a code: %w", err)
		}
		if subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 {
			step = at.Unix() / totpStep
		}
	}
	return step, nil
}

// checkCode returns the time step of an administrator's code, or 0 if it is wrong or was used
// before. The step is stored when the code is consumed, so a code that was observed cannot be
// used again (RFC 6238, section 5.2).
func (s *Sessions) checkCode(a store.Admin, code string, now time.Time) (int64, error) {
	secret, err := s.totp.Open(a.Name, a.TOTP)
	if err != nil {
		return 0, err
	}
	step, err := matchStep(secret, code, now)
	if step <= a.TOTPStep {
		return 0, err
	}
	return step, err
}

// SetTOTP enables two-factor authentication for a user. The code proves that an authenticator
// app has the secret. An empty secret disables it. The caller has checked that the user
// authenticated recently. The secret is stored encrypted.
func (s *Admins) SetTOTP(ctx context.Context, user, secret, code string) error {
	act, sealed, step := "two_factor.off", "", int64(0)
	if secret != "" {
		var err error
		if step, err = matchStep(secret, code, time.Now()); err != nil || step == 0 {
			return validation.Error("/code", "conflict", "is not the code that the app shows now")
		}
		act, sealed = "two_factor.on", s.totp.Seal(user, secret)
	}
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.PutTOTP(ctx, user, sealed, step); err != nil {
			return store.NotFound(err, "there is no such administrator")
		}
		return s.auditLog.Append(ctx, tx, act, user, nil, nil)
	})
}

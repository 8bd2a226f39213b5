package access

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/argon2"

	"github.com/fieldmark/fieldmark"
)

// The cost of a password hash: OWASP's first choice for argon2id, about a tenth
// of a second here. Hashes with other numbers are still read, and made anew at
// the next sign-in.
const (
	argonMemory  = 19 << 10 // KiB
	argonTime    = 2
	argonThreads = 1
	argonSalt    = 16 // bytes
	argonKey     = 32 // bytes
)

// maxArgonMemory bounds what a stored hash may ask for, in KiB: a damaged row
// must not take the machine down.
const maxArgonMemory = 1 << 20

// dummyHash is compared for users that do not exist, so that they take as long
// as those who do. No password is known to have it.
const dummyHash = "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

// hashPassword returns a password as a PHC string.
func hashPassword(password string) string {
	salt := make([]byte, argonSalt)
	rand.Read(salt) // never fails (crypto/rand)
	key := argon2.IDKey([]byte(password), salt, argonTime, argonMemory, argonThreads, argonKey)
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonThreads,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(key))
}

// checkPassword reports whether a password has a hash, and whether the hash
// should be made anew because its cost is not today's.
func checkPassword(hash, password string) (right, outdated bool, err error) {
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" {
		return false, false, errors.New("a kept password is no argon2id hash")
	}
	var version int
	var memory, passes uint32
	var threads uint8
	if _, err := fmt.Sscanf(parts[2], "v=%d", &version); err != nil || version != argon2.Version {
		return false, false, errors.New("a kept password has an unknown version of argon2")
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &memory, &passes, &threads); err != nil ||
		memory > maxArgonMemory || passes == 0 || threads == 0 {
		return false, false, errors.New("a kept password has unreadable costs")
	}
	salt, err1 := base64.RawStdEncoding.DecodeString(parts[4])
	want, err2 := base64.RawStdEncoding.DecodeString(parts[5])
	if err1 != nil || err2 != nil || len(want) == 0 {
		return false, false, errors.New("a kept password has an unreadable salt or key")
	}
	got := argon2.IDKey([]byte(password), salt, passes, memory, threads, uint32(len(want)))
	outdated = memory != argonMemory || passes != argonTime || threads != argonThreads
	return subtle.ConstantTimeCompare(got, want) == 1, outdated, nil
}

// Limits of hashing passwords.
const (
	maxHashing   = 2  // at once: each takes 19 MiB and a processor
	maxHashQueue = 32 // sign-ins that may wait; more are refused
)

// hasher limits how many passwords are hashed at once.
type hasher struct {
	running chan struct{} // holds one value per password that is being hashed
	queued  chan struct{} // and one per password that is hashed or waits
}

func newHasher() *hasher {
	return &hasher{running: make(chan struct{}, maxHashing), queued: make(chan struct{}, maxHashQueue)}
}

// acquire waits until a password may be hashed; release must follow.
func (h *hasher) acquire(ctx context.Context) error {
	select {
	case h.queued <- struct{}{}:
	default:
		e := fieldmark.Errorf(fieldmark.CodeOverloaded, "too many people sign in at once")
		e.RetryAfter = time.Second
		return e
	}
	select {
	case h.running <- struct{}{}:
		return nil
	case <-ctx.Done():
		<-h.queued
		return fmt.Errorf("wait to hash a password: %w", ctx.Err())
	}
}

func (h *hasher) release() { <-h.running; <-h.queued }

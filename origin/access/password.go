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
// of a second here. Hashes with other parameters still work, and are replaced at the
// next sign-in.
const (
	argonMemory  = 19 << 10 // KiB
	argonTime    = 2
	argonThreads = 1
	argonSalt    = 16 // bytes
	argonKey     = 32 // bytes
)

// maxArgonMemory limits the memory parameter of a stored hash, in KiB: a damaged row
// must not exhaust the memory of the machine.
const maxArgonMemory = 1 << 20

// dummyHash is compared for unknown users, so that the response takes as long as for
// known ones. No password is known to have it.
const dummyHash = "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

// hashPassword returns the hash of a password as a PHC string. It takes the time and the memory
// above; the caller holds the hasher.
func hashPassword(password string) string {
	salt := make([]byte, argonSalt)
	rand.Read(salt) // never fails (crypto/rand)
	key := argon2.IDKey([]byte(password), salt, argonTime, argonMemory, argonThreads, argonKey)
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonThreads,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(key))
}

// checkPassword reports whether a password has a hash, and whether the hash is outdated because
// its parameters are not the current ones. The comparison takes the same time whatever differs.
// An error is a damaged row, not a wrong password.
func checkPassword(hash, password string) (ok, outdated bool, err error) {
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" {
		return false, false, errors.New("a stored password is not an argon2id hash")
	}
	var version int
	var memory, passes uint32
	var threads uint8
	if _, err := fmt.Sscanf(parts[2], "v=%d", &version); err != nil || version != argon2.Version {
		return false, false, errors.New("a stored password has an unknown version of argon2")
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &memory, &passes, &threads); err != nil ||
		memory > maxArgonMemory || passes == 0 || threads == 0 {
		return false, false, errors.New("a stored password has invalid parameters")
	}
	salt, err1 := base64.RawStdEncoding.DecodeString(parts[4])
	want, err2 := base64.RawStdEncoding.DecodeString(parts[5])
	if err1 != nil || err2 != nil || len(want) == 0 {
		return false, false, errors.New("a stored password has an invalid salt or key")
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

// hasher limits how many passwords are hashed at once. Without it, a flood of sign-ins would
// take the memory and the processors from all other requests.
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

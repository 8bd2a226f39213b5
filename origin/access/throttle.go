package access

import (
	"context"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/keyring"
	"github.com/fieldmark/fieldmark/origin/store"
)

// The delays after failed sign-ins: 1 s, 2 s, 4 s and so on. There is a longest
// one, because a permanent lock would let anybody lock anybody out.
const (
	minDelay = time.Second
	maxDelay = 15 * time.Minute
	// throttleReset is how long after the end of a delay a failure counts as the
	// first again. Rows are pruned then, so the table holds no more failures than
	// fit into an hour and a quarter; each costs the hash of a password, of which
	// an origin makes maxHashing at once.
	throttleReset = time.Hour
)

// throttle delays sign-ins after failed ones.
type throttle struct {
	store    *store.Store
	auditLog *auditlog.Log
	mac      keyring.MAC
}

// names returns the names a sign-in's failures are counted under: the
// user's, whether there is one or not, and the network's if it is known. The
// counts are in the database, so all origins share them.
func (t *throttle) names(user string, by Caller) []string {
	var names []string
	if user != "" {
		names = append(names, t.name("user", user))
	}
	if network := networkOf(by.Addr); network != "" {
		names = append(names, t.name("network", network))
	}
	return names
}

// name hides what was typed as a user's name: it may be a password.
func (t *throttle) name(kind, name string) string {
	return t.mac.Sum(kind + " " + name)
}

// check refuses a sign-in that comes too early for any of its names.
func (t *throttle) check(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	until, err := t.store.LoginDelay(ctx, names[0], names[len(names)-1])
	if err != nil {
		return err
	}
	wait := time.Until(until)
	if wait <= 0 {
		return nil
	}
	e := fieldmark.Errorf(fieldmark.CodeRateLimited, "too many failed tries; wait a little")
	e.RetryAfter = wait
	return e
}

// recordFailure counts a failed sign-in under its names and writes it into the
// audit log. A user's name that does not exist may be a password in the wrong
// field, so it is not stored. A caller who breaks off does not avoid the delay.
func (t *throttle) recordFailure(ctx context.Context, c Credentials, known bool, names []string) error {
	user := c.User
	if !known {
		user = "(unknown)"
	}
	ctx = auditlog.WithActor(context.WithoutCancel(ctx), auditlog.Actor{Kind: fieldmark.ActorPerson, Name: user, Address: addressOf(c.Caller), Agent: c.Caller.Agent})
	return t.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		now := time.Now()
		for _, name := range names {
			l, err := tx.LoginThrottle(ctx, name)
			if err != nil {
				return err
			}
			if err := tx.PutLoginThrottle(ctx, addFailure(l, now)); err != nil {
				return err
			}
		}
		return t.auditLog.Append(ctx, tx, "session.refused", user, nil, nil)
	})
}

// addFailure adds a failure.
func addFailure(l store.LoginThrottle, now time.Time) store.LoginThrottle {
	if now.Sub(l.Until) > throttleReset {
		l.Failures = 0
	}
	wait := maxDelay
	if l.Failures < 10 { // 2^10 s is past the longest
		wait = min(minDelay<<l.Failures, maxDelay)
	}
	l.Failures++
	l.Until = now.Add(wait)
	return l
}

package access

import (
	"context"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/keyring"
	"github.com/fieldmark/fieldmark/origin/store"
)

// The delays after failed sign-ins double: 1 s, 2 s, 4 s and so on up to a maximum. A
// permanent lock would let an attacker lock out every administrator.
const (
	minDelay = time.Second
	maxDelay = 15 * time.Minute
	// throttleReset is how long after the end of a delay the next failure counts as the
	// first again. Rows are pruned then, so the table holds at most the failures of 75
	// minutes; each costs an attacker the time of hashing a password, of which an
	// origin runs maxHashing at once.
	throttleReset = time.Hour
)

// throttle delays sign-ins after failed ones. Counts are kept by user and by network: one
// bounds the guesses of many computers at one user, the other those of one computer at many
// users.
type throttle struct {
	store    *store.Store
	auditLog *auditlog.Log
	mac      keyring.MAC
}

// names returns the keys under which the failures of a sign-in are counted: one of the
// user, whether or not it exists, and one of the network if it is known. The counts
// are in the database, which all origins share.
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

// name returns a MAC of the name: a password may have been typed into the field of the
// user name.
func (t *throttle) name(kind, name string) string {
	return t.mac.Sum(kind + " " + name)
}

// check returns CodeRateLimited before the delay of any of the names has passed. The longest
// delay counts.
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
	e := fieldmark.Errorf(fieldmark.CodeRateLimited, "too many failed attempts; try again later")
	e.RetryAfter = wait
	return e
}

// recordFailure counts a failed sign-in under its names and adds it to the audit log.
// An unknown user name may be a password in the wrong field, so it is not stored. A
// caller that closes the connection does not avoid the delay.
func (t *throttle) recordFailure(ctx context.Context, c Credentials, known bool, names []string) error {
	user := c.User
	if !known {
		user = "(unknown)"
	}
	ctx = auditlog.WithActor(context.WithoutCancel(ctx),
		auditlog.Actor{Kind: fieldmark.ActorPerson, Name: user, Address: c.Caller.Address(), Agent: c.Caller.Agent})
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

// addFailure returns a throttle after one more failure.
func addFailure(l store.LoginThrottle, now time.Time) store.LoginThrottle {
	if now.Sub(l.Until) > throttleReset {
		l.Failures = 0
	}
	wait := maxDelay
	if l.Failures < 10 { // 2^10 s is above the maximum
		wait = min(minDelay<<l.Failures, maxDelay)
	}
	l.Failures++
	l.Until = now.Add(wait)
	return l
}

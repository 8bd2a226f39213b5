package botauth

import (
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
)

// The life of a key. Verifiers cache the key directory, some for a day and more, so a key is
// published before its first use and after its last.
const (
	useFor        = 90 * 24 * time.Hour
	publishBefore = 48 * time.Hour
	publishAfter  = 7 * 24 * time.Hour
)

// plan is what the schedule demands now.
type plan struct {
	add     bool      // a new key
	useFrom time.Time // of the new key
	remove  []string  // ids of the keys that leave the directory
}

// newPlan returns the plan for keys, oldest first.
func newPlan(keys []store.SigningKey, now time.Time) (p plan) {
	for i := range keys {
		if !expiry(keys, i).After(now) && i < len(keys)-1 {
			p.remove = append(p.remove, keys[i].ID)
		}
	}
	switch n := len(keys); {
	case n == 0, !expiry(keys, n-1).After(now):
		// There is no cached directory without this key, or the origin did not run for
		// months and verifiers refuse the last key: there is nothing to wait for.
		p.add, p.useFrom = true, now
	case !keys[n-1].UseFrom.Add(useFor - publishBefore).After(now):
		p.add, p.useFrom = true, now.Add(publishBefore)
	}
	return p
}

// expiry returns when the key with an index leaves the directory: some time after its last
// use, which its successor ends.
func expiry(keys []store.SigningKey, i int) time.Time {
	if i < len(keys)-1 {
		return keys[i+1].UseFrom.Add(publishAfter)
	}
	return keys[i].UseFrom.Add(useFor + publishAfter)
}

// current returns the index of the key in use, or -1.
func current(keys []store.SigningKey, now time.Time) int {
	for i := len(keys) - 1; i >= 0; i-- {
		if !keys[i].UseFrom.After(now) {
			return i
		}
	}
	return -1
}

// describe returns keys as administrators see them.
func describe(keys []store.SigningKey, now time.Time) []fieldmark.SigningKey {
	list := make([]fieldmark.SigningKey, len(keys))
	active := current(keys, now)
	for i, k := range keys {
		d := fieldmark.SigningKey{ID: k.ID, PublicKey: k.PublicKey, State: fieldmark.SigningKeyActive,
			CreatedAt: fieldmark.At(k.CreatedAt), UseFrom: fieldmark.At(k.UseFrom),
			ExpiresAt: fieldmark.At(expiry(keys, i))}
		if i < len(keys)-1 {
			d.UseUntil = new(fieldmark.At(keys[i+1].UseFrom))
		}
		switch {
		case i > active:
			d.State = fieldmark.SigningKeyNext
		case i < active:
			d.State = fieldmark.SigningKeyPrevious
		}
		list[i] = d
	}
	return list
}

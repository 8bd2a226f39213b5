package brand

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// MaxAliases limits the aliases of one brand, because every edge stores all of them.
const MaxAliases = 20

// requireFree returns CodeBrandExists if a slug is a brand or an alias.
// It must run in the transaction that takes the slug.
// A slug is a brand or an alias, never both: otherwise one of the two could not be reached.
func requireFree(ctx context.Context, tx *store.Tx, slug fieldmark.Slug) error {
	switch taken, err := tx.HasBrand(ctx, slug); {
	case err != nil:
		return err
	case taken:
		return fieldmark.Errorf(fieldmark.CodeBrandExists, "another brand has the slug %s", slug)
	}
	// The error names the brand, so an administrator finds the alias to remove.
	switch to, err := tx.ResolveAlias(ctx, slug); {
	case err == nil:
		return fieldmark.Errorf(fieldmark.CodeBrandExists, "the slug %s leads to %s; remove that alias first", slug, to)
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	return nil
}

// Rename changes the slug of a brand. The old slug becomes an alias.
// Links to the old slug keep working: edges redirect them.
func (s *Service) Rename(ctx context.Context, from, to fieldmark.Slug) (fieldmark.Brand, error) {
	var b fieldmark.Brand
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		old, err := tx.Brand(ctx, from)
		if err != nil {
			return store.NotFound(err, "there is no such brand")
		}
		if b = old.Brand; from == to {
			return nil
		}
		if _, err := tx.DeleteAlias(ctx, to, from); err != nil { // an earlier slug of this brand is free
			return err
		}
		if err := requireFree(ctx, tx, to); err != nil {
			return err
		}
		now := fieldmark.At(time.Now())
		if err := tx.RenameBrand(ctx, from, to, now); err != nil {
			return err
		}
		if err := tx.PutAlias(ctx, from, to, now); err != nil {
			return err
		}
		// Edges hold answers under each of these slugs; the event makes them drop all.
		aliases, err := tx.Aliases(ctx, to) // the old slug and its aliases
		if err != nil {
			return err
		}
		b.Slug, b.UpdatedAt = to, now
		return s.emitForSlugs(ctx, tx, fieldmark.EventBrandChanged, to, aliases, b)
	})
	if err != nil {
		return fieldmark.Brand{}, fmt.Errorf("rename brand %s: %w", from, err)
	}
	return b, nil
}

// emitForSlugs emits an event of a brand that invalidates other slugs as well.
// The event is one, so edges change all slugs at the same moment.
func (s *Service) emitForSlugs(ctx context.Context, tx *store.Tx, kind fieldmark.EventType, slug fieldmark.Slug,
	also []fieldmark.Slug, data any) error {
	e := newEvent(kind, slug)
	for _, other := range also {
		e.Tags = append(e.Tags, fieldmark.TagBrand(other))
	}
	_, err := event.Emit(ctx, tx, "", e, data)
	return err
}

// SetAliases replaces the aliases of a brand: slugs that lead to it.
// Those that it had and are not in the list are removed. The result is sorted, without
// duplicates.
func (s *Service) SetAliases(ctx context.Context, slug fieldmark.Slug, aliases []fieldmark.Slug) (
	set []fieldmark.Slug, err error) {
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		set, err = s.setAliases(ctx, tx, slug, aliases)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("set the aliases of %s: %w", slug, err)
	}
	return set, nil
}

// setAliases changes only what differs, so that a repeated call emits nothing.
func (s *Service) setAliases(ctx context.Context, tx *store.Tx, slug fieldmark.Slug, aliases []fieldmark.Slug) (
	[]fieldmark.Slug, error) {
	aliases = slices.Compact(slices.Sorted(slices.Values(aliases)))
	var bad validation.Errors
	if len(aliases) > MaxAliases {
		bad.Add("/aliases", "too_long", fmt.Sprintf("must be at most %d", MaxAliases))
	}
	for i, a := range aliases {
		if !fieldmark.ValidSlug(string(a)) || a == slug {
			bad.Add(fmt.Sprintf("/aliases/%d", i), "pattern", "must be a slug other than the brand's own")
		}
	}
	if err := bad.Err(); err != nil {
		// All errors of the list are reported at once, before the first change.
		return nil, err
	}
	b, err := tx.Brand(ctx, slug)
	if err != nil {
		return nil, store.NotFound(err, "there is no such brand")
	}
	old, err := tx.Aliases(ctx, slug)
	if err != nil {
		return nil, err
	}
	var moved []fieldmark.Slug
	for _, a := range old {
		if !slices.Contains(aliases, a) {
			if _, err := tx.DeleteAlias(ctx, a, slug); err != nil {
				return nil, err
			}
			moved = append(moved, a)
		}
	}
	for _, a := range aliases {
		if slices.Contains(old, a) {
			continue
		}
		if err := requireFree(ctx, tx, a); err != nil {
			return nil, err
		}
		if err := tx.PutAlias(ctx, a, slug, fieldmark.At(time.Now())); err != nil {
			return nil, err
		}
		moved = append(moved, a)
	}
	if len(moved) == 0 {
		return aliases, nil
	}
	return aliases, s.emitForSlugs(ctx, tx, fieldmark.EventBrandChanged, slug, moved, b.Brand)
}

// Aliases returns the aliases of a brand.
func (s *Service) Aliases(ctx context.Context, slug fieldmark.Slug) ([]fieldmark.Slug, error) {
	if _, err := s.Get(ctx, slug); err != nil {
		return nil, err
	}
	return s.store.Aliases(ctx, slug)
}

// removedData is the data of a brand.removed event.
// It has no more than the slug: the brand is gone when the event is read.
type removedData struct {
	Slug fieldmark.Slug `json:"slug"`
}

// Delete deletes a brand with its facts, history and samples, and its claims with their keys. Edges
// delete what they hold of it when they receive the event.
// It cannot be undone; the audit log keeps what the brand was.
func (s *Service) Delete(ctx context.Context, slug fieldmark.Slug) error {
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		before, err := tx.Brand(ctx, slug)
		if err != nil {
			return store.NotFound(err, "there is no such brand")
		}
		aliases, err := tx.Aliases(ctx, slug)
		if err != nil {
			return err
		}
		accounts, err := tx.ClaimAccounts(ctx, slug)
		if err != nil {
			return err
		}
		// The account of a claim exists to manage this brand; its keys must not outlive it.
		for _, account := range accounts {
			if err := s.revokeKeys(ctx, tx, account, "brand deleted"); err != nil {
				return err
			}
		}
		if err := tx.DeleteBrand(ctx, slug); err != nil {
			return err
		}
		if err := s.emitForSlugs(ctx, tx, fieldmark.EventBrandRemoved, slug, aliases, removedData{slug}); err != nil {
			return err
		}
		return s.auditLog.Append(ctx, tx, "brand.removed", string(slug), before.Brand, nil)
	})
	if err != nil {
		return fmt.Errorf("delete brand %s: %w", slug, err)
	}
	return nil
}

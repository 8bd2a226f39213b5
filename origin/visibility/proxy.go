package visibility

import (
	"context"
	"errors"
	"fmt"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// PutProxy replaces the values of a proxy variable of popularity, and has the validity computed again. It is taken
// whole or refused; brands that are not in the registry are left out with a warning.
func (s *Service) PutProxy(ctx context.Context, name fieldmark.Slug, v fieldmark.ProxyVariable) (
	report fieldmark.VisibilityImport, err error) {
	var bad validation.Errors
	if len(v.Values) > fieldmark.MaxProxyValues {
		bad.Add("/values", "too_long", fmt.Sprintf("at most %d brands", fieldmark.MaxProxyValues))
		return report, bad.Err()
	}
	values := map[fieldmark.Slug]int64{}
	for i, row := range v.Values {
		at := fmt.Sprintf("/values/%d", i)
		if row.Value < 0 || row.Value > fieldmark.MaxProxyValue {
			bad.Add(at+"/value", "range", fmt.Sprintf("must be 0 to %d", int64(fieldmark.MaxProxyValue)))
		}
		slug, err := s.present(ctx, row.Brand)
		if errors.Is(err, store.ErrNotFound) {
			report.Warnings = append(report.Warnings, fieldmark.FieldError{Pointer: at + "/brand", Code: "not_found",
				Detail: fmt.Sprintf("no brand has the slug %q; its value is left out", row.Brand)})
			continue
		}
		if err != nil {
			return report, err
		}
		// A slug and an alias may name the same brand.
		if _, twice := values[slug]; twice {
			bad.Add(at+"/brand", "conflict", "the brand has another value above")
		}
		values[slug] = row.Value
	}
	if err := bad.Err(); err != nil {
		return fieldmark.VisibilityImport{}, err
	}
	report.Added = len(values)
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		n, err := tx.CountProxyVariables(ctx, string(name))
		if err != nil {
			return err
		}
		// Without values the variable is deleted, which the limit must not prevent.
		if n >= fieldmark.MaxProxies && len(values) > 0 {
			return fieldmark.Errorf(fieldmark.CodeTooMany, "there are at most %d proxy variables", fieldmark.MaxProxies)
		}
		if err := tx.PutProxyVariable(ctx, string(name), values); err != nil {
			return err
		}
		// A brand that was deleted or renamed since it was looked up would leave a value that nothing deletes.
		n, err = tx.CountUnknownProxied(ctx, string(name))
		if err == nil && n > 0 {
			err = fieldmark.Errorf(fieldmark.CodeVersionMismatch, "brands changed meanwhile; repeat the import")
		}
		return err
	})
	if err == nil {
		s.computeSoon()
	}
	return report, err
}

// present returns the present slug of a brand; the error is store.ErrNotFound if no brand has it.
func (s *Service) present(ctx context.Context, slug fieldmark.Slug) (fieldmark.Slug, error) {
	// A file may have the slug from before a brand was renamed.
	if now, err := s.store.ResolveAlias(ctx, slug); err == nil {
		slug = now
	}
	_, err := s.store.Brand(ctx, slug)
	return slug, err
}

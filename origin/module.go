package origin

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
)

// maxModuleName bounds a module's name and version, in code points.
const maxModuleName = 100

// ActiveModule names the module that scores now.
func (s *Service) ActiveModule(ctx context.Context) (fieldmark.ModuleRef, error) {
	ref, err := s.store.ActiveModule(ctx)
	return ref, missing(err, "no scoring module is active")
}

// Module returns the bytes of a module that is or was active.
func (s *Service) Module(ctx context.Context, d fieldmark.Digest) ([]byte, error) {
	body, err := s.store.Module(ctx, d)
	return body, missing(err, "there is no module with this digest")
}

// ActivateModule puts a module in force. Bytes may be nil for one that was active
// before. A module that is in force stays so without an event.
func (s *Service) ActivateModule(ctx context.Context, ref fieldmark.ModuleRef, bytes []byte) error {
	if bytes != nil {
		if err := invalid(checkModule(ref, bytes)); err != nil {
			return err
		}
	}
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		active, err := tx.ActiveModule(ctx)
		if err != nil && !errors.Is(err, store.ErrNone) {
			return err
		}
		if err == nil && active.Digest == ref.Digest {
			return nil
		}
		if bytes != nil {
			if err := tx.PutModule(ctx, ref, bytes, fieldmark.At(time.Now())); err != nil {
				return err
			}
		}
		kept, err := tx.ModuleRef(ctx, ref.Digest)
		if err != nil {
			return missing(err, "there is no module with this digest")
		}
		e := store.Event{
			Event:   fieldmark.Event{Type: fieldmark.EventModuleActivated, Tags: []fieldmark.Tag{fieldmark.TagModule}},
			Subject: string(kept.Digest),
		}
		number, err := s.tell(ctx, tx, "", e, kept)
		if err != nil {
			return err
		}
		return tx.ActivateModule(ctx, kept.Digest, number)
	})
	if err != nil {
		return fmt.Errorf("activate module %s: %w", ref.Digest, err)
	}
	return nil
}

// checkModule holds a module to its name. What the bytes do is for package wasm
// to judge, before.
func checkModule(ref fieldmark.ModuleRef, bytes []byte) []fieldmark.FieldError {
	var bad complaints
	for _, f := range []struct{ pointer, text string }{{"/name", ref.Name}, {"/version", ref.Version}} {
		if n := utf8.RuneCountInString(f.text); n == 0 || n > maxModuleName || !plain(f.text, false) {
			bad.add(f.pointer, "range", fmt.Sprintf("must have 1 to %d characters", maxModuleName))
		}
	}
	if len(bytes) == 0 || len(bytes) > fieldmark.MaxModule {
		bad.add("/bytes", "too_long", fmt.Sprintf("must be 1 to %d bytes", fieldmark.MaxModule))
	}
	if fieldmark.DigestOf(sha256.Sum256(bytes)) != ref.Digest {
		bad.add("/digest", "conflict", "is not the digest of the bytes")
	}
	return bad
}

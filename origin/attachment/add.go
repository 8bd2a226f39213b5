package attachment

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/idempotency"
	"github.com/fieldmark/fieldmark/origin/objects"
	"github.com/fieldmark/fieldmark/origin/store"
)

// Upload is a file to add to a mission.
type Upload struct {
	Account     string // of the mission; "": any
	Mission     string
	Author      fieldmark.NoteAuthor
	ContentType string           // one of Types, which the content must be of
	Name        string           // of the file; may be empty
	Digest      fieldmark.Digest // that the content must have; "": any
	Body        io.Reader        // read at most one byte beyond fieldmark.MaxAttachment
}

// limit returns how many bytes the file may have.
func (u *Upload) limit() int64 {
	if fieldmark.IsTestAccount(u.Account) {
		return fieldmark.TestAttachmentSize
	}
	return fieldmark.MaxAttachment
}

// Render returns the response to a request that added an attachment. It must be a pure function:
// it is called in the transaction, which may run twice.
type Render func(fieldmark.Attachment) (idempotency.Response, error)

// Add adds a file to a mission, in any status. The content must be of its type and have its
// digest, or nothing is kept: CodeUnsupportedMediaType, CodeDigestMismatch. Beyond
// fieldmark.MaxAttachment it is CodeAttachmentTooLarge, and beyond the limits of a mission
// CodeTooMany. An attachment changes neither the version nor updatedAt of the mission.
func (s *Service) Add(ctx context.Context, u Upload) (a fieldmark.Attachment, err error) {
	_, err = s.Execute(ctx, idempotency.Key{}, u, func(added fieldmark.Attachment) (idempotency.Response, error) {
		a = added
		return idempotency.Response{}, nil
	})
	return a, err
}

// Execute is Add, and renders the response. With a key it saves the response in the transaction;
// if one was saved already, it adds nothing and returns that. It sets Request of the key itself,
// from the upload and its content, and an empty account to that of the mission. Refusals are not
// saved: a repeat is checked again.
func (s *Service) Execute(ctx context.Context, k idempotency.Key, u Upload, render Render) (r idempotency.Response,
	err error) {
	if s.objects == nil {
		return r, errOff()
	}
	if u.ContentType, err = parseType(u.ContentType); err != nil {
		return r, err
	}
	u.Name = cleanName(u.Name, u.ContentType)
	m, err := mission(ctx, s.store, u.Account, u.Mission)
	if err != nil {
		return r, err
	}
	if u.Account = m.Account; k.Account == "" {
		k.Account = m.Account
	}
	if k.Name == "" { // a repeat of the request that reached a limit gets its response
		use, err := s.store.AttachmentUse(ctx, m.ID)
		if err == nil {
			err = checkUse(use, 1)
		}
		if err != nil {
			return r, err
		}
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		e := fieldmark.Errorf(fieldmark.CodeOverloaded, "too many files are being received; try again")
		e.RetryAfter = busyRetry
		return r, e
	}
	now := time.Now()
	a := store.Attachment{Attachment: fieldmark.Attachment{ID: fieldmark.NewID(fieldmark.PrefixAttachment, now),
		MissionID: m.ID, ContentType: u.ContentType, Name: u.Name, Author: u.Author, CreatedAt: fieldmark.At(now)}}
	if err := s.put(ctx, &a, u); err != nil {
		return r, err
	}
	k.Request = requestDigest(a.Attachment)
	return s.commit(ctx, k, a, render)
}

// checkUse returns the error of a mission that cannot have size bytes more.
func checkUse(use store.AttachmentUse, size int64) error {
	switch {
	case use.Files >= fieldmark.MaxAttachments:
		return fieldmark.Errorf(fieldmark.CodeTooMany, "a mission has at most %d attachments", fieldmark.MaxAttachments)
	case use.All >= maxRows:
		return fieldmark.Errorf(fieldmark.CodeTooMany, "a mission has at most %d attachments with the removed ones",
			maxRows)
	case use.Bytes+size > fieldmark.MaxAttachmentBytes:
		return fieldmark.Errorf(fieldmark.CodeTooMany, "the attachments of a mission have at most %d MiB together",
			fieldmark.MaxAttachmentBytes>>20)
	}
	return nil
}

// put receives, checks, encrypts and stores the content of an attachment, and sets its size,
// digest and key.
func (s *Service) put(ctx context.Context, a *store.Attachment, u Upload) error {
	key := newKey()
	a.SealedKey = s.cipher.Seal(a.ID, string(key))
	sum, check := sha256.New(), newChecker(a.ContentType)
	err := s.objects.Put(ctx, objectKey(a.ID), func(w io.Writer) error {
		sealed, err := newSealer(w, key)
		if err != nil {
			return err
		}
		if a.Size, err = receive(u.Body, u.limit(), sum, check, sealed); err != nil {
			return err
		}
		a.Digest = digestOf(sum)
		if u.Digest != "" && u.Digest != a.Digest {
			return fieldmark.Errorf(fieldmark.CodeDigestMismatch, "the content has the digest %s", a.Digest)
		}
		if err := check.err(); err != nil {
			return err
		}
		return sealed.finish()
	})
	if err != nil {
		return fmt.Errorf("add an attachment to mission %s: %w", a.MissionID, unavailable(err))
	}
	return nil
}

// unavailable returns the error of a storage that does not work as one that a client may see: it
// can try again. The cause is logged.
func unavailable(err error) error {
	if !errors.Is(err, objects.ErrUnavailable) {
		return err
	}
	return &fieldmark.Error{Code: fieldmark.CodeOverloaded, Detail: "the storage of files does not respond; try again",
		RetryAfter: busyRetry, Err: err}
}

// receiveBuffer is how much is read at once.
const receiveBuffer = 32 << 10

// receive copies a body of 1 to limit bytes to the writers.
func receive(body io.Reader, limit int64, to ...io.Writer) (size int64, err error) {
	size, err = io.CopyBuffer(onlyWriter{io.MultiWriter(to...)}, io.LimitReader(body, limit+1),
		make([]byte, receiveBuffer))
	switch {
	case size > limit && limit < fieldmark.MaxAttachment:
		return size, fieldmark.Errorf(fieldmark.CodeTestKey, "attachments of a test world have at most %d bytes", limit)
	case size > limit:
		return size, TooLarge()
	case err != nil:
		return size, err
	case size == 0:
		e := fieldmark.Errorf(fieldmark.CodeValidationFailed, "the file is empty")
		e.Fields = []fieldmark.FieldError{{Pointer: "", Code: "too_short", Detail: "must have at least one byte"}}
		return size, e
	}
	return size, nil
}

// onlyWriter hides other methods, so that io.CopyBuffer uses its buffer.
type onlyWriter struct{ io.Writer }

// TooLarge returns the error of a file beyond fieldmark.MaxAttachment.
func TooLarge() *fieldmark.Error {
	e := fieldmark.Errorf(fieldmark.CodeAttachmentTooLarge, "an attachment has at most %d MiB (%d bytes)",
		fieldmark.MaxAttachment>>20, fieldmark.MaxAttachment)
	e.Limit = fieldmark.MaxAttachment
	return e
}

func digestOf(h hash.Hash) fieldmark.Digest {
	return fieldmark.DigestOf([sha256.Size]byte(h.Sum(nil)))
}

// requestDigest identifies the request that added an attachment.
func requestDigest(a fieldmark.Attachment) fieldmark.Digest {
	h := sha256.New()
	fmt.Fprintf(h, "attachment\n%s\n%s\n%s\n%s\n", a.MissionID, a.ContentType, a.Name, a.Digest)
	return digestOf(h)
}

// commit writes the row, the event and the saved response of an attachment whose content is
// stored. If it writes no row, it deletes the content.
func (s *Service) commit(ctx context.Context, k idempotency.Key, a store.Attachment, render Render) (
	r idempotency.Response, err error) {
	outcome := &store.Outcome{}
	err = s.store.Write(store.WithOutcome(ctx, outcome), func(ctx context.Context, tx *store.Tx) error {
		if k.Name != "" {
			if r, err = s.responses.Load(ctx, tx, k); err != nil || r.Replayed {
				return err
			}
		}
		m, err := mission(ctx, tx, "", a.MissionID)
		if err != nil {
			return err
		}
		use, err := tx.AttachmentUse(ctx, a.MissionID)
		if err != nil {
			return err
		}
		if err := checkUse(use, a.Size); err != nil {
			return err
		}
		if err := tx.AddAttachment(ctx, a); err != nil {
			return err
		}
		if err := s.emit(ctx, tx, fieldmark.EventAttachmentAdded, &m, a.Attachment); err != nil {
			return err
		}
		if r, err = render(a.Attachment); err != nil || k.Name == "" {
			return err
		}
		return s.responses.Save(ctx, tx, k, r)
	})
	// If the outcome of the commit is unknown, the row may exist.
	if r.Replayed || err != nil && !outcome.MayHaveCommitted() {
		s.deleteObject(ctx, a.ID)
	}
	return r, err
}

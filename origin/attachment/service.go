package attachment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/idempotency"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/keyring"
	"github.com/fieldmark/fieldmark/origin/objects"
	"github.com/fieldmark/fieldmark/origin/store"
)

const (
	// maxUploads limits the uploads that a process receives at once: each has a temporary file of
	// up to fieldmark.MaxAttachment and about 300 KiB of buffers.
	maxUploads = 200
	// busyRetry is the Retry-After of an upload that is refused because of maxUploads.
	busyRetry = 5 * time.Second
	// maxRows limits the attachments of a mission with the removed ones, whose rows stay, so that
	// a list needs no pages.
	maxRows = 10 * fieldmark.MaxAttachments
)

// Config configures a Service. All fields but Objects are required.
type Config struct {
	Store     *store.Store
	Objects   objects.Store // of the content; nil: nothing can be added or read
	Cipher    keyring.Cipher
	AuditLog  *auditlog.Log
	Responses *idempotency.Service
	Jobs      *job.Runner
	Log       *slog.Logger
}

// Service keeps the files of missions. Its methods may be called from any goroutine. A method
// returns a *fieldmark.Error for what the caller did, and any other error for a failure of the
// database or of the objects.
type Service struct {
	store     *store.Store
	objects   objects.Store
	cipher    keyring.Cipher
	auditLog  *auditlog.Log
	responses *idempotency.Service
	jobs      *job.Runner
	log       *slog.Logger
	slots     chan struct{}
}

// New returns a Service that has started nothing.
func New(cfg Config) *Service {
	return &Service{store: cfg.Store, objects: cfg.Objects, cipher: cfg.Cipher, auditLog: cfg.AuditLog,
		responses: cfg.Responses, jobs: cfg.Jobs, log: cfg.Log, slots: make(chan struct{}, maxUploads)}
}

// errOff is the error of a process without a place for objects, such as a command.
func errOff() error {
	return fieldmark.Errorf(fieldmark.CodeModuleDisabled, "this process has no storage for attachments")
}

// errNoAttachment is the same for an unknown id and for an id of another account.
func errNoAttachment() error {
	return fieldmark.Errorf(fieldmark.CodeNotFound, "there is no such attachment")
}

// mission reads a mission of an account; account "" means any. A mission of another account is
// CodeNotFound, as if it did not exist: the ids of others cannot be probed.
func mission(ctx context.Context, db interface {
	Mission(context.Context, string) (store.Mission, error)
}, account, id string) (store.Mission, error) {
	none := fieldmark.Errorf(fieldmark.CodeNotFound, "there is no such mission")
	if !fieldmark.CheckID(fieldmark.PrefixMission, id) {
		return store.Mission{}, none
	}
	m, err := db.Mission(ctx, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && account != "" && m.Account != account {
		return store.Mission{}, none
	}
	return m, err
}

// List returns the attachments of a mission of an account, the oldest first, also those that
// were removed.
func (s *Service) List(ctx context.Context, account, missionID string) ([]fieldmark.Attachment, error) {
	if _, err := mission(ctx, s.store, account, missionID); err != nil {
		return nil, err
	}
	rows, err := s.store.Attachments(ctx, missionID, maxRows)
	list := make([]fieldmark.Attachment, len(rows))
	for i := range rows {
		list[i] = rows[i].Attachment
	}
	return list, err
}

// Get returns an attachment of a mission of an account.
func (s *Service) Get(ctx context.Context, account, missionID, id string) (fieldmark.Attachment, error) {
	a, err := s.row(ctx, account, missionID, id)
	return a.Attachment, err
}

func (s *Service) row(ctx context.Context, account, missionID, id string) (store.Attachment, error) {
	if _, err := mission(ctx, s.store, account, missionID); err != nil {
		return store.Attachment{}, err
	}
	if !fieldmark.CheckID(fieldmark.PrefixAttachment, id) {
		return store.Attachment{}, errNoAttachment()
	}
	a, err := s.store.Attachment(ctx, missionID, id)
	if errors.Is(err, store.ErrNotFound) {
		return a, errNoAttachment()
	}
	return a, err
}

// Content is the content of an attachment. Reading returns only bytes that are authentic, and an
// error in place of the end of a damaged file.
type Content struct {
	io.ReadCloser
	fieldmark.Attachment
}

// Open returns the content of an attachment of a mission of an account. The caller closes it. The
// content of a removed attachment is CodeNotFound.
func (s *Service) Open(ctx context.Context, account, missionID, id string) (Content, error) {
	a, err := s.row(ctx, account, missionID, id)
	if err != nil {
		return Content{}, err
	}
	if a.RemovedAt != nil {
		return Content{}, fieldmark.Errorf(fieldmark.CodeNotFound, "the attachment was removed")
	}
	if s.objects == nil {
		return Content{}, errOff()
	}
	content, err := s.open(ctx, a)
	if err != nil {
		return Content{}, fmt.Errorf("open attachment %s in %s: %w", id, s.objects, unavailable(err))
	}
	return Content{content, a.Attachment}, nil
}

func (s *Service) open(ctx context.Context, a store.Attachment) (io.ReadCloser, error) {
	key, err := s.cipher.Open(a.ID, a.SealedKey)
	if err != nil {
		return nil, err
	}
	object, err := s.objects.Open(ctx, objectKey(a.ID))
	if err != nil {
		return nil, err
	}
	plain, err := newOpener(object, []byte(key))
	if err == nil {
		err = plain.prefetch() // a file that cannot be read fails before a response begins
	}
	if err != nil {
		return nil, errors.Join(err, object.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{plain, object}, nil
}

// Remove deletes the content of an attachment of any account, for files that should not have
// been added. Its row stays, with who removed it and when, but without its name. A removed
// attachment does not change.
func (s *Service) Remove(ctx context.Context, missionID, id string) (a fieldmark.Attachment, err error) {
	if _, err := s.row(ctx, "", missionID, id); err != nil {
		return a, err
	}
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		m, err := mission(ctx, tx, "", missionID)
		if err != nil {
			return err
		}
		row, err := tx.Attachment(ctx, missionID, id)
		if a = row.Attachment; err != nil || a.RemovedAt != nil {
			return err
		}
		now := fieldmark.At(time.Now())
		a.Name, a.RemovedAt, a.RemovedBy = "", &now, auditlog.ActorName(ctx)
		if err := tx.RemoveAttachment(ctx, a); err != nil {
			return err
		}
		if err := s.emit(ctx, tx, fieldmark.EventAttachmentRemoved, &m, a); err != nil {
			return err
		}
		return s.auditLog.Append(ctx, tx, "attachment.removed", id, nil, map[string]string{"mission": missionID})
	})
	if err != nil {
		return a, fmt.Errorf("remove attachment %s: %w", id, err)
	}
	s.deleteObject(ctx, id)
	return a, nil
}

// deleteObject deletes a content that no row needs. If that fails, the sweep tries again.
func (s *Service) deleteObject(ctx context.Context, id string) {
	if s.objects == nil {
		return
	}
	ctx, cancel := job.ShutdownContext(ctx)
	defer cancel()
	if err := s.objects.Delete(ctx, objectKey(id)); err != nil {
		s.log.Warn("delete the content of an attachment; the next sweep tries again",
			slog.String("attachment", id), slog.Any("error", err))
	}
}

func (s *Service) emit(ctx context.Context, tx *store.Tx, t fieldmark.EventType, m *store.Mission,
	a fieldmark.Attachment) error {
	a.Name = ""
	_, err := event.Emit(ctx, tx, m.Account, store.Event{Event: fieldmark.Event{Type: t}, Subject: m.ID,
		Actor: auditlog.ActorText(ctx), Labels: m.Labels},
		fieldmark.AttachmentChange{ID: m.ID, ExternalID: m.ExternalID, Source: m.Source, Attachment: a})
	return err
}

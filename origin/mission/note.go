package mission

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/alert"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// Limits of lists of notes.
const (
	DefaultNoteLimit = 50
	MaxNoteLimit     = 200
)

// alertNotePrefix begins the external ids of notes that repeats of an alert add. Clients cannot
// use it, so they cannot take the place of one.
const alertNotePrefix = "fieldmark-alert-"

// maxAlertNotes limits the notes that repeats of its alert add to a mission. An alert whose text
// has a measurement has another text each time; people need the rest of the notes.
const maxAlertNotes = 50

// ValidateNote returns every error of a note that its schema cannot express, and normalizes it:
// line breaks as "\n", the visibility in lower case.
func ValidateNote(r *fieldmark.NoteRequest) validation.Errors {
	var bad validation.Errors
	r.Text = strings.TrimSpace(bad.Multiline("/text", r.Text))
	if fieldmark.IsBlank(r.Text) {
		bad.Add("/text", "too_short", "must not be blank")
	}
	switch v := fieldmark.NoteVisibility(strings.ToLower(string(r.Visibility))); v {
	case fieldmark.NoteInternal, fieldmark.NoteShared, "":
		r.Visibility = cmp.Or(v, fieldmark.NoteInternal)
	default:
		bad.Add("/visibility", "enum", "must be internal or shared")
	}
	if r.Author != nil {
		bad.Line("/author/id", r.Author.ID)
		bad.Line("/author/name", r.Author.Name)
	}
	bad.Line("/externalId", r.ExternalID)
	switch {
	case r.ExternalID != strings.TrimSpace(r.ExternalID):
		bad.Add("/externalId", "pattern", "must not begin or end with space")
	case strings.HasPrefix(r.ExternalID, alertNotePrefix):
		bad.Add("/externalId", "pattern", "must not begin with "+alertNotePrefix)
	}
	return bad
}

// AddNote adds a note to a mission of an account, in any status. The same externalId again
// returns the existing note; with another text, visibility or author it is CodeNoteExists. More
// than fieldmark.MaxNotes notes are CodeTooMany. The result has Created set if the note is new. A
// note changes neither the version nor updatedAt of the mission.
func AddNote(account, id string, r fieldmark.NoteRequest) Operation {
	return Operation{run: func(ctx context.Context, t *txn) ([]Result, error) {
		if err := ValidateNote(&r).Err(); err != nil {
			return nil, err
		}
		m, err := t.mission(ctx, account, id)
		if err != nil {
			return nil, err
		}
		now, err := t.tx.Now(ctx, m.Account)
		if err != nil {
			return nil, err
		}
		if err := validateOccurredAt(r.OccurredAt, &m, now); err != nil {
			return nil, err
		}
		n, created, err := t.addNote(ctx, &m, r)
		return []Result{{Mission: m.Mission, Note: n, Created: created}}, err
	}}
}

// addNote adds a validated note, whose author is the actor of ctx unless it names one.
func (t *txn) addNote(ctx context.Context, m *store.Mission, r fieldmark.NoteRequest) (n fieldmark.Note, created bool,
	err error) {
	now, err := t.tx.Now(ctx, m.Account)
	if err != nil {
		return n, false, err
	}
	n = fieldmark.Note{ID: newID(ctx, fieldmark.PrefixNote, now), Text: r.Text, Visibility: r.Visibility,
		ExternalID: r.ExternalID, CreatedAt: fieldmark.At(now), OccurredAt: r.OccurredAt,
		Author: fieldmark.NoteAuthor{ID: cmp.Or(auditlog.ActorName(ctx), "fieldmark")}}
	if r.Author != nil {
		n.Author = *r.Author
	}
	if r.ExternalID != "" {
		old, err := t.tx.NoteByExternalID(ctx, m.ID, r.ExternalID)
		if err == nil && old.RedactedAt == nil && (old.Text != n.Text || old.Visibility != n.Visibility ||
			r.Author != nil && old.Author != n.Author) {
			return old, false, fieldmark.Errorf(fieldmark.CodeNoteExists,
				"externalId already names a note with other content; notes are not changed, add another one")
		}
		if !errors.Is(err, store.ErrNotFound) {
			return old, false, err
		}
	}
	all, _, err := t.tx.CountNotes(ctx, m.ID, alertNotePrefix)
	if err != nil {
		return n, false, err
	}
	if all >= fieldmark.MaxNotes {
		return n, false, fieldmark.Errorf(fieldmark.CodeTooMany, "a mission has at most %d notes", fieldmark.MaxNotes)
	}
	if err := t.tx.AddNote(ctx, m.ID, n); err != nil {
		return n, false, err
	}
	return n, true, t.emitNote(ctx, m, n)
}

func (t *txn) emitNote(ctx context.Context, m *store.Mission, n fieldmark.Note) error {
	_, err := event.Emit(ctx, t.tx, m.Account, missionEvent(ctx, fieldmark.EventMissionNoted, m),
		fieldmark.MissionNoted{ID: m.ID, ExternalID: m.ExternalID, Source: m.Source, Note: n,
			Offline: n.OccurredAt != nil})
	return err
}

// noteRepeat adds a note if a repeat of the alert of a mission has another text than the
// mission and every repeat before. Without that, what an alert says later would be lost.
func (t *txn) noteRepeat(ctx context.Context, m *store.Mission, sig alert.Signal) error {
	first := m.OriginalRequest()
	if sig.Request.Title == first.Title && sig.Request.Description == first.Description {
		return nil
	}
	text := strings.TrimSpace(sig.Request.Title + "\n\n" + sig.Request.Description)
	sum := sha256.Sum256([]byte(text))
	r := fieldmark.NoteRequest{Text: shorten(text, fieldmark.MaxNoteText), Visibility: fieldmark.NoteInternal,
		Author: &fieldmark.NoteAuthor{ID: m.Source}, ExternalID: alertNotePrefix + hex.EncodeToString(sum[:16])}
	all, repeats, err := t.tx.CountNotes(ctx, m.ID, alertNotePrefix)
	if err != nil || all >= fieldmark.MaxNotes || repeats >= maxAlertNotes {
		return err
	}
	_, _, err = t.addNote(ctx, m, r)
	return err
}

// Notes lists notes of a mission of an account, the oldest first; account "" means any. With a
// visibility it lists only the notes that have it. The cursor is the id of the last note.
func (s *Service) Notes(ctx context.Context, account, id string, visibility fieldmark.NoteVisibility, cursor string,
	limit int) (list fieldmark.List[fieldmark.Note], err error) {
	if _, err := s.Get(ctx, account, id); err != nil {
		return list, err
	}
	if cursor != "" && !fieldmark.CheckID(fieldmark.PrefixNote, cursor) {
		return list, fieldmark.Errorf(fieldmark.CodeInvalidCursor,
			"take the cursor from nextCursor of the page before, and leave the other parameters as they were")
	}
	if limit <= 0 {
		limit = DefaultNoteLimit
	}
	limit = min(limit, fieldmark.MaxNotes)
	if list.Data, err = s.store.Notes(ctx, id, cursor, visibility, limit+1); err != nil {
		return list, err
	}
	if list.HasMore = len(list.Data) > limit; list.HasMore {
		list.Data = list.Data[:limit]
		list.NextCursor = list.Data[limit-1].ID
	}
	return list, nil
}

// RedactNote removes the text of a note of any account, for personal data that should not have been
// written. Its receivers get mission.noted again, without the text. A redacted note does not
// change.
func (s *Service) RedactNote(ctx context.Context, missionID, note string) (n fieldmark.Note, err error) {
	err = s.write(ctx, func(ctx context.Context, t *txn) error {
		m, err := t.mission(ctx, "", missionID)
		if err != nil {
			return err
		}
		n, err = t.tx.Note(ctx, m.ID, note)
		if err := store.NotFound(err, "there is no such note"); err != nil || n.RedactedAt != nil {
			return err
		}
		real, err := t.tx.Now(ctx, m.Account)
		if err != nil {
			return err
		}
		now := fieldmark.At(real)
		n.Text, n.RedactedAt = "", &now
		if err := t.tx.RedactNote(ctx, m.ID, n); err != nil {
			return err
		}
		return t.emitNote(ctx, &m, n)
	})
	if err != nil {
		return fieldmark.Note{}, fmt.Errorf("redact a note of mission %s: %w", missionID, err)
	}
	return n, nil
}

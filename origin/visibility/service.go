package visibility

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
	"github.com/fieldmark/fieldmark/origin/visibility/study"
)

// maxNicheStudies is how many studies of a niche are looked through for one that can be ranked: those of
// two months of daily studies.
const maxNicheStudies = 60

// Config has what a Service needs.
type Config struct {
	Store *store.Store
	Jobs  *job.Runner
	// Score scores a brand by the active module as of a time; nil: another process computes validity.
	Score func(ctx context.Context, state *fieldmark.BrandState, at time.Time) (fieldmark.Score, error)
}

// Scorer scores facts by one of several modules as of a time; nil: that module has no score for them.
// It takes the facts and not a brand, so that both modules score the same state.
type Scorer func(ctx context.Context, module int, facts *fieldmark.Facts, at time.Time) (*fieldmark.Milli, error)

// Service stores studies and their results.
type Service struct {
	store *store.Store
	jobs  *job.Runner
	// nil: another process computes the validity
	score func(ctx context.Context, state *fieldmark.BrandState, at time.Time) (fieldmark.Score, error)
	wake  chan struct{} // a study or a proxy variable was imported here
}

// New returns a Service.
func New(cfg Config) *Service {
	return &Service{store: cfg.Store, jobs: cfg.Jobs, score: cfg.Score,
		wake: make(chan struct{}, 1)}
}

// Run recomputes the results of another version of the method at the start and once a day, and the validity
// after each import too.
func (s *Service) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	// Results of two versions of the method cannot be compared, so a release that changes it computes all of them
	// again.
	wg.Go(func() { s.jobs.AtStartAndEvery(ctx, 24*time.Hour, "recompute results of studies", s.recompute) })
	if s.score != nil {
		// Daily too, because an import in another process does not wake this one.
		wg.Go(func() { s.jobs.AtStartAndEvery(ctx, 24*time.Hour, "compute the validity", s.publishValidity) })
		wg.Go(func() { s.afterImports(ctx) })
	}
	wg.Wait()
	return nil
}

// recompute recomputes the results of another version. Each study is its own transaction, so a restart goes on where
// it was. Other processes may do the same at once, so put stores only what none of them has stored.
func (s *Service) recompute(ctx context.Context) error {
	ids, err := s.store.OutdatedStudies(ctx, fieldmark.VisibilityMethodology.Version)
	if err != nil {
		return err
	}
	for _, id := range ids {
		batch, err := s.load(ctx, id)
		if err != nil {
			return err
		}
		// An import at the same time computed the result itself, so the other studies go on.
		if err := s.put(ctx, batch); err != nil && !fieldmark.IsCode(err, fieldmark.CodeVersionMismatch) {
			return err
		}
	}
	return nil
}

// batch is a study with the documents to store.
// Its rows, added and at have the same order, as changes and checkAdded rely on.
type batch struct {
	id     string
	active []store.Study     // that are stored
	old    []*study.Document // of these
	rows   []store.Study     // to store
	added  []*study.Document // of these
	at     []string          // their JSON pointers in the file, for errors
}

// documents returns the documents of the study after the import.
// A new document takes the place of the stored one of its engine: a correction is never counted beside what it
// corrects.
func (b *batch) documents() []*study.Document {
	all := slices.Clone(b.added)
	for _, d := range b.old {
		if !slices.ContainsFunc(b.added, func(n *study.Document) bool { return n.Engine == d.Engine }) {
			all = append(all, d)
		}
	}
	return all
}

// load reads what is stored of a study. put compares it again in its transaction.
func (s *Service) load(ctx context.Context, id string) (*batch, error) {
	active, err := s.store.Studies(ctx, id)
	if err != nil {
		return nil, err
	}
	b := &batch{id: id, active: active}
	for i := range active {
		d, err := decode(active[i].Body)
		if err != nil {
			return nil, err
		}
		b.old = append(b.old, d)
	}
	return b, nil
}

// Unpack returns a file, decompressed if it is a gzip file, of at most study.MaxBody bytes.
func Unpack(file []byte) ([]byte, error) {
	// The magic number (RFC 1952, section 2.3.1): names and media types of files are unreliable.
	if !bytes.HasPrefix(file, []byte{0x1f, 0x8b}) {
		return file, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		return nil, validation.Error("", "format", "is not a gzip file")
	}
	// A gzip file of a few kilobytes can expand to gigabytes, so what is read of it is bounded.
	body, err := io.ReadAll(io.LimitReader(r, study.MaxBody+1))
	if err != nil {
		return nil, validation.Error("", "format", "the gzip file is damaged")
	}
	return body, nil // one that is too long is refused when it is parsed
}

// ImportFile stores the documents of a file of form 2, JSON or CSV, as Import does.
func (s *Service) ImportFile(ctx context.Context, by string, file []byte,
	csv bool) (fieldmark.VisibilityImport, error) {
	// Of the file as it came: the importer can compare it with the file on the disk.
	digest := fieldmark.DigestOf(sha256.Sum256(file))
	if csv {
		documents, err := study.ParseCSV(file)
		if err != nil {
			return fieldmark.VisibilityImport{FileHash: digest}, err
		}
		return s.Import(ctx, by, digest, documents)
	}
	d, err := study.ParseJSON(file)
	if err != nil {
		return fieldmark.VisibilityImport{FileHash: digest}, err
	}
	return s.Import(ctx, by, digest, []*study.Document{d})
}

// Import stores the documents of a file, and computes the results of their studies. A file is taken whole or
// refused: half a study has another denominator. By is the key that vouches for it.
func (s *Service) Import(ctx context.Context, by string, file fieldmark.Digest,
	documents []*study.Document) (report fieldmark.VisibilityImport, err error) {
	// The hash is part of every report, also of a refused import, so the file can be found again.
	report.FileHash = file
	batches := map[string]*batch{}
	var order []string
	for i, d := range documents {
		at := ""
		if len(documents) > 1 {
			at = fmt.Sprintf("/%d", i)
		}
		// Before the digest of the document is computed, which covers the slugs.
		if err := s.rename(ctx, d, at, &report); err != nil {
			return report, err
		}
		// Documents of one study are stored together, so its result is computed once.
		b := batches[d.Study]
		if b == nil {
			if b, err = s.load(ctx, d.Study); err != nil {
				return report, err
			}
			batches[d.Study], order = b, append(order, d.Study)
		}
		if err := checkPrompts(ctx, s.store.StudyReader, d, at); err != nil {
			return report, err
		}
		isNew, err := b.add(d, at)
		switch {
		case err != nil:
			return report, err
		case !isNew:
			report.Unchanged++
			continue
		}
		report.Added++
		b.at = append(b.at, at)
		b.rows = append(b.rows, store.Study{Digest: d.Digest(), ID: d.Study, Engine: d.Engine, Niche: d.Niche,
			Locale: d.Locale, To: endOf(d), Body: compress(d.Bytes()), FileHash: file, Signer: by})
	}
	// Each study is stored in its own transaction, in the order of the file: an error leaves those before it stored,
	// and the repeated import reports them as unchanged.
	for _, id := range order {
		if b := batches[id]; len(b.rows) > 0 {
			if err := s.put(ctx, b); err != nil {
				return report, err
			}
		}
	}
	return report, nil
}

// rename gives brands their present slugs, and warns of those that are not in the registry.
func (s *Service) rename(ctx context.Context, d *study.Document, at string, report *fieldmark.VisibilityImport) error {
	var failed error
	d.Rename(func(slug string) string {
		to, err := s.present(ctx, fieldmark.Slug(slug))
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			failed = err
		}
		if err != nil {
			report.Warnings = append(report.Warnings, fieldmark.FieldError{Pointer: at + "/brands", Code: "not_found",
				Detail: fmt.Sprintf("no brand has the slug %q; it stays in the denominators", slug)})
			// A brand without an entry has no page and no result, but the answers that name it count.
			return ""
		}
		return string(to)
	})
	return failed
}

// checkPrompts refuses a set of prompts whose id another study has with other prompts: a text that changes under its
// id would make a change of the questions look like one of the brands. It compares the hashes of sets, not their texts.
func checkPrompts(ctx context.Context, db store.StudyReader, d *study.Document, at string) error {
	bodies, err := db.StudyResults(ctx, d.Niche, d.Locale, maxNicheStudies)
	if err != nil {
		return err
	}
	for _, body := range bodies {
		r, err := decodeResult(body)
		if err != nil {
			return err
		}
		// A study itself may be corrected.
		if r.ID != d.Study && r.PromptSet == d.PromptSet && r.PromptSetHash != d.PromptSetHash {
			return validation.Error(at+"/promptSetHash", "conflict", fmt.Sprintf("study %s has other prompts under "+
				"this promptSetId: give the set another version or id, and a changed question another id", r.ID))
		}
	}
	return nil
}

// checkAdded is checkPrompts for the added documents in the transaction that stores them: another study with the same
// set of prompts may have been stored since they were checked.
func (b *batch) checkAdded(ctx context.Context, tx *store.Tx) error {
	for i, d := range b.added {
		// The engines of a study have one niche, locale and hash, and usually one set: it is compared once.
		if i > 0 && d.PromptSet == b.added[i-1].PromptSet {
			continue
		}
		if err := checkPrompts(ctx, tx.StudyReader, d, b.at[i]); err != nil {
			return err
		}
	}
	return nil
}

// add adds a document to a study, and reports whether it is not stored yet.
func (b *batch) add(d *study.Document, at string) (isNew bool, err error) {
	digest := d.Digest()
	for i, old := range b.old {
		switch {
		// The same document: an import that is repeated after a lost response changes nothing.
		case old.Engine == d.Engine && b.active[i].Digest == digest:
			return false, nil
		// Naming what is replaced keeps two people from correcting the same counts without knowing of each other.
		case old.Engine == d.Engine && d.Replaces != b.active[i].Digest:
			return false, validation.Error(at+"/replaces", "conflict", fmt.Sprintf(
				"the study has other counts of this engine; to correct them send replaces %s", b.active[i].Digest))
		}
	}
	for _, other := range b.documents() {
		// Rates of engines are shown side by side, which is fair only for the same questions.
		if other.Engine != d.Engine && (other.Niche != d.Niche || other.Locale != d.Locale ||
			other.PromptSetHash != d.PromptSetHash || other.PanelHash != d.PanelHash || other.PlanHash != d.PlanHash) {
			return false, validation.Error(at+"/study", "mismatch",
				"the engines of a study have one niche, locale, prompt set, panel and plan")
		}
	}
	// Bounded, because pages show all engines of a study side by side.
	b.added = append(b.added, d)
	if len(b.documents()) > study.MaxEngines {
		return false, validation.Error(at+"/engine", "range", "a study has at most 12 engines")
	}
	return true, nil
}

// put computes the result of a study and stores it with the new documents, in one transaction.
// Results are computed before it: the largest take seconds, and a transaction holds the write lock of SQLite.
// Without new documents it recomputes the result, and stores it only if the stored one is of an older version.
func (s *Service) put(ctx context.Context, b *batch) error {
	documents := b.documents()
	result := study.Result(documents)
	body, err := json.Marshal(&result)
	if err != nil {
		return fmt.Errorf("encode the result of study %s: %w", b.id, err)
	}
	body = compress(body)
	changes, err := s.changes(ctx, b)
	if err != nil {
		return err
	}
	// One time for all rows and events of an import, so that they can be found together.
	now := fieldmark.At(time.Now())
	defer s.computeSoon()
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		active, err := tx.Studies(ctx, b.id)
		if err != nil {
			return err
		}
		// The result was computed from other documents than those that are stored now.
		if !slices.EqualFunc(active, b.active, func(x, y store.Study) bool { return x.Digest == y.Digest }) {
			return fieldmark.Errorf(fieldmark.CodeVersionMismatch, "the study changed meanwhile; repeat the import")
		}
		if len(b.rows) == 0 {
			if current, err := isCurrent(ctx, tx, &result); err != nil || current {
				return err
			}
		}
		if err := b.checkAdded(ctx, tx); err != nil {
			return err
		}
		for i := range b.rows {
			if err := tx.PutStudy(ctx, &b.rows[i], now); err != nil {
				return err
			}
		}
		return publish(ctx, tx, &result, body, changes, now)
	})
}

// isCurrent reports whether the stored result of the same documents is of the same version of the method or a newer
// one. During an upgrade processes of two versions run: the older must not replace what the newer has computed.
func isCurrent(ctx context.Context, tx *store.Tx, r *fieldmark.StudyResult) (bool, error) {
	body, err := tx.StudyResultByDigest(ctx, r.Digest)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	stored, err := decodeResult(body)
	return compareVersions(stored.Methodology.Version, r.Methodology.Version) >= 0, err
}

// compareVersions compares versions of the method, which are numbers with dots between them.
func compareVersions(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(x, y string) int {
		// Without leading zeros, the number with more digits is larger: 10.0 is newer than 9.0.
		return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y))
	})
}

// computeSoon has the validity computed again. The channel holds one value: imports during a computation make one
// further computation.
func (s *Service) computeSoon() {
	select {
	case s.wake <- struct{}{}:
	default: // it will be computed anyway
	}
}

// publish stores a result with its events.
// The brands get their parts of the result, because an edge that serves one brand must not read the whole study.
func publish(ctx context.Context, tx *store.Tx, r *fieldmark.StudyResult, body []byte,
	changes []fieldmark.VisibilityChange, now fieldmark.Time) error {
	parts := map[fieldmark.Slug]fieldmark.StudyResult{}
	var slugs []fieldmark.Slug
	for i := range r.All.Brands {
		slug := r.All.Brands[i].Slug
		// A brand may have been deleted since the import began.
		if found, err := tx.HasBrand(ctx, slug); err != nil {
			return err
		} else if found {
			parts[slug], _ = r.Of(slug)
			slugs = append(slugs, slug)
		}
	}
	if err := tx.PutStudyResult(ctx, r, body, parts, now); err != nil {
		return err
	}
	for _, slug := range slugs {
		data := struct {
			Slug    fieldmark.Slug `json:"slug"`
			Samples int            `json:"samples"`
			Study   string         `json:"study"`
		}{slug, len(r.Engines), r.ID}
		// The tag purges the badge and the pages of the brand from caches.
		e := store.Event{Event: fieldmark.Event{Type: fieldmark.EventBrandSampled, Brand: slug,
			Tags: []fieldmark.Tag{fieldmark.TagBrand(slug)}}, Subject: string(slug)}
		if _, err := event.Emit(ctx, tx, "", e, data); err != nil {
			return err
		}
		// Visibility is part of the score, so the score may change.
		if err := tx.RequestStanding(ctx, slug, now.Std()); err != nil {
			return err
		}
	}
	for i := range changes {
		// A deleted brand has no event: it would outlive the deletion of its data.
		if _, known := parts[changes[i].Slug]; !known {
			continue
		}
		if err := event.EmitBrand(ctx, tx, changes[i].Slug, fieldmark.EventVisibilityChanged, changes[i]); err != nil {
			return err
		}
	}
	// One event for the niche: its page lists all brands of the study. Studies are the operator's, whose endpoints
	// are those of the default account.
	e := store.Event{Event: fieldmark.Event{Type: fieldmark.EventVisibilityStudy,
		Tags: []fieldmark.Tag{fieldmark.TagStudy(r.Niche)}}, Subject: r.ID}
	_, err := event.Emit(ctx, tx, access.DefaultAccount, e, fieldmark.StudyNotice{Study: r.ID, Digest: r.Digest,
		Niche: r.Niche, Brands: len(slugs), Reason: r.All.Reason})
	return err
}

// changes compares the new documents with those of the studies before.
// A study has changes by engine, because engines change on their own.
func (s *Service) changes(ctx context.Context, b *batch) (changes []fieldmark.VisibilityChange, err error) {
	for i, d := range b.added {
		// The same engine's document of the study before.
		before, err := s.store.StudyBefore(ctx, &b.rows[i])
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		then, err := decode(before.Body)
		if err != nil {
			return nil, err
		}
		changes = append(changes, study.Changes(d, then)...)
	}
	return changes, nil
}

// Newest returns the newest result of a niche with enough brands that can be ranked; of a locale, if it is
// given. The error has CodeNotFound if no such result exists.
func (s *Service) Newest(ctx context.Context, niche, locale string) (fieldmark.StudyResult, error) {
	bodies, err := s.store.StudyResults(ctx, niche, locale, maxNicheStudies)
	if err != nil {
		return fieldmark.StudyResult{}, err
	}
	// The newest study may have too few brands or answers; one before it is better than none.
	for _, body := range bodies {
		r, err := decodeResult(body)
		if err != nil {
			return fieldmark.StudyResult{}, err
		}
		// Engines change: old answers are no measurement of today's. Those after it are older still.
		if time.Since(r.To.Std()) > fieldmark.VisibilityWithin {
			break
		}
		if r.All.RankedBrands() >= fieldmark.MinVisibilityBrands {
			return r, nil
		}
	}
	return fieldmark.StudyResult{}, fieldmark.Errorf(fieldmark.CodeNotFound, "no study of this niche can be ranked")
}

// Documents returns the documents of a result, or one document, by digest, as JSON.
func (s *Service) Documents(ctx context.Context, digest fieldmark.Digest) (fieldmark.StudyDocuments, error) {
	out := fieldmark.StudyDocuments{Documents: []json.RawMessage{}}
	// Results and documents have digests of one form, so the digest is looked up as both.
	digests := []fieldmark.Digest{digest}
	body, err := s.store.StudyResultByDigest(ctx, digest)
	switch {
	case err == nil:
		r, err := decodeResult(body)
		if err != nil {
			return out, err
		}
		digests = r.Documents
	case !errors.Is(err, store.ErrNotFound):
		return out, err
	}
	for _, digest := range digests {
		row, err := s.store.StudyByDigest(ctx, digest)
		if errors.Is(err, store.ErrNotFound) {
			return out, fieldmark.Errorf(fieldmark.CodeNotFound, "no study has this digest")
		}
		if err != nil {
			return out, err
		}
		text, err := decompress(row.Body)
		if err != nil {
			return out, err
		}
		out.Documents = append(out.Documents, text)
	}
	return out, nil
}

// endOf returns the end of a checked document.
// endOf panics on a text that check would have refused.
func endOf(d *study.Document) fieldmark.Time {
	at, err := time.Parse(time.RFC3339Nano, d.To)
	if err != nil {
		panic("BUG: the end of a checked document is no time: " + err.Error())
	}
	return fieldmark.At(at)
}

// decode reads a stored document, which was checked when it was imported.
func decode(body []byte) (*study.Document, error) {
	text, err := decompress(body)
	if err != nil {
		return nil, err
	}
	var d study.Document
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("decode a stored study: %w", err)
	}
	return &d, nil
}

// decodeResult reads a stored result. It was computed from checked documents, so it is not checked again.
func decodeResult(body []byte) (r fieldmark.StudyResult, err error) {
	text, err := decompress(body)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return r, fmt.Errorf("decode the result of a study: %w", err)
	}
	return r, nil
}

// compress compresses by Zstandard. One goroutine is enough for what fits into a request.
func compress(text []byte) []byte {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic("BUG: the options of the encoder are wrong: " + err.Error())
	}
	return w.EncodeAll(text, nil)
}

// decompress limits the memory, so that a damaged frame cannot ask for all of it.
func decompress(body []byte) ([]byte, error) {
	// Twice the limit of a file leaves room for the window.
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(2*study.MaxBody))
	if err != nil {
		panic("BUG: the options of the decoder are wrong: " + err.Error())
	}
	defer r.Close()
	text, err := r.DecodeAll(body, nil)
	if err != nil {
		return nil, fmt.Errorf("decompress a study: %w", err)
	}
	return text, nil
}

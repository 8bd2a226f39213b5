package sampler

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/atomicfile"
	"github.com/fieldmark/fieldmark/origin/visibility/engine"
	"github.com/fieldmark/fieldmark/origin/visibility/plan"
)

// ErrBusy means that another process works on the study.
var ErrBusy = errors.New("another process works on this study")

// ErrChanged means that a plan is not that of the study in its folder.
var ErrChanged = errors.New("the plan differs from that of the study in this folder: give it another name or folder")

// Files of a study in its folder. Answers may name people: only their owner reads them.
const (
	fileMode   = 0o600
	folderMode = 0o700

	journalFile = "journal.jsonl"
	lockFile    = "lock"
	stateFile   = "study.json"
	planFolder  = "plan"
	answers     = "answers"
)

// Study is a study in its folder.
type Study struct {
	Plan *plan.Plan
	Dir  string

	stages
	engines []*engine.Engine
	lock    *flock.Flock
	journal *journal

	mu   sync.Mutex
	book *book
	held map[string]int64 // reserves by engine, of calls that are intended and not sent
}

// begun is what study.json has.
type begun struct {
	PlanHash  fieldmark.Digest `json:"planHash"`
	Branded   bool             `json:"branded"`
	Until     int              `json:"untilTenths,omitempty"` // half-width, in tenths of a point; 0: all is asked
	OwnPilot  bool             `json:"ownPilot,omitempty"`    // the first stage is a part of the study
	Questions int              `json:"questions,omitempty"`   // that are asked, as soon as it is decided
}

// newStudy returns the study of a plan in a state.
func newStudy(dir string, p *plan.Plan, state begun) *Study {
	s := &Study{Plan: p, Dir: dir, held: map[string]int64{},
		stages: stages{plan: p, state: state, order: orderOf(p)}}
	s.size.Store(int64(state.Questions))
	return s
}

// Open opens the study in a folder for reading.
func Open(dir string) (*Study, error) {
	state, err := readState(dir)
	if err != nil {
		return nil, fmt.Errorf("open the study in %s: %w", dir, err)
	}
	folder := filepath.Join(dir, planFolder)
	names := plan.Files{Plan: filepath.Join(folder, "plan.yaml"), Prompts: filepath.Join(folder, "prompts.yaml"),
		Panel: filepath.Join(folder, "panel.yaml")}
	var texts plan.Texts
	// The copies of the folder, not the files of the plan, which may have been edited since.
	for name, to := range map[string]*[]byte{names.Plan: &texts.Plan, names.Prompts: &texts.Prompts,
		names.Panel: &texts.Panel} {
		if *to, err = os.ReadFile(name); err != nil {
			return nil, fmt.Errorf("open the study: %w", err)
		}
	}
	p, err := plan.Parse(names, texts)
	if err != nil {
		return nil, err
	}
	// A copy was edited by hand.
	if p.Hash != state.PlanHash {
		return nil, fmt.Errorf("%s: %w", dir, ErrChanged)
	}
	s := newStudy(dir, p, state)
	for i := range s.Plan.Engines {
		// Without a key: it only reads answers.
		e, err := engine.New(s.engineConfig(i, "", nil))
		if err != nil {
			return nil, err
		}
		s.engines = append(s.engines, e)
	}
	file, err := os.Open(s.path(journalFile))
	if errors.Is(err, os.ErrNotExist) {
		s.book = newBook()
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open the study: %w", err)
	}
	defer file.Close()
	s.book, _, err = readJournal(file)
	return s, err
}

// readState returns os.ErrNotExist for a folder without a study.
func readState(dir string) (b begun, err error) {
	text, err := os.ReadFile(filepath.Join(dir, stateFile))
	if err == nil {
		err = json.Unmarshal(text, &b)
	}
	return b, err
}

// Options are what a process may decide besides the plan.
type Options struct {
	Branded bool // ask branded prompts too; decided when the study begins
	// Until is the half-width of the own brand's mention rate to reach, in tenths of a point; 0 asks all questions.
	Until int
	// Size says how many questions that needs, when the study begins, by an earlier study; nil: the study has a pilot.
	Size func() (int, error)
	// Key returns the key of an engine.
	Key func(e *plan.Engine) (string, error)
	// HTTP sends the requests; nil means guarded clients.
	HTTP engine.Doer
}

// Begin creates the folder of a study, or opens it to continue. The caller calls Close.
func Begin(dir string, p *plan.Plan, texts plan.Texts, o Options) (s *Study, err error) {
	if err := checkStages(p, o.Until, o.Size == nil); err != nil {
		return nil, err
	}
	s = newStudy(dir, p, begun{PlanHash: p.Hash, Branded: o.Branded, Until: o.Until,
		OwnPilot: o.Until > 0 && o.Size == nil})
	// Keys are read before anything is written: a study that cannot begin leaves no folder.
	for i := range p.Engines {
		key, err := o.Key(&p.Engines[i])
		if err != nil {
			return nil, err
		}
		// It would be sent to every engine of the plan.
		if p.Prompts.Contains(key) {
			return nil, fmt.Errorf("%w of engine %s: a question contains it", ErrKey, p.Engines[i].ID)
		}
		e, err := engine.New(s.engineConfig(i, key, o.HTTP))
		if err != nil {
			return nil, err
		}
		s.engines = append(s.engines, e)
	}
	state, err := readState(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if err := p.Begin(time.Now()); err != nil {
			return nil, err
		}
		if o.Until > 0 && o.Size != nil {
			if s.state.Questions, err = o.Size(); err != nil {
				return nil, err
			}
		}
	case err != nil:
		return nil, fmt.Errorf("open the study in %s: %w", dir, err)
	// Answers to two plans in one folder could not be distinguished.
	case state.PlanHash != p.Hash || state.Branded != o.Branded || state.Until != o.Until ||
		state.OwnPilot != s.state.OwnPilot:
		return nil, fmt.Errorf("%s: %w", dir, ErrChanged)
	default:
		s.state = state
	}
	s.size.Store(int64(s.state.Questions))
	if err := s.open(texts); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// open locks the folder and opens the journal for writing.
func (s *Study) open(texts plan.Texts) (err error) {
	if err := os.MkdirAll(s.path(planFolder), folderMode); err != nil {
		return fmt.Errorf("create the study: %w", err)
	}
	// Two processes would ask and pay the same questions twice.
	s.lock = flock.New(s.path(lockFile), flock.SetPermissions(fileMode))
	locked, err := s.lock.TryLock()
	if err == nil && !locked {
		err = ErrBusy
	}
	if err != nil {
		return fmt.Errorf("lock the study: %w", err)
	}
	// Budget and prices may have changed since the last start, so the copies are written again.
	for name, text := range map[string][]byte{"plan.yaml": texts.Plan, "prompts.yaml": texts.Prompts,
		"panel.yaml": texts.Panel} {
		if err := atomicfile.Write(s.path(planFolder, name), text); err != nil {
			return err
		}
	}
	state, err := json.Marshal(s.state)
	if err != nil {
		return fmt.Errorf("create the study: %w", err)
	}
	// After the plan: a folder with a state has all that Open reads.
	if err := atomicfile.Write(s.path(stateFile), append(state, '\n')); err != nil {
		return err
	}
	file, err := os.OpenFile(s.path(journalFile), os.O_CREATE|os.O_RDWR, fileMode)
	if err != nil {
		return fmt.Errorf("open the journal: %w", err)
	}
	book, whole, err := readJournal(file)
	if err == nil {
		s.book = book
		// A torn last line would damage the next one.
		err = file.Truncate(whole)
	}
	if err == nil {
		_, err = file.Seek(whole, io.SeekStart)
	}
	if err == nil {
		err = atomicfile.SyncFolder(s.Dir)
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	s.journal = newJournal(file)
	return nil
}

// Close releases the folder.
func (s *Study) Close() error {
	var errs []error
	if s.journal != nil {
		s.journal.close()
		errs = append(errs, s.journal.file.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}

func (s *Study) path(names ...string) string {
	return filepath.Join(append([]string{s.Dir}, names...)...)
}

// engineConfig is the one place where a key meets a configuration.
func (s *Study) engineConfig(i int, key string, http engine.Doer) engine.Config {
	e := &s.Plan.Engines[i]
	return engine.Config{Adapter: e.Adapter, Model: e.Model, BaseURL: e.BaseURL, Key: key, Search: e.Search,
		Country: s.Plan.Country, MaxOutputTokens: e.MaxOutputTokens, MaxSearches: e.MaxSearches, HTTP: http}
}

// isBusy reports whether a process works on the study; its calls may still end.
func (s *Study) isBusy() bool {
	if s.lock != nil {
		return false // this process does, and its calls have ended or are lost
	}
	lock := flock.New(s.path(lockFile), flock.SetFlag(os.O_RDWR)) // which does not create it
	locked, err := lock.TryLock()
	defer lock.Close() // unlocks
	return err == nil && !locked
}

// record applies an entry to the book after it is on disk.
func (s *Study) record(e Entry) error {
	e.At = time.Now().UTC().Format(time.RFC3339)
	if err := s.journal.append(&e); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.book.apply(&e); err != nil {
		panic("BUG: " + err.Error())
	}
	switch e.Event {
	case eventSent:
		s.held[engineOf(e.Cell)] -= s.book.of(e.Cell).reserve
	case eventMore:
		s.held[engineOf(e.Cell)] -= e.Reserve
	}
	return nil
}

// spentLocked returns what is spent and reserved. The caller holds mu.
func (s *Study) spentLocked() (sum int64) {
	for _, n := range s.book.spent {
		sum += n
	}
	for _, n := range s.held {
		sum += n
	}
	return sum
}

// stateOf returns the state of a cell, and how often it was sent.
func (s *Study) stateOf(id string) (state, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.book.cells[id]
	if r == nil {
		return stateOpen, 0
	}
	return r.state, r.attempts
}

// hasAnswered reports whether an engine has answered any question of the study.
func (s *Study) hasAnswered(engine string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.book.answered[engine]
}

// done returns the entries of all answers, sorted by cell.
func (s *Study) done() (all []Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.book.cells {
		if r.state == stateDone {
			all = append(all, r.entry)
		}
	}
	slices.SortFunc(all, func(a, b Entry) int { return cmp.Compare(a.Cell, b.Cell) })
	return all
}

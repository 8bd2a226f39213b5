package sampler

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/fieldmark/fieldmark"
)

// Entry is a line of the journal.
type Entry struct {
	Event string `json:"event"`
	Cell  string `json:"cell"`
	At    string `json:"at,omitempty"` // RFC 3339

	Reserve  int64            `json:"reserve,omitempty"` // nano-dollars
	Cost     int64            `json:"cost,omitempty"`    // nano-dollars
	Answer   fieldmark.Digest `json:"answer,omitempty"`  // of the file of the answer
	Model    string           `json:"model,omitempty"`
	Searches int              `json:"searches,omitempty"`
	Status   int              `json:"status,omitempty"`
	Reason   string           `json:"reason,omitempty"`
}

// Events of a cell, in their order. Only intend, and what follows refused, may be asked.
const (
	eventIntend  = "intend"  // the reserve is taken; nothing was sent
	eventSent    = "sent"    // about to be sent: without an end the call is lost, and its reserve is spent
	eventMore    = "more"    // a continuation is about to be sent, with another reserve
	eventRefused = "refused" // the engine refused; the cell may be asked again
	eventFailed  = "failed"  // final, without an answer
	eventDone    = "done"    // the answer is on disk
)

// state of a cell.
// A state only moves forward, except that a refused cell is open again.
type state int

const (
	stateOpen   state = iota // may be asked
	stateSent                // being asked, or lost
	stateFailed              // final
	stateDone                // final
)

// record is the state of a cell by the journal.
type record struct {
	state    state
	attempts int
	reserve  int64 // of the call under way
	entry    Entry // of done and failed
}

// book is the content of a journal.
// It is a function of the entries alone, so a process that continues has the same sums as the one before.
type book struct {
	cells map[string]*record
	spent map[string]int64 // by engine, with the reserves of lost calls

	answered map[string]bool // engines with an answer
}

func newBook() *book {
	return &book{cells: map[string]*record{}, spent: map[string]int64{}, answered: map[string]bool{}}
}

// of returns the record of a cell.
func (b *book) of(cell string) *record {
	r := b.cells[cell]
	if r == nil {
		r = &record{}
		b.cells[cell] = r
	}
	return r
}

// apply adds an entry.
func (b *book) apply(e *Entry) error {
	r, engine := b.of(e.Cell), engineOf(e.Cell)
	switch e.Event {
	case eventIntend:
		if r.state != stateOpen {
			return fmt.Errorf("%s is asked again", e.Cell)
		}
		r.reserve = e.Reserve
	// Spent from here on: a call may be billed as soon as its first byte is sent.
	case eventSent:
		r.state = stateSent
		r.attempts++
		b.spent[engine] += r.reserve
	case eventMore:
		r.reserve += e.Reserve
		b.spent[engine] += e.Reserve
	case eventRefused, eventFailed, eventDone:
		// The reserve is replaced by what the call did cost.
		b.spent[engine] += e.Cost - r.reserve
		r.reserve, r.entry = 0, *e
		b.answered[engine] = b.answered[engine] || e.Event == eventDone
		r.state = map[string]state{eventRefused: stateOpen, eventFailed: stateFailed, eventDone: stateDone}[e.Event]
	// An entry of a later release: reading on could repeat a call that it says was made.
	default:
		return fmt.Errorf("unknown event %q", e.Event)
	}
	return nil
}

// engineOf returns the engine of a cell by its id.
func engineOf(cell string) string {
	_, name := filepath.Split(cell)
	engine, _, _ := bytes.Cut([]byte(name), []byte("."))
	return string(engine)
}

// readJournal reads a journal, and returns the length of its whole lines. The last line may be torn: it was
// never synced, so nothing has followed from it.
func readJournal(file io.Reader) (*book, int64, error) {
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, 0, fmt.Errorf("read the journal: %w", err)
	}
	b := newBook()
	// Offsets after the last line end are cut off by open.
	whole := bytes.LastIndexByte(text, '\n') + 1
	for n, line := range bytes.Split(text[:whole], []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, 0, fmt.Errorf("line %d of the journal is damaged: %w", n+1, err)
		}
		// A journal that contradicts itself was edited or belongs to another study.
		if err := b.apply(&e); err != nil {
			return nil, 0, fmt.Errorf("line %d of the journal: %w", n+1, err)
		}
	}
	return b, int64(whole), nil
}

// journal appends to the file. Entries of concurrent calls share one sync.
type journal struct {
	file  *os.File
	queue chan journalWrite
	done  chan struct{}
	close func()
}

type journalWrite struct {
	line []byte
	err  chan<- error
}

// errClosed is the error of a journal that could not be written: what follows would not be known after a crash.
var errClosed = errors.New("the journal is closed")

// newJournal starts the goroutine that writes; close waits for it.
func newJournal(file *os.File) *journal {
	j := &journal{file: file, queue: make(chan journalWrite), done: make(chan struct{})}
	stop := make(chan struct{})
	j.close = sync.OnceFunc(func() { close(stop); <-j.done })
	go j.run(stop) // ends with close
	return j
}

// run writes what is waiting, syncs once, and reports to all that waited.
func (j *journal) run(stop <-chan struct{}) {
	defer close(j.done)
	for {
		var batch []journalWrite
		select {
		case w := <-j.queue:
			batch = append(batch, w)
		case <-stop:
			return
		}
		// All that wait now share one sync, which takes milliseconds; concurrency multiplies the calls, not the syncs.
		for more := true; more; {
			select {
			case w := <-j.queue:
				batch = append(batch, w)
			default:
				more = false
			}
		}
		var text []byte
		for _, w := range batch {
			text = append(text, w.line...)
		}
		_, err := j.file.Write(text)
		if err == nil {
			err = j.file.Sync()
		}
		for _, w := range batch {
			w.err <- err
		}
		if err != nil {
			return // the file may end in the middle of a line: a new process repairs it
		}
	}
}

// append writes an entry, and returns after it is on disk.
func (j *journal) append(e *Entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		panic("BUG: an entry of the journal cannot be encoded: " + err.Error())
	}
	// With room for one, so that run never waits for a caller.
	result := make(chan error, 1)
	select {
	case j.queue <- journalWrite{append(line, '\n'), result}:
		if err := <-result; err != nil {
			return fmt.Errorf("write the journal: %w", err)
		}
		return nil
	case <-j.done:
		return errClosed
	}
}

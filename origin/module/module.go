package module

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/brand"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
	"github.com/fieldmark/fieldmark/origin/visibility"
)

const (
	// maxName limits a module's name and version, in code points.
	maxName = 100
	// maxListed limits the list of modules, the newest first.
	maxListed = 200
	// maxNodes limits the list of edges.
	maxNodes = 1000
	// nodeSilence is how long an edge takes part in the deployment of modules after its last
	// report.
	nodeSilence = 2 * time.Minute
	// nodeRetention is how long an edge is known that does not report any more. One that stops
	// in an orderly way is removed at once.
	nodeRetention = 24 * time.Hour
)

// CheckResult is the result of checking an uploaded module.
type CheckResult struct {
	Ref        fieldmark.ModuleRef
	Complaints []string        // every problem; empty: the module is valid
	Report     json.RawMessage // measurements, for people
}

// Checker checks and runs modules. This package has no WebAssembly runtime.
type Checker struct {
	// Check checks a module in a separate process, so that it cannot harm this process.
	Check func(ctx context.Context, module []byte) (CheckResult, error)
	// Compare scores every brand that each passes to its argument with both modules.
	Compare func(ctx context.Context, from, to []byte,
		each func(func(fieldmark.BrandState) error) error) (fieldmark.ModuleComparison, error)
	// With calls fn with a function that scores facts by the modules, which it loads. Nil: previews do
	// not use studies.
	With func(ctx context.Context, modules [][]byte, fn func(visibility.Scorer) error) error
}

// BuiltIn is a module that comes with the program. It needs neither a check nor a
// signature.
type BuiltIn struct {
	Ref   fieldmark.ModuleRef
	Bytes []byte
}

// Config configures a Service.
type Config struct {
	Store    *store.Store
	AuditLog *auditlog.Log
	Jobs     *job.Runner
	Log      *slog.Logger
	Brands   *brand.Service
	BuiltIn  []BuiltIn             // the oldest first; a new database activates the last
	Keys     []fieldmark.ModuleKey // signers; empty: modules need no signature
	Checker  Checker               // zero: modules can be neither uploaded nor previewed
	Studies  *visibility.Service   // nil: previews read no studies
}

// Service manages the scoring modules. Its methods may be called from any goroutine.
type Service struct {
	store      *store.Store
	auditLog   *auditlog.Log
	jobs       *job.Runner
	log        *slog.Logger
	brands     *brand.Service
	builtIn    []BuiltIn
	moduleKeys []fieldmark.ModuleKey
	checker    Checker
	studies    *visibility.Service
}

// New returns a Service. It starts no goroutine.
func New(cfg Config) *Service {
	return &Service{store: cfg.Store, auditLog: cfg.AuditLog, jobs: cfg.Jobs, log: cfg.Log, brands: cfg.Brands,
		builtIn: cfg.BuiltIn, moduleKeys: cfg.Keys, checker: cfg.Checker,
		studies: cfg.Studies}
}

// Run compares modules for previews and deletes old reports of stopped edges, until ctx
// ends.
func (s *Service) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	if s.checker.Compare != nil {
		wg.Go(func() { _ = s.jobs.Work(ctx, store.TopicPreviews, maxRunning, s.claim) })
	}
	wg.Go(func() { s.jobs.AtStartAndEvery(ctx, time.Hour, "prune nodes", s.pruneNodes) })
	wg.Wait()
	return nil
}

func (s *Service) pruneNodes(ctx context.Context) error {
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		now := time.Now()
		if err := tx.PruneUptime(ctx, fieldmark.At(now.Add(-fieldmark.OutageWindow))); err != nil {
			return err
		}
		return tx.PruneNodes(ctx, fieldmark.At(now.Add(-nodeRetention)))
	})
}

// RegisterBuiltIn stores the modules that come with the program, if they are absent, and
// activates the newest if no module is active. A database with an active module keeps it:
// an administrator previews and activates a newer one.
// An upgrade of the program must not change scores by itself.
func (s *Service) RegisterBuiltIn(ctx context.Context) error {
	for i, b := range s.builtIn {
		if err := validation.Errors(validate(b.Ref, b.Bytes)).Err(); err != nil {
			return err
		}
		_, err := s.store.ModuleRecord(ctx, b.Ref.Digest)
		if err == nil {
			continue
		}
		if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		// Lists show the newest first: modules stored in the same microsecond have no order.
		at := fieldmark.At(time.Now().Add(time.Duration(i) * time.Millisecond))
		err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			return tx.PutModule(ctx, fieldmark.SignedModule{ModuleRef: b.Ref}, b.Bytes, nil, at)
		})
		if err != nil {
			return fmt.Errorf("store module %s: %w", b.Ref.Digest, err)
		}
		s.log.Info("built-in module stored", slog.String("name", b.Ref.Name), slog.String("version", b.Ref.Version),
			slog.String("module", string(b.Ref.Digest)))
	}
	if len(s.builtIn) == 0 {
		return nil
	}
	_, err := s.store.ModulePlan(ctx)
	if errors.Is(err, store.ErrNotFound) {
		err = s.activateFirst(ctx, s.builtIn[len(s.builtIn)-1].Ref)
	}
	return err
}

// Activations returns the activations of modules, the oldest first.
func (s *Service) Activations(ctx context.Context) ([]fieldmark.Activation, error) {
	return s.store.Activations(ctx)
}

// Active returns the active module.
func (s *Service) Active(ctx context.Context) (fieldmark.ModuleRef, error) {
	plan, err := s.Plan(ctx)
	return plan.ModuleRef, err
}

// Plan returns the active module, its canary and its predecessor.
func (s *Service) Plan(ctx context.Context) (fieldmark.ModulePlan, error) {
	plan, err := s.store.ModulePlan(ctx)
	return plan, store.NotFound(err, "no scoring module is active")
}

// Body returns the bytes of a module.
// Edges compare the digest of what they get, and keep it.
func (s *Service) Body(ctx context.Context, d fieldmark.Digest) ([]byte, error) {
	body, err := s.store.Module(ctx, d)
	return body, store.NotFound(err, "there is no module with this digest")
}

// List returns the modules, the newest first.
func (s *Service) List(ctx context.Context) ([]fieldmark.ModuleRecord, error) {
	list, err := s.store.Modules(ctx, maxListed)
	if err != nil {
		return nil, err
	}
	plan, err := s.store.ModulePlan(ctx)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	for i := range list {
		list[i].State = plan.StateOf(list[i].Digest)
	}
	return list, nil
}

// Get returns a module and its state.
func (s *Service) Get(ctx context.Context, d fieldmark.Digest) (fieldmark.ModuleRecord, error) {
	record, err := s.store.ModuleRecord(ctx, d)
	if err != nil {
		return record, store.NotFound(err, "there is no module with this digest")
	}
	plan, err := s.store.ModulePlan(ctx)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return record, err
	}
	record.State = plan.StateOf(d)
	return record, nil
}

// Create stores a module that passes its check and has a signature if one is required.
// It scores nothing until it is activated.
// The check comes before the transaction, because it runs the module thousands of times.
func (s *Service) Create(ctx context.Context, p fieldmark.ModulePush) (none fieldmark.ModuleRecord, err error) {
	if len(p.Module) == 0 || len(p.Module) > fieldmark.MaxAnyModule {
		return none,
			validation.Error("/module", "too_long", fmt.Sprintf("must be 1 to %d bytes", fieldmark.MaxAnyModule))
	}
	digest := fieldmark.DigestOf(sha256.Sum256(p.Module))
	if err := s.checkSignature(digest, p.Signature); err != nil {
		return none, err
	}
	// Processes without a WebAssembly runtime, such as commands on the database, accept no module.
	if s.checker.Check == nil {
		return none, fieldmark.Errorf(fieldmark.CodeModuleDisabled, "this origin cannot check modules")
	}
	check, err := s.checker.Check(ctx, p.Module)
	if err != nil {
		return none, fmt.Errorf("check module %s: %w", digest, err)
	}
	if err := problemsError(digest, check.Complaints); err != nil {
		return none, err
	}
	signed := fieldmark.SignedModule{ModuleRef: check.Ref, Signature: p.Signature}
	if err := validation.Errors(validate(check.Ref, p.Module)).Err(); err != nil {
		return none, err
	}
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.PutModule(ctx, signed, p.Module, check.Report, fieldmark.At(time.Now())); err != nil {
			return err
		}
		return s.auditLog.Append(ctx, tx, "module.stored", string(digest), nil, signed)
	})
	if err != nil {
		return none, fmt.Errorf("store module %s: %w", digest, err)
	}
	return s.Get(ctx, digest)
}

// checkSignature returns an error for a module whose signature is invalid, or missing
// although the operator requires one. Built-in modules came with the program.
// It runs at the upload, at each activation and at a roll back: a key that the operator has removed
// must not decide about scores again.
func (s *Service) checkSignature(d fieldmark.Digest, signature *fieldmark.ModuleSignature) error {
	if signature != nil {
		if err := signature.Check(d); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(s.builtIn, func(b BuiltIn) bool { return b.Ref.Digest == d }) {
		return nil
	}
	return fieldmark.CheckSigned(d, signature, s.moduleKeys)
}

// problemsError returns the problems of a module as one error, or nil.
// Each problem is an entry, so that an author sees all of them at once.
func problemsError(d fieldmark.Digest, list []string) error {
	if len(list) == 0 {
		return nil
	}
	// The detail counts the faults; each is an entry below, of which a response shows at most MaxFieldErrors.
	what := "a fault"
	if len(list) > 1 {
		what = fmt.Sprintf("%d faults", len(list))
	}
	err := fieldmark.Errorf(fieldmark.CodeModuleRefused, "module %s has %s", d, what)
	for _, text := range list {
		err.Fields = append(err.Fields, fieldmark.FieldError{Pointer: "/module", Code: "conflict", Detail: text})
	}
	return err
}

// ActivateBytes activates a module for all brands. If bytes is not nil, it stores them
// without a check, for a module that comes with the program.
func (s *Service) ActivateBytes(ctx context.Context, ref fieldmark.ModuleRef, bytes []byte) error {
	if bytes != nil {
		if err := validation.Errors(validate(ref, bytes)).Err(); err != nil {
			return err
		}
		err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			return tx.PutModule(ctx, fieldmark.SignedModule{ModuleRef: ref}, bytes, nil, fieldmark.At(time.Now()))
		})
		if err != nil {
			return fmt.Errorf("store module %s: %w", ref.Digest, err)
		}
	}
	_, err := s.Activate(ctx, ref.Digest, 100)
	return err
}

// activateFirst activates a stored module unless another is active when the transaction
// runs: of several origins that start at once, and an operator who activates a module
// meanwhile, the first one wins.
func (s *Service) activateFirst(ctx context.Context, ref fieldmark.ModuleRef) error {
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		// Any plan that exists wins, also one of an older built-in module: an operator may have chosen it.
		plan, err := tx.ModulePlan(ctx)
		if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		return s.put(ctx, tx, "module.activated", ref, 100, &plan)
	})
	if err != nil {
		return fmt.Errorf("activate module %s: %w", ref.Digest, err)
	}
	return nil
}

// activation is the data of the event: the module, and its percentage of the brands if
// it is a canary.
type activation struct {
	fieldmark.ModuleRef
	Percent int `json:"percent,omitempty"`
}

// Activate activates a module for all brands (percent 0 or 100), or as a canary for a
// percentage of them. Activating what is active already emits no event. Activating a
// module for all brands ends a canary.
// The transaction compares before it writes, so of two administrators the second sees the plan of
// the first.
func (s *Service) Activate(ctx context.Context, d fieldmark.Digest, percent int) (plan fieldmark.ModulePlan,
	err error) {
	if percent == 0 {
		percent = 100
	}
	if percent < 1 || percent > 100 {
		return plan, validation.Error("/percent", "range", "must be 0 to 100")
	}
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		plan, err = tx.ModulePlan(ctx)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		none := err != nil
		if err := comparePlan(&plan, none, d, percent); !errors.Is(err, errPlanChanges) {
			return err
		}
		stored, err := tx.SignedModule(ctx, d)
		if err != nil {
			return store.NotFound(err, "there is no module with this digest")
		}
		if err := s.checkSignature(d, stored.Signature); err != nil {
			return err
		}
		return s.put(ctx, tx, "module.activated", stored.ModuleRef, percent, &plan)
	})
	if err != nil {
		return plan, fmt.Errorf("activate module %s: %w", d, err)
	}
	return plan, nil
}

// errPlanChanges means that an activation changes the plan.
var errPlanChanges = errors.New("another plan")

// comparePlan returns nil if the plan already is what was requested, errPlanChanges if
// it has to change, and CodeModuleRefused if it cannot.
func comparePlan(plan *fieldmark.ModulePlan, none bool, d fieldmark.Digest, percent int) error {
	switch {
	case none && percent < 100:
		return fieldmark.Errorf(fieldmark.CodeModuleRefused, "a canary needs an active module, and none is active")
	case none:
		return errPlanChanges
	case percent == 100 && plan.Digest == d && plan.Canary == nil:
		return nil
	case percent < 100 && plan.Digest == d:
		return fieldmark.Errorf(fieldmark.CodeModuleRefused, "module %s is active already", d)
	case percent < 100 && plan.Canary != nil && plan.Canary.Digest == d && plan.Canary.Percent == percent:
		return nil
	}
	return errPlanChanges
}

// put writes an activation, its event and its entry in the audit log, and reads the resulting plan.
// The number of the event orders activations, so that edges that follow the log switch in the same
// order as the database.
func (s *Service) put(ctx context.Context, tx *store.Tx, action string, ref fieldmark.ModuleRef, percent int,
	plan *fieldmark.ModulePlan) error {
	data := activation{ModuleRef: ref}
	if percent < 100 {
		data.Percent = percent
	}
	before := *plan
	number, err := event.Emit(ctx, tx, "", store.Event{
		Event:   fieldmark.Event{Type: fieldmark.EventModuleActivated, Tags: []fieldmark.Tag{fieldmark.TagModule}},
		Subject: string(ref.Digest),
	}, data)
	if err != nil {
		return err
	}
	if err := tx.ActivateModule(ctx, ref.Digest, number, percent, time.Now()); err != nil {
		return err
	}
	if *plan, err = tx.ModulePlan(ctx); err != nil {
		return err
	}
	return s.auditLog.Append(ctx, tx, action, string(ref.Digest), before, *plan)
}

// RollBack ends the canary if there is one, and otherwise activates the previous module.
// It is an activation like any other: edges need no second mechanism, and history shows both.
func (s *Service) RollBack(ctx context.Context) (plan fieldmark.ModulePlan, err error) {
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if plan, err = tx.ModulePlan(ctx); err != nil {
			return store.NotFound(err, "no scoring module is active")
		}
		to := plan.SignedModule
		if plan.Canary == nil {
			if plan.Previous == nil {
				return fieldmark.Errorf(fieldmark.CodeModuleRefused, "there is no previous module")
			}
			to = *plan.Previous
		}
		if err := s.checkSignature(to.Digest, to.Signature); err != nil {
			return err
		}
		return s.put(ctx, tx, "module.rolled_back", to.ModuleRef, 100, &plan)
	})
	if err != nil {
		return plan, fmt.Errorf("roll back the module: %w", err)
	}
	return plan, nil
}

// Status returns the plan and the report of every edge.
// An edge that has not reported for a while is left out.
func (s *Service) Status(ctx context.Context) (status fieldmark.ModuleStatus, err error) {
	if status.Plan, err = s.Plan(ctx); err != nil {
		return status, err
	}
	if status.Nodes, err = s.store.Nodes(ctx, fieldmark.At(time.Now().Add(-nodeSilence)), maxNodes); err != nil {
		return status, err
	}
	sortNodes(status.Nodes)
	if s.studies == nil {
		return status, nil
	}
	v, err := s.studies.Validity(ctx)
	if err == nil && v.Module.Digest == status.Plan.Digest {
		status.HeldOut = v.HeldOut
	}
	return status, err
}

func sortNodes(list []fieldmark.NodeReport) {
	slices.SortFunc(list, func(a, b fieldmark.NodeReport) int {
		return cmp.Or(strings.Compare(a.Address, b.Address), strings.Compare(a.Name, b.Name),
			strings.Compare(a.Node, b.Node))
	})
}

// Nodes returns the last report of every edge, also of those that stopped without notice in
// the last day.
func (s *Service) Nodes(ctx context.Context) ([]fieldmark.NodeReport, error) {
	list, err := s.store.Nodes(ctx, fieldmark.At(time.Now().Add(-nodeRetention)), maxNodes)
	sortNodes(list)
	return list, err
}

// RemoveNode removes an edge from the list. One that still runs is back with its next report.
func (s *Service) RemoveNode(ctx context.Context, id string) error {
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		ok, err := tx.DeleteNode(ctx, id)
		if err == nil && !ok {
			err = fieldmark.Errorf(fieldmark.CodeNotFound, "there is no such edge")
		}
		if err != nil {
			return err
		}
		return s.auditLog.Append(ctx, tx, "node.removed", id, nil, nil)
	})
	if err != nil {
		return fmt.Errorf("remove node %s: %w", id, err)
	}
	return nil
}

// ReportNode stores the report of an edge and what it has counted, and records uptime. The last
// report of an edge that stops removes it. If the edge has rolled a module back, that is emitted
// as an event and logged as an error, once.
func (s *Service) ReportNode(ctx context.Context, r fieldmark.NodeReport) error {
	var bad validation.Errors
	if !fieldmark.CheckID(fieldmark.PrefixNode, r.Node) {
		bad.Add("/node", "pattern", "must be the id of a node")
	}
	if err := validation.Errors(bad).Err(); err != nil {
		return err
	}
	r.SeenAt = fieldmark.At(time.Now())
	news := false
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		before, err := tx.PutNode(ctx, r)
		if err != nil {
			return err
		}
		// An edge that stops leaves the list at once: it is not one that failed.
		if r.Stopping {
			_, err := tx.DeleteNode(ctx, r.Node)
			return err
		}
		if before.Node == "" && r.Name != "" {
			if err := replaceNodes(ctx, tx, r); err != nil {
				return err
			}
		}
		if err := tx.PutUptime(ctx, r.SeenAt, fieldmark.OutageAfter); err != nil {
			return err
		}
		// The edge repeats a rollback in each report; the event is emitted for the first.
		news = r.RolledBack != nil && (before.RolledBack == nil || *before.RolledBack != *r.RolledBack)
		if !news {
			return nil
		}
		_, err = event.Emit(ctx, tx, access.DefaultAccount, store.Event{
			Event:   fieldmark.Event{Type: fieldmark.EventModuleRolledBack},
			Subject: string(r.RolledBack.From.Digest),
		}, struct {
			Node    string `json:"node"`
			Address string `json:"address"`
			fieldmark.ModuleRollback
		}{r.Node, r.Address, *r.RolledBack})
		return err
	})
	if err != nil {
		return fmt.Errorf("store the report of node %s: %w", r.Node, err)
	}
	if news {
		s.log.Error("edge rolled back a scoring module", slog.String("node", r.Address),
			slog.String("from", string(r.RolledBack.From.Digest)),
			slog.String("to", string(r.RolledBack.To.Digest)), slog.String("fault", r.RolledBack.Kind),
			slog.String("error", r.RolledBack.Error))
	}
	return nil
}

// replaceNodes removes the edges whose host and port a new one has: they cannot run any more.
func replaceNodes(ctx context.Context, tx *store.Tx, started fieldmark.NodeReport) error {
	known, err := tx.Nodes(ctx, fieldmark.At(started.SeenAt.Std().Add(-nodeRetention)), maxNodes)
	if err != nil {
		return err
	}
	for _, n := range known {
		if n.Name == started.Name && n.StartedAt.Std().Before(started.StartedAt.Std()) {
			if _, err := tx.DeleteNode(ctx, n.Node); err != nil {
				return err
			}
		}
	}
	return nil
}

// validate checks the name, version, size and digest of a module. The Checker has
// checked what the bytes do.
func validate(ref fieldmark.ModuleRef, bytes []byte) []fieldmark.FieldError {
	var bad validation.Errors
	for _, f := range []struct{ pointer, text string }{{"/name", ref.Name}, {"/version", ref.Version}} {
		if n := utf8.RuneCountInString(f.text); n == 0 || n > maxName || !validation.IsText(f.text, false) {
			bad.Add(f.pointer, "range", fmt.Sprintf("must have 1 to %d characters", maxName))
		}
	}
	if len(bytes) == 0 || len(bytes) > fieldmark.MaxAnyModule {
		bad.Add("/bytes", "too_long", fmt.Sprintf("must be 1 to %d bytes", fieldmark.MaxAnyModule))
	}
	if fieldmark.DigestOf(sha256.Sum256(bytes)) != ref.Digest {
		bad.Add("/digest", "conflict", "is not the digest of the bytes")
	}
	return bad
}

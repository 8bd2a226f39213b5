package module

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
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
)

const (
	// maxName bounds a module's name and version, in code points.
	maxName = 100
	// maxListed bounds the list of kept modules; nobody reads further back.
	maxListed = 200
	// maxNodes bounds the list of edges.
	maxNodes = 1000
	// nodeSilence is how long an edge that says nothing is listed: it says
	// something every half minute.
	nodeSilence = 2 * time.Minute
	// nodeRetention is how long the report of an edge that is gone is kept.
	nodeRetention = time.Hour
)

// CheckResult is what is to be said of a module before anything depends on it.
type CheckResult struct {
	Ref        fieldmark.ModuleRef
	Complaints []string        // every reason against it
	Report     json.RawMessage // all that was seen
}

// Checker is how a Service judges modules it cannot run itself.
type Checker struct {
	// Check tries a module without putting this process at risk.
	Check func(ctx context.Context, module []byte) (CheckResult, error)
	// Compare scores every brand that each gives it by both modules.
	Compare func(ctx context.Context, from, to []byte, each func(func(fieldmark.BrandState) error) error) (fieldmark.ModuleComparison, error)
}

// Config is what a Service needs.
type Config struct {
	Store    *store.Store
	AuditLog *auditlog.Log
	Jobs     *job.Runner
	Log      *slog.Logger
	Brands   *brand.Service
	Module   []byte // the built-in module; nil: none
	Ref      fieldmark.ModuleRef
	Keys     []fieldmark.ModuleKey // signers; empty: modules need no signature
	Desk     Checker               // zero: modules can be neither uploaded nor previewed
}

// Service is the scoring modules. Its methods may be called from any goroutine.
type Service struct {
	store      *store.Store
	auditLog   *auditlog.Log
	jobs       *job.Runner
	log        *slog.Logger
	brands     *brand.Service
	module     []byte
	moduleRef  fieldmark.ModuleRef
	moduleKeys []fieldmark.ModuleKey
	desk       Checker
}

// New returns a Service that has started nothing.
func New(cfg Config) *Service {
	return &Service{store: cfg.Store, auditLog: cfg.AuditLog, jobs: cfg.Jobs, log: cfg.Log, brands: cfg.Brands,
		module: cfg.Module, moduleRef: cfg.Ref, moduleKeys: cfg.Keys, desk: cfg.Desk}
}

// Run compares modules for previews and deletes reports of edges that are gone,
// until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	if s.desk.Compare != nil {
		wg.Go(func() { _ = s.jobs.Work(ctx, store.TopicPreviews, maxRunning, s.claim) })
	}
	wg.Go(func() { s.jobs.AtStartAndEvery(ctx, nodeRetention, "prune nodes", s.pruneNodes) })
	wg.Wait()
	return nil
}

func (s *Service) pruneNodes(ctx context.Context) error {
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.PruneNodes(ctx, fieldmark.At(time.Now().Add(-nodeRetention)))
	})
}

// ActivateBuiltin activates the built-in module unless there is none or a module
// is active.
func (s *Service) ActivateBuiltin(ctx context.Context) error {
	if len(s.module) == 0 {
		return nil
	}
	_, err := s.store.ModulePlan(ctx)
	if errors.Is(err, store.ErrNotFound) {
		err = s.activateBuiltin(ctx)
	}
	return err
}

// Activations tells which modules were put in force and when, oldest first.
func (s *Service) Activations(ctx context.Context) ([]fieldmark.Activation, error) {
	return s.store.Activations(ctx)
}

// ActiveModule names the module that scores now.
func (s *Service) Active(ctx context.Context) (fieldmark.ModuleRef, error) {
	plan, err := s.Plan(ctx)
	return plan.ModuleRef, err
}

// ModulePlan says which modules score.
func (s *Service) Plan(ctx context.Context) (fieldmark.ModulePlan, error) {
	plan, err := s.store.ModulePlan(ctx)
	return plan, store.NotFound(err, "no scoring module is active")
}

// Module returns the bytes of a kept module.
func (s *Service) Body(ctx context.Context, d fieldmark.Digest) ([]byte, error) {
	body, err := s.store.Module(ctx, d)
	return body, store.NotFound(err, "there is no module with this digest")
}

// ListModules lists the kept modules, the newest first.
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

// ModuleRecord tells all that is known of a kept module.
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

// PushModule keeps a module that passes its check and is signed where it must
// be. It scores nothing until it is activated.
func (s *Service) Create(ctx context.Context, p fieldmark.ModulePush) (none fieldmark.ModuleRecord, err error) {
	if len(p.Module) == 0 || len(p.Module) > fieldmark.MaxAnyModule {
		return none, validation.Error("/module", "too_long", fmt.Sprintf("must be 1 to %d bytes", fieldmark.MaxAnyModule))
	}
	digest := fieldmark.DigestOf(sha256.Sum256(p.Module))
	if err := s.checkSignature(digest, p.Signature); err != nil {
		return none, err
	}
	if s.desk.Check == nil {
		return none, fieldmark.Errorf(fieldmark.CodeModuleDisabled, "this origin cannot check modules")
	}
	check, err := s.desk.Check(ctx, p.Module)
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
		return s.auditLog.Append(ctx, tx, "module.push", string(digest), nil, signed)
	})
	if err != nil {
		return none, fmt.Errorf("keep module %s: %w", digest, err)
	}
	return s.Get(ctx, digest)
}

// checkSignature refuses a module whose signature does not hold, or that has none where
// one is wanted. The built-in came with the program.
func (s *Service) checkSignature(d fieldmark.Digest, signature *fieldmark.ModuleSignature) error {
	if signature != nil {
		if err := signature.Check(d); err != nil {
			return err
		}
	}
	if d == s.moduleRef.Digest {
		return nil
	}
	return fieldmark.CheckSigned(d, signature, s.moduleKeys)
}

// problemsError turns validation.Errors about a module into one error, or nil.
func problemsError(d fieldmark.Digest, list []string) error {
	if len(list) == 0 {
		return nil
	}
	err := fieldmark.Errorf(fieldmark.CodeModuleRefused, "module %s has %d faults", d, len(list))
	for _, text := range list {
		err.Fields = append(err.Fields, fieldmark.FieldError{Pointer: "/module", Code: "conflict", Detail: text})
	}
	return err
}

// ActivateModule puts a module in force for all brands. Bytes may be nil for one
// that is kept; others are kept without a check, for what comes with the program.
func (s *Service) ActivateBytes(ctx context.Context, ref fieldmark.ModuleRef, bytes []byte) error {
	if bytes != nil {
		if err := validation.Errors(validate(ref, bytes)).Err(); err != nil {
			return err
		}
		err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			return tx.PutModule(ctx, fieldmark.SignedModule{ModuleRef: ref}, bytes, nil, fieldmark.At(time.Now()))
		})
		if err != nil {
			return fmt.Errorf("keep module %s: %w", ref.Digest, err)
		}
	}
	_, err := s.Activate(ctx, ref.Digest, 100)
	return err
}

// activateBuiltin activates the built-in module unless a module is active by then:
// of several origins that start at once, and an operator who activates another
// module meanwhile, the first one decides.
func (s *Service) activateBuiltin(ctx context.Context) error {
	if err := validation.Errors(validate(s.moduleRef, s.module)).Err(); err != nil {
		return err
	}
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		plan, err := tx.ModulePlan(ctx)
		if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if err := tx.PutModule(ctx, fieldmark.SignedModule{ModuleRef: s.moduleRef}, s.module, nil, fieldmark.At(time.Now())); err != nil {
			return err
		}
		return s.put(ctx, tx, s.moduleRef, 100, &plan)
	})
	if err != nil {
		return fmt.Errorf("activate module %s: %w", s.moduleRef.Digest, err)
	}
	return nil
}

// activation is the data of the event: the module, and its share of the brands
// where that is not all.
type activation struct {
	fieldmark.ModuleRef
	Percent int `json:"percent,omitempty"`
}

// PutInForce has a kept module score all brands, or, for a percent of 1 to 99, a
// share of them on trial. What is so already stays so without an event. The comparePlan
// module again after it was on trial, or another, ends the trial.
func (s *Service) Activate(ctx context.Context, d fieldmark.Digest, percent int) (plan fieldmark.ModulePlan, err error) {
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
		kept, err := tx.SignedModule(ctx, d)
		if err != nil {
			return store.NotFound(err, "there is no module with this digest")
		}
		if err := s.checkSignature(d, kept.Signature); err != nil {
			return err
		}
		return s.put(ctx, tx, kept.ModuleRef, percent, &plan)
	})
	if err != nil {
		return plan, fmt.Errorf("activate module %s: %w", d, err)
	}
	return plan, nil
}

// errPlanChanges says that a plan is another than the one asked for.
var errPlanChanges = errors.New("another plan")

// comparePlan reports nil where a plan is already what is asked for, errPlanChanges where it
// is not, and why it cannot be asked for otherwise.
func comparePlan(plan *fieldmark.ModulePlan, none bool, d fieldmark.Digest, percent int) error {
	switch {
	case none && percent < 100:
		return fieldmark.Errorf(fieldmark.CodeModuleRefused, "no module is in force beside which another could be on trial")
	case none:
		return errPlanChanges
	case percent == 100 && plan.Digest == d && plan.Canary == nil:
		return nil
	case percent < 100 && plan.Digest == d:
		return fieldmark.Errorf(fieldmark.CodeModuleRefused, "module %s is in force already", d)
	case percent < 100 && plan.Canary != nil && plan.Canary.Digest == d && plan.Canary.Percent == percent:
		return nil
	}
	return errPlanChanges
}

// put writes an activation and reads the plan it makes.
func (s *Service) put(ctx context.Context, tx *store.Tx, ref fieldmark.ModuleRef, percent int, plan *fieldmark.ModulePlan) error {
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
	if err := tx.ActivateModule(ctx, ref.Digest, number, percent); err != nil {
		return err
	}
	if *plan, err = tx.ModulePlan(ctx); err != nil {
		return err
	}
	return s.auditLog.Append(ctx, tx, "module.activate", string(ref.Digest), before, *plan)
}

// RollBackModule ends a trial if there is one, and otherwise puts the module
// before in force again.
func (s *Service) RollBack(ctx context.Context) (plan fieldmark.ModulePlan, err error) {
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if plan, err = tx.ModulePlan(ctx); err != nil {
			return store.NotFound(err, "no scoring module is active")
		}
		to := plan.SignedModule
		if plan.Canary == nil {
			if plan.Previous == nil {
				return fieldmark.Errorf(fieldmark.CodeModuleRefused, "there is no module before the one in force")
			}
			to = *plan.Previous
		}
		if err := s.checkSignature(to.Digest, to.Signature); err != nil {
			return err
		}
		return s.put(ctx, tx, to.ModuleRef, 100, &plan)
	})
	if err != nil {
		return plan, fmt.Errorf("roll back the module: %w", err)
	}
	return plan, nil
}

// ModuleStatus tells the plan and what every edge makes of it.
func (s *Service) Status(ctx context.Context) (status fieldmark.ModuleStatus, err error) {
	if status.Plan, err = s.Plan(ctx); err != nil {
		return status, err
	}
	if status.Nodes, err = s.store.Nodes(ctx, fieldmark.At(time.Now().Add(-nodeSilence)), maxNodes); err != nil {
		return status, err
	}
	slices.SortFunc(status.Nodes, func(a, b fieldmark.NodeReport) int {
		if a.Address != b.Address {
			return compare(a.Address, b.Address)
		}
		return compare(a.Node, b.Node)
	})
	return status, nil
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// NoteNode keeps what an edge says of itself. That it took a module back is an
// event, for whoever subscribed to it, and an error in the log, once.
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
		return fmt.Errorf("note node %s: %w", r.Node, err)
	}
	if news {
		s.log.Error("an edge took a scoring module back", slog.String("node", r.Address), slog.String("from", string(r.RolledBack.From.Digest)),
			slog.String("to", string(r.RolledBack.To.Digest)), slog.String("fault", r.RolledBack.Kind), slog.String("error", r.RolledBack.Error))
	}
	return nil
}

// validate holds a module to its name. What the bytes do is for the desk to
// judge, before.
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

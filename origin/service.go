package origin

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
)

// DefaultAccount owns what is made without naming an account.
const DefaultAccount = "default"

// Config holds what a Service is made of.
type Config struct {
	Store     *store.Store
	Secret    []byte              // the application secret, at least 32 bytes; every key at rest is derived from it
	Module    []byte              // the built-in scoring module
	ModuleRef fieldmark.ModuleRef // its name; activated when no module is
	Log       *slog.Logger        // nil: nothing is logged
	PublicAPI bool                // whether missions may come in from outside; shown by Health only
}

// Service is the origin without a network in front of it.
type Service struct{}

var errEmpty = errors.New("not built")

// New checks cfg and returns a Service that has started nothing.
func New(cfg Config) (*Service, error) { return &Service{}, nil }

func (s *Service) Prepare(ctx context.Context) error { return errEmpty }
func (s *Service) Run(ctx context.Context) error     { return errEmpty }
func (s *Service) Health(ctx context.Context) error  { return errEmpty }

func (s *Service) PutBrand(ctx context.Context, b fieldmark.Brand) (fieldmark.Brand, bool, error) {
	return fieldmark.Brand{}, false, errEmpty
}
func (s *Service) ImportBrands(ctx context.Context, brands []fieldmark.Brand) (fieldmark.ImportReport, error) {
	return fieldmark.ImportReport{}, errEmpty
}
func (s *Service) Brand(ctx context.Context, slug fieldmark.Slug) (fieldmark.Brand, error) {
	return fieldmark.Brand{}, errEmpty
}
func (s *Service) Brands(ctx context.Context, after fieldmark.Slug, limit int) ([]fieldmark.Brand, error) {
	return nil, errEmpty
}
func (s *Service) BrandState(ctx context.Context, slug fieldmark.Slug) (state fieldmark.BrandState, asOf int64, err error) {
	return fieldmark.BrandState{}, 0, errEmpty
}
func (s *Service) EachBrandState(ctx context.Context, fn func(fieldmark.BrandState) error) (asOf int64, err error) {
	return 0, errEmpty
}
func (s *Service) RequestAudit(ctx context.Context, slug fieldmark.Slug) error { return errEmpty }
func (s *Service) RecordFacts(ctx context.Context, slug fieldmark.Slug, f fieldmark.Facts) (changed bool, err error) {
	return false, errEmpty
}
func (s *Service) AuditStatus(ctx context.Context) (waiting, running int, err error) {
	return 0, 0, errEmpty
}
func (s *Service) OpenMission(ctx context.Context, account string, r fieldmark.MissionRequest) (m fieldmark.Mission, created bool, err error) {
	return fieldmark.Mission{}, false, errEmpty
}
func (s *Service) Mission(ctx context.Context, account, id string) (fieldmark.Mission, error) {
	return fieldmark.Mission{}, errEmpty
}
func (s *Service) Missions(ctx context.Context, account string, f fieldmark.MissionFilter) (fieldmark.List[fieldmark.Mission], error) {
	return fieldmark.List[fieldmark.Mission]{}, errEmpty
}
func (s *Service) MoveMission(ctx context.Context, id string, to fieldmark.MissionStatus, reason *fieldmark.Reason) (fieldmark.Mission, error) {
	return fieldmark.Mission{}, errEmpty
}
func (s *Service) CompleteMission(ctx context.Context, id string) (fieldmark.Mission, error) {
	return fieldmark.Mission{}, errEmpty
}
func (s *Service) CreateKey(ctx context.Context, account string, r fieldmark.KeyRequest) (fieldmark.NewKey, error) {
	return fieldmark.NewKey{}, errEmpty
}
func (s *Service) Authenticate(ctx context.Context, token string) (fieldmark.Key, error) {
	return fieldmark.Key{}, errEmpty
}
func (s *Service) Keys(ctx context.Context) ([]fieldmark.Key, error) { return nil, errEmpty }
func (s *Service) RevokeKey(ctx context.Context, id string) (fieldmark.Key, error) {
	return fieldmark.Key{}, errEmpty
}
func (s *Service) SetAdminPassword(ctx context.Context, user, password string) error { return errEmpty }
func (s *Service) SignIn(ctx context.Context, user, password string) (session string, err error) {
	return "", errEmpty
}
func (s *Service) Session(ctx context.Context, token string) (user string, err error) {
	return "", errEmpty
}
func (s *Service) SignOut(ctx context.Context, token string) error { return errEmpty }
func (s *Service) Events(ctx context.Context, after int64, wait time.Duration, limit int) (fieldmark.EventPage, error) {
	return fieldmark.EventPage{}, errEmpty
}
func (s *Service) Head(ctx context.Context) (int64, error) { return 0, errEmpty }
func (s *Service) ActiveModule(ctx context.Context) (fieldmark.ModuleRef, error) {
	return fieldmark.ModuleRef{}, errEmpty
}
func (s *Service) Module(ctx context.Context, d fieldmark.Digest) ([]byte, error) {
	return nil, errEmpty
}
func (s *Service) ActivateModule(ctx context.Context, ref fieldmark.ModuleRef, bytes []byte) error {
	return errEmpty
}
func (s *Service) CreateEndpoint(ctx context.Context, account string, r fieldmark.EndpointRequest) (fieldmark.NewEndpoint, error) {
	return fieldmark.NewEndpoint{}, errEmpty
}
func (s *Service) Endpoints(ctx context.Context) ([]fieldmark.Endpoint, error) { return nil, errEmpty }
func (s *Service) DeleteEndpoint(ctx context.Context, id string) error         { return errEmpty }
func (s *Service) Deliveries(ctx context.Context, limit int) ([]fieldmark.Delivery, error) {
	return nil, errEmpty
}

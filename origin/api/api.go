package api

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/idempotency"
	"github.com/fieldmark/fieldmark/origin/llms/probe"
)

// Config holds the dependencies and settings of the API.
type Config struct {
	Service *origin.Service
	// authenticates edges under /internal/ and for client addresses: see fieldmark.ParseNodeTokens
	NodeToken string
	BaseURL   string        // public address of the edges, for the types of problems; "": relative references
	PublicAPI bool          // false: everything under /api/public/ is 404 module_disabled
	Log       *slog.Logger  // access log and errors; nil: discarded
	Version   string        // of the program, for the OpenAPI document and HeaderEdition
	Prober    *probe.Prober // fetches files for the linter; nil: the linter accepts content only
}

// server routes requests to the handlers, after it has checked the caller. It does not change after New.
type server struct {
	base      string // Config.BaseURL without a slash at the end
	publicAPI bool
	log       *slog.Logger
	nodes     fieldmark.NodeTokens
	keys      *access.Keys
	auditLog  *auditlog.Log
	responses *idempotency.Service
	mux       *http.ServeMux
	openAPI   document
}

// New returns the handler of everything the origin serves except the admin console.
func New(cfg Config) (http.Handler, error) {
	var bad []error
	if cfg.Service == nil {
		bad = append(bad, errors.New("api: a service is required"))
	}
	if cfg.NodeToken == "" {
		bad = append(bad, errors.New("api: a node token is required"))
	}
	if err := errors.Join(bad...); err != nil {
		return nil, err
	}
	s := &server{
		base:      strings.TrimSuffix(cfg.BaseURL, "/"),
		publicAPI: cfg.PublicAPI,
		log:       cfg.Log,
		nodes:     fieldmark.ParseNodeTokens(cfg.NodeToken),
		keys:      cfg.Service.Access.Keys,
		auditLog:  cfg.Service.AuditLog,
		responses: cfg.Service.Responses,
		mux:       http.NewServeMux(),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	routes, err := s.routes(cfg)
	if err != nil {
		return nil, fmt.Errorf("api: %w", err)
	}
	if s.openAPI, err = describe(routes, cfg.Version); err != nil {
		return nil, fmt.Errorf("api: describe: %w", err)
	}
	s.mount(routes)
	return s, nil
}

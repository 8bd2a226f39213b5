package api

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/fieldmark/fieldmark/origin"
)

// Config says whom the API serves and for whom.
type Config struct {
	Service   *origin.Service
	NodeToken string       // what edges present under /internal/, and to be believed about a client's address
	PublicAPI bool         // false: everything under /api/public/ is 404 module_disabled
	Log       *slog.Logger // one line for each request; nil: none
	Version   string       // of the program, told in the OpenAPI document
}

// server holds what handlers share; nothing in it changes after New.
type server struct {
	origin    *origin.Service
	nodeToken [sha256.Size]byte // hashed, so that comparing takes the same time at any length
	publicAPI bool
	log       *slog.Logger
	mux       *http.ServeMux
	openAPI   document
	problems  *problemPages
}

// New builds everything the origin answers except its pages for administrators.
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
		origin:    cfg.Service,
		nodeToken: sha256.Sum256([]byte(cfg.NodeToken)),
		publicAPI: cfg.PublicAPI,
		log:       cfg.Log,
		mux:       http.NewServeMux(),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if s.problems, err = newProblemPages(); err != nil {
		return nil, fmt.Errorf("api: problem pages: %w", err)
	}
	routes := s.routes()
	if s.openAPI, err = describe(routes, cfg.Version); err != nil {
		return nil, fmt.Errorf("api: describe: %w", err)
	}
	s.mount(routes)
	return s, nil
}

package api

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/llms"
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

// server is the state that the handlers share. It does not change after New.
type server struct {
	origin    *origin.Service
	nodes     fieldmark.NodeTokens
	base      string // Config.BaseURL without a slash at the end
	publicAPI bool
	log       *slog.Logger
	prober    *probe.Prober
	alerts    chan struct{} // semaphore of the notifications in progress
	version   string        // the value of HeaderEdition: cached responses of another version are stale
	mux       *http.ServeMux
	openAPI   document
	problems  *problemPages
	polls     eventPolls

	eventTypes document
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
		origin:    cfg.Service,
		nodes:     fieldmark.ParseNodeTokens(cfg.NodeToken),
		base:      strings.TrimSuffix(cfg.BaseURL, "/"),
		publicAPI: cfg.PublicAPI,
		log:       cfg.Log,
		prober:    cfg.Prober,
		alerts:    make(chan struct{}, maxAlerts),
		version:   strconv.Itoa(llms.TemplateVersion) + "-" + cfg.Version,
		mux:       http.NewServeMux(),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.polls = eventPolls{read: s.readEvents, polls: map[eventPosition]*eventPoll{}}
	var err error
	if s.problems, err = newProblemPages(); err != nil {
		return nil, fmt.Errorf("api: problem pages: %w", err)
	}
	if s.eventTypes, err = describeEvents(); err != nil {
		return nil, fmt.Errorf("api: describe events: %w", err)
	}
	routes := s.routes()
	if s.openAPI, err = describe(routes, cfg.Version); err != nil {
		return nil, fmt.Errorf("api: describe: %w", err)
	}
	s.mount(routes)
	return s, nil
}

package api

import (
	"errors"
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
	return http.NotFoundHandler(), nil
}

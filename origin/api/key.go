package api

import (
	"net/http"
	"strconv"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
)

// listKeys lists every key, without its secret.
func (s *server) listKeys(c *call) error {
	keys, err := s.origin.Keys(c.r.Context())
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, list(keys))
}

// createKey makes a key for the default account.
func (s *server) createKey(c *call) error {
	var req fieldmark.KeyRequest
	err := c.decode(&req, func() (bad []fieldmark.FieldError) {
		for i, scope := range req.Scopes {
			if _, err := fieldmark.ParseScope(string(scope)); err != nil {
				bad = append(bad, fieldmark.FieldError{Pointer: "/scopes/" + strconv.Itoa(i), Code: "enum", Detail: "must be a known scope"})
			}
		}
		return bad
	})
	if err != nil {
		return err
	}
	k, err := s.origin.CreateKey(c.r.Context(), origin.DefaultAccount, req)
	if err != nil {
		return err
	}
	return c.send(http.StatusCreated, k)
}

// revokeKey ends a key.
func (s *server) revokeKey(c *call) error {
	id, err := c.id(fieldmark.PrefixKey)
	if err != nil {
		return err
	}
	k, err := s.origin.RevokeKey(c.r.Context(), id)
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, k)
}

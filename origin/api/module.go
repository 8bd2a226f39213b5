package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/fieldmark/fieldmark"
)

// activateModule makes a module the active one, or starts it as a canary.
func (s *server) activateModule(
	ctx context.Context, digest fieldmark.Digest, r fieldmark.ModuleActivation,
) (fieldmark.ModulePlan, error) {
	return s.origin.Modules.Activate(ctx, digest, r.Percent)
}

// module sends the bytes of a module. They never change, because the digest identifies them.
func (s *server) module(c *call) error {
	digest, err := digestParam(c)
	if err != nil {
		return err
	}
	b, err := s.origin.Modules.Body(c.r.Context(), digest)
	if err != nil {
		return err
	}
	c.w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
	if c.notModified(strconv.Quote(string(digest))) {
		return nil
	}
	return c.sendBytes(http.StatusOK, "application/wasm", b)
}

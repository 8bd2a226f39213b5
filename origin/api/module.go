package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/module"
)

// moduleAPI serves scoring modules to administrators and to edges.
type moduleAPI struct{ modules *module.Service }

// activate makes a module the active one, or starts it as a canary.
func (a *moduleAPI) activate(
	ctx context.Context, digest fieldmark.Digest, r fieldmark.ModuleActivation,
) (fieldmark.ModulePlan, error) {
	return a.modules.Activate(ctx, digest, r.Percent)
}

// sendBody sends the bytes of a module. They never change, because the digest identifies them.
func (a *moduleAPI) sendBody(c *call) error {
	digest, err := digestParam(c)
	if err != nil {
		return err
	}
	b, err := a.modules.Body(c.r.Context(), digest)
	if err != nil {
		return err
	}
	c.w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
	if c.notModified(strconv.Quote(string(digest))) {
		return nil
	}
	return c.sendBytes(http.StatusOK, "application/wasm", b)
}

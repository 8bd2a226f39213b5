package api

import (
	"net/http"

	"github.com/fieldmark/fieldmark"
)

func (s *server) listModules(c *call) error {
	list, err := s.origin.Modules(c.r.Context())
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, fieldmark.List[fieldmark.ModuleRecord]{Data: list})
}

// pushModule checks a module and keeps it.
func (s *server) pushModule(c *call) error {
	var push fieldmark.ModulePush
	if err := c.decode(&push, nil); err != nil {
		return err
	}
	record, err := s.origin.PushModule(c.r.Context(), push)
	if err != nil {
		return err
	}
	return c.send(http.StatusCreated, record)
}

func (s *server) moduleStatus(c *call) error {
	status, err := s.origin.ModuleStatus(c.r.Context())
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, status)
}

func (s *server) rollBackModule(c *call) error {
	plan, err := s.origin.RollBackModule(c.r.Context())
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, plan)
}

// digest reads the digest in a path.
func (c *call) digest() (fieldmark.Digest, error) {
	digest, err := fieldmark.ParseDigest(c.r.PathValue("digest"))
	if err != nil {
		return "", fieldmark.Errorf(fieldmark.CodeNotFound, "there is no module with this digest")
	}
	return digest, nil
}

func (s *server) showModule(c *call) error {
	digest, err := c.digest()
	if err != nil {
		return err
	}
	record, err := s.origin.ModuleRecord(c.r.Context(), digest)
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, record)
}

// activateModule puts a module in force, or on trial.
func (s *server) activateModule(c *call) error {
	digest, err := c.digest()
	if err != nil {
		return err
	}
	var want fieldmark.ModuleActivation
	if err := c.decode(&want, nil); err != nil {
		return err
	}
	plan, err := s.origin.PutInForce(c.r.Context(), digest, want.Percent)
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, plan)
}

func (s *server) showPreview(c *call) error {
	digest, err := c.digest()
	if err != nil {
		return err
	}
	preview, err := s.origin.Preview(c.r.Context(), digest)
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, preview)
}

// previewModule has every brand scored by a module, beside the one in force.
func (s *server) previewModule(c *call) error {
	digest, err := c.digest()
	if err != nil {
		return err
	}
	preview, err := s.origin.RequestPreview(c.r.Context(), digest)
	if err != nil {
		return err
	}
	return c.send(http.StatusAccepted, preview)
}

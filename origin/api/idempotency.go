package api

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/idempotency"
	"github.com/fieldmark/fieldmark/origin/mission"
)

// maxIdempotencyKey bounds a key in characters; it is what other APIs allow.
const maxIdempotencyKey = 255

// idempotencyKey returns the Idempotency-Key of a request, "" without the field. The value is quoted, as the
// IETF draft says (a String of RFC 9651), or bare, as most clients send it.
func idempotencyKey(h http.Header) (string, error) {
	fields := h.Values(fieldmark.HeaderIdempotencyKey)
	if len(fields) == 0 {
		return "", nil
	}
	// Two keys would name two saved responses.
	if len(fields) > 1 {
		return "", fieldmark.Errorf(fieldmark.CodeInvalidIdempotency, "send one Idempotency-Key header")
	}
	key := strings.Trim(fields[0], " \t")
	ok := true
	if strings.HasPrefix(key, `"`) {
		key, ok = unquote(key)
	} else {
		ok = !strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c > '~' })
	}
	if !ok || key == "" || len(key) > maxIdempotencyKey {
		return "", fieldmark.Errorf(fieldmark.CodeInvalidIdempotency,
			"the key must have 1 to %d visible ASCII characters, bare or in double quotes", maxIdempotencyKey)
	}
	return key, nil
}

// unquote parses a String of RFC 9651 (section 4.2.5) that nothing follows.
// Parameters after the string of an item (RFC 9651, section 3.3) are rejected.
func unquote(s string) (string, bool) {
	var out strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return out.String(), i == len(s)-1
		case c == '\\':
			if i++; i == len(s) || s[i] != '"' && s[i] != '\\' {
				return "", false
			}
			out.WriteByte(s[i])
		case c < ' ' || c > '~':
			return "", false
		default:
			out.WriteByte(c)
		}
	}
	return "", false
}

// serveIdempotent serves a route that saves its response in the transaction of its effects. A repeated
// request gets the saved response. Errors that a repetition would get again are saved too; errors that
// depend on the moment are not.
// Another request with the key that is in flight is waited for; a different request with the same key is
// CodeIdempotencyReused.
func (s *server) serveIdempotent(c *call) error {
	key, err := idempotencyKey(c.r.Header)
	if err != nil || key == "" {
		if err == nil {
			err = c.route.handler.serve(c)
		}
		return err
	}
	body, err := c.readBody()
	if err != nil {
		return err
	}
	c.idempotency = idempotency.Key{Account: c.key.Account, Name: key, Request: requestDigest(c.r, body)}
	saved, end, err := s.responses.Begin(c.r.Context(), c.idempotency)
	if err != nil {
		return err
	}
	defer end()
	// Before the quota of agents: a repetition writes nothing.
	if saved.Replayed {
		return c.sendSaved(saved)
	}
	if c.agent != nil {
		if err := s.countAgent(c); err != nil {
			return err
		}
	}
	err = c.route.handler.serve(c)
	e := fieldmark.AsError(err)
	if err == nil || !repeatable(e) {
		return err
	}
	// A repetition gets the request id of this request: the log has it.
	refusal := idempotency.Response{Status: e.Code.Status(), Body: problemBody(c.w, e), Mission: e.MissionID}
	if e.MissionID != "" {
		refusal.Fields = map[string]string{"Location": missionPath(e.MissionID)}
	}
	if refusal, err = s.responses.SaveRefusal(c.r.Context(), c.idempotency, refusal); err != nil {
		return err
	}
	c.w.code, c.w.cause = e.Code, e
	return c.sendSaved(refusal)
}

// reservable reports whether a route accepts an Idempotency-Key that is reserved before its handler runs:
// every write with an API key that does not save its response in the transaction of its effects.
func (rt *route) reservable() bool {
	keyed := rt.access.scope != "" && !rt.access.secret || rt.access == anyKey
	return keyed && !rt.op.idempotent && rt.method != http.MethodGet
}

// serveReserved is serveIdempotent for a handler whose effects are not in one transaction with the saved
// response, such as a request to another server.
func (s *server) serveReserved(c *call, next func(*call) error) error {
	key, err := idempotencyKey(c.r.Header)
	if err != nil || key == "" {
		if err == nil {
			err = next(c)
		}
		return err
	}
	body, err := c.readBody()
	if err != nil {
		return err
	}
	reserved := idempotency.Key{Account: c.key.Account, Name: key, Request: requestDigest(c.r, body)}
	// The reservation is a row of the database, so it holds in every process.
	reservation, response, err := s.responses.Reserve(c.r.Context(), reserved)
	if err != nil {
		return err
	}
	if response.Replayed {
		return c.sendSaved(response)
	}
	// The response is saved even if the client leaves, because the effects remain.
	saveCtx, cancel := context.WithTimeout(context.WithoutCancel(c.r.Context()), c.route.timeout()+handlerTimeout)
	defer cancel()
	saved := false
	defer func() {
		if saved { // otherwise an error that depends on the moment, or a panic
			return
		}
		if err := reservation.Release(saveCtx); err != nil {
			s.log.Error("release idempotency key", "requestId", c.w.requestID, "error", err)
		}
	}()
	// Release depends on whether the handler wrote anything: then the key stays reserved.
	c.r = c.r.WithContext(reservation.Context(c.r.Context()))
	c.buffered = &idempotency.Response{Fields: map[string]string{}}
	err = next(c)
	response, c.buffered = *c.buffered, nil
	if e := fieldmark.AsError(err); err != nil {
		if !repeatable(e) {
			return err
		}
		response = idempotency.Response{Status: e.Code.Status(), Body: problemBody(c.w, e)}
		c.w.code, c.w.cause = e.Code, e
	}
	saved = true
	if err := reservation.Save(saveCtx, response); err != nil {
		s.log.Error("save response", "requestId", c.w.requestID, "error", err) // repeated requests will be rejected
	}
	return c.sendSaved(response)
}

// buffer keeps a response that must be saved before it is sent, and reports whether it does.
func (c *call) buffer(status int, body []byte) bool {
	if c.buffered == nil {
		return false
	}
	for _, name := range []string{"ETag", "Location"} {
		if value := c.w.Header().Get(name); value != "" {
			c.buffered.Fields[name] = value
		}
	}
	c.buffered.Status, c.buffered.Body = status, body
	return true
}

// repeatable reports whether the same request would get the same error again.
// Those are 409 and 422, which the request itself causes. Limits (429), timeouts and errors of the
// server (5xx) may be gone the next time.
func repeatable(e *fieldmark.Error) bool {
	status := e.Code.Status()
	return (status == http.StatusConflict || status == http.StatusUnprocessableEntity) &&
		e.Code != fieldmark.CodeIdempotencyInFlight && e.Code != fieldmark.CodeIdempotencyReused
}

// requestDigest identifies a request by its method, address and body.
// The query is part of it, because parameters such as dryRun change what a request does. Header fields
// are not: a client library may change those between two attempts.
func requestDigest(r *http.Request, body []byte) fieldmark.Digest {
	h := sha256.New()
	_, _ = h.Write([]byte(r.Method + "\n" + r.URL.RequestURI() + "\n")) // never fails
	_, _ = h.Write(body)
	return fieldmark.DigestOf([sha256.Size]byte(h.Sum(nil)))
}

// execute runs an operation on missions and sends its response, which is saved in the transaction of the
// operation if the request has an idempotency key.
func (a *missionAPI) execute(c *call, op mission.Operation, render mission.Render) error {
	// The history of the mission names the key by its id.
	ctx := auditlog.WithActor(c.r.Context(), auditlog.Actor{Kind: fieldmark.ActorKey, Name: c.key.ID})
	response, err := a.missions.Execute(ctx, c.idempotency, op, render)
	if err != nil {
		return err
	}
	return c.sendSaved(response)
}

// dryRunParam is the query parameter of writes that can be tried. Writes without it refuse it as an unknown
// parameter, so a client never acts in earnest by mistake.
var dryRunParam = param{name: "dryRun", enum: []string{"true", "false"},
	description: "true validates and runs the request, and then undoes it. The status is 200, the body is the one " +
		"the request would have had, with ids that begin with dry for what it would create, and the response has " +
		fieldmark.HeaderDryRun + ". No event is emitted, and an Idempotency-Key is ignored. " +
		"It counts as a write"}

// dryRun reports whether the effects of the request must be undone.
func (c *call) dryRun() bool { return strings.EqualFold(c.params.text(dryRunParam.name), "true") }

// sendSaved sends a response, and marks one that was saved by an earlier request.
func (c *call) sendSaved(a idempotency.Response) error {
	h := c.w.Header()
	for name, value := range a.Fields {
		h.Set(name, value)
	}
	if c.dryRun() {
		a.Status = http.StatusOK
		h.Del("Location") // nothing is there
		h.Del("ETag")     // and no such version exists
	}
	if a.Replayed {
		h.Set(fieldmark.HeaderReplayed, "true")
	}
	// A response without a body has no media type.
	if a.Status == http.StatusNoContent || len(a.Body) == 0 {
		return c.sendEmpty(a.Status)
	}
	mediaType := jsonType
	if a.Status >= http.StatusBadRequest {
		mediaType = fieldmark.ProblemType
	}
	return c.sendBytes(a.Status, mediaType, a.Body)
}

// problemBody encodes an error as a problem document.
func problemBody(w *responseWriter, e *fieldmark.Error) []byte {
	b, err := json.Marshal(e.Problem(w.base, w.requestID))
	if err != nil {
		b = []byte(`{"code":"internal","status":500}`)
	}
	return append(b, '\n')
}

// admitAgent applies what a key lets agents do to a request that an edge marked as one of an
// agent. A dry run gets the token with which it may be repeated in earnest; without one, nothing
// is written. The token is also the idempotency key, so that a write that is sent twice is made
// once.
func (s *server) admitAgent(c *call) error {
	if c.route.method == http.MethodGet {
		return access.AdmitAgent(&c.key.Key, false)
	}
	// Only these can be tried first, and are made once when sent twice.
	if !c.route.op.dryRun || !c.route.op.idempotent {
		return fieldmark.Errorf(fieldmark.CodeAgentNotAllowed, "agents may only write missions")
	}
	if err := access.AdmitAgent(&c.key.Key, !c.dryRun()); err != nil {
		return err
	}
	body, err := c.readBody()
	if err != nil {
		return err
	}
	w := &access.AgentWrite{Key: c.key.Key, Method: c.r.Method, Path: c.r.URL.Path, Body: body,
		IfMatch: strings.Join(c.r.Header.Values("If-Match"), ","), Operation: c.route.op.id}
	if c.dryRun() {
		if c.key.Agent == fieldmark.AgentWrite {
			c.w.Header().Set(fieldmark.HeaderConfirm, s.keys.ConfirmToken(w))
		}
		return nil
	}
	token := c.r.Header.Get(fieldmark.HeaderConfirm)
	if err := s.keys.CheckConfirm(w, token); err != nil {
		return err
	}
	// Set, not added: a key that the agent sent itself would let one token write several times.
	c.r.Header.Set(fieldmark.HeaderIdempotencyKey, token)
	c.agent = w
	return nil
}

// countAgent counts a write of an agent. The audit log records that an agent made it.
func (s *server) countAgent(c *call) error {
	by := s.actor(c, c.key.ID)
	by.Agent = c.r.Header.Get(fieldmark.HeaderAgent) + ": " + by.Agent
	return s.keys.CountAgentWrite(auditlog.WithActor(c.r.Context(), by), c.agent)
}

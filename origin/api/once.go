package api

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
)

// maxIdempotencyKey bounds a key in characters, as those who send them do.
const maxIdempotencyKey = 255

// idempotencyKey reads the key a request may be repeated under; no field is no
// key. It comes quoted, as the draft has it (a String of RFC 9651), or bare, as
// most clients send it.
func idempotencyKey(h http.Header) (string, error) {
	fields := h.Values(fieldmark.HeaderIdempotencyKey)
	if len(fields) == 0 {
		return "", nil
	}
	if len(fields) > 1 {
		return "", fieldmark.Errorf(fieldmark.CodeInvalidIdempotency, "the field is there more than once")
	}
	key := strings.Trim(fields[0], " \t")
	ok := true
	if strings.HasPrefix(key, `"`) {
		key, ok = unquote(key)
	} else {
		ok = !strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c > '~' })
	}
	if !ok || key == "" || len(key) > maxIdempotencyKey {
		return "", fieldmark.Errorf(fieldmark.CodeInvalidIdempotency, "it must have 1 to %d visible ASCII characters, bare or in double quotes", maxIdempotencyKey)
	}
	return key, nil
}

// unquote reads a String of RFC 9651 (section 4.2.5), and nothing after it.
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

// handleOnce answers a request that may come under a key: the answer that was
// given before, or what the handler says. Refusals of the handler that a repeat
// would run into again are kept like answers; what may pass is not.
func (s *server) handleOnce(c *call) error {
	key, err := idempotencyKey(c.r.Header)
	if err != nil || key == "" {
		if err == nil {
			err = c.route.handle(c)
		}
		return err
	}
	if c.body, err = c.readBody(); err != nil {
		return err
	}
	c.once = origin.Once{Account: c.key.Account, Key: key, Request: requestDigest(c.r, c.body)}
	answer, end, err := s.origin.Begin(c.r.Context(), c.once)
	if err != nil {
		return err
	}
	defer end()
	if answer.Replayed {
		return c.sendAnswer(answer)
	}
	err = c.route.handle(c)
	e := fieldmark.AsError(err)
	if err == nil || !keeps(e) {
		return err
	}
	refusal := origin.Answer{Status: e.Code.Status(), Body: problemBody(c.w, e), Mission: e.MissionID}
	if e.MissionID != "" {
		refusal.Fields = map[string]string{"Location": missionPath(e.MissionID)}
	}
	if refusal, err = s.origin.KeepRefusal(c.r.Context(), c.once, refusal); err != nil {
		return err
	}
	c.w.code, c.w.cause = e.Code, e
	return c.sendAnswer(refusal)
}

// reservable reports whether a route takes an Idempotency-Key that is reserved
// before its handler runs: every write with a key's rights whose answer is not
// kept in the transaction of its effects.
func (rt *route) reservable() bool {
	return !rt.op.once && rt.access.scope != "" && rt.method != http.MethodGet
}

// handleReserved answers a request that may come under a key like handleOnce,
// where next has effects that are not one transaction with the answer.
func (s *server) handleReserved(c *call, next func(*call) error) error {
	key, err := idempotencyKey(c.r.Header)
	if err != nil || key == "" {
		if err == nil {
			err = next(c)
		}
		return err
	}
	if c.body, err = c.readBody(); err != nil {
		return err
	}
	once := origin.Once{Account: c.key.Account, Key: key, Request: requestDigest(c.r, c.body)}
	reservation, answer, err := s.origin.Reserve(c.r.Context(), once)
	if err != nil {
		return err
	}
	if answer.Replayed {
		return c.sendAnswer(answer)
	}
	// What follows happens although the client leaves: its effects are there.
	last, cancel := context.WithTimeout(context.WithoutCancel(c.r.Context()), c.route.timeout()+handlerTimeout)
	defer cancel()
	saved := false
	defer func() {
		if saved { // otherwise a failure that may pass, or a panic
			return
		}
		if err := reservation.Release(last); err != nil {
			s.log.Error("release an idempotency key", "requestId", c.w.id, "error", err)
		}
	}()
	c.r = c.r.WithContext(reservation.Context(c.r.Context()))
	c.held = &origin.Answer{Fields: map[string]string{}}
	err = next(c)
	answer, c.held = *c.held, nil
	if e := fieldmark.AsError(err); err != nil {
		if !keeps(e) {
			return err
		}
		answer = origin.Answer{Status: e.Code.Status(), Body: problemBody(c.w, e)}
		c.w.code, c.w.cause = e.Code, e
	}
	saved = true
	if err := reservation.Save(last, answer); err != nil {
		s.log.Error("save a response", "requestId", c.w.id, "error", err) // repeats are refused; this one is answered
	}
	return c.sendAnswer(answer)
}

// hold takes an answer that is sent after it was saved, and reports whether it is.
func (c *call) hold(status int, body []byte) bool {
	if c.held == nil {
		return false
	}
	for _, name := range []string{"ETag", "Location"} {
		if value := c.w.Header().Get(name); value != "" {
			c.held.Fields[name] = value
		}
	}
	c.held.Status, c.held.Body = status, body
	return true
}

// keeps reports whether a refusal is one of what was asked for, and not of when.
func keeps(e *fieldmark.Error) bool {
	status := e.Code.Status()
	return (status == http.StatusConflict || status == http.StatusUnprocessableEntity) &&
		e.Code != fieldmark.CodeIdempotencyInFlight && e.Code != fieldmark.CodeIdempotencyReused
}

// requestDigest names what was asked for.
func requestDigest(r *http.Request, body []byte) fieldmark.Digest {
	h := sha256.New()
	_, _ = h.Write([]byte(r.Method + "\n" + r.URL.RequestURI() + "\n")) // never fails
	_, _ = h.Write(body)
	return fieldmark.DigestOf([sha256.Size]byte(h.Sum(nil)))
}

// reply is what a handler says: it becomes an answer where it must be kept, and
// otherwise when nobody waits for the transaction any more.
type reply struct {
	status  int
	fields  map[string]string
	value   any
	mission string // the id of the one it is about
}

func (r *reply) answer() (origin.Answer, error) {
	body, err := encode(r.value)
	return origin.Answer{Status: r.status, Fields: r.fields, Body: body, Mission: r.mission}, err
}

// do runs what has effects, in one transaction with the answer if that is kept,
// and answers. Act may be run twice (see origin.Service.Do), and opens no missions
// but those of intakes.
func (s *server) do(c *call, act func(context.Context, *origin.Act) (reply, error), opens ...origin.Intake) error {
	var r reply
	answer, err := s.origin.Do(c.r.Context(), c.once, func(ctx context.Context, a *origin.Act) (origin.Answer, error) {
		var err error
		if r, err = act(ctx, a); err != nil || c.once.Key == "" {
			return origin.Answer{}, err
		}
		return r.answer()
	}, opens...)
	if err == nil && c.once.Key == "" {
		answer, err = r.answer()
	}
	if err != nil {
		return err
	}
	return c.sendAnswer(answer)
}

// sendAnswer answers, and says so if that was the answer to an earlier request.
func (c *call) sendAnswer(a origin.Answer) error {
	h := c.w.Header()
	for name, value := range a.Fields {
		h.Set(name, value)
	}
	if a.Replayed {
		h.Set(fieldmark.HeaderReplayed, "true")
	}
	if a.Status == http.StatusNoContent || len(a.Body) == 0 {
		return c.sendEmpty(a.Status)
	}
	mediaType := jsonType
	if a.Status >= http.StatusBadRequest {
		mediaType = fieldmark.ProblemType
	}
	return c.sendBytes(a.Status, mediaType, a.Body)
}

// problemBody is a failure as it leaves.
func problemBody(w *writer, e *fieldmark.Error) []byte {
	p := e.Problem(w.base, w.id)
	if e.Code == fieldmark.CodeInternal {
		p.Detail = "" // whatever it was, it is ours to know
	}
	b, err := json.Marshal(p)
	if err != nil {
		b = []byte(`{"code":"internal","status":500}`)
	}
	return append(b, '\n')
}

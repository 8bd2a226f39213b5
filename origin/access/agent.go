package access

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
)

// confirmFor is how long the token of a dry run is valid: long enough for a person to look at
// what an agent is about to do, and too short for the mission to be another one by then.
const confirmFor = 10 * time.Minute

// AgentWrite is a write that an agent tries, and then makes.
type AgentWrite struct {
	Key          fieldmark.Key
	Method, Path string
	IfMatch      string // the version of what it changes, as the client sent it
	Body         []byte
	Operation    string // id, for the audit log
}

// AdmitAgent returns an error unless agents may use a key, for writes in earnest if writes is set.
func AdmitAgent(k *fieldmark.Key, writes bool) error {
	switch {
	case k.Agent == fieldmark.AgentOff:
		return fieldmark.Errorf(fieldmark.CodeAgentNotAllowed, "agents may not use this key: its member agent is off")
	case writes && k.Agent != fieldmark.AgentWrite:
		return fieldmark.Errorf(fieldmark.CodeAgentNotAllowed,
			"agents may only try writes with this key: its member agent is %s", k.Agent)
	}
	return nil
}

// ConfirmToken returns the token with which a write that was tried may be made. It is a MAC, so
// no origin has to remember it.
func (s *Keys) ConfirmToken(w *AgentWrite) string {
	return s.confirmToken(w, time.Now().Add(confirmFor).Unix())
}

func (s *Keys) confirmToken(w *AgentWrite, expiry int64) string {
	body, ends := sha256.Sum256(w.Body), strconv.FormatInt(expiry, 36)
	// Tokens of keys, which the same MAC is of, begin with fm_ and have no line end.
	return ends + "." + s.mac.Sum(strings.Join([]string{"agent write", w.Key.ID, w.Method, w.Path, w.IfMatch,
		hex.EncodeToString(body[:]), ends}, "\n"))
}

// CheckConfirm returns an error unless token is that of a dry run of the same write, by the same
// key, within its time.
func (s *Keys) CheckConfirm(w *AgentWrite, token string) error {
	ends, _, _ := strings.Cut(token, ".")
	expiry, err := strconv.ParseInt(ends, 36, 64)
	if err != nil || subtle.ConstantTimeCompare([]byte(s.confirmToken(w, expiry)), []byte(token)) != 1 {
		return fieldmark.Errorf(fieldmark.CodeConfirmationInvalid,
			"the token is not that of a dry run of the same request with this key; try the request again without it")
	}
	if time.Now().Unix() >= expiry {
		return fieldmark.Errorf(fieldmark.CodeConfirmationInvalid,
			"the token has expired after %d minutes; try the request again without it", int(confirmFor.Minutes()))
	}
	return nil
}

// CountAgentWrite counts a write of an agent that is about to be made, with an entry in the audit
// log. Above the limit of the key it returns CodeAgentQuota.
func (s *Keys) CountAgentWrite(ctx context.Context, w *AgentWrite) error {
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		now := time.Now().UTC()
		ok, err := tx.CountAgentWrite(ctx, w.Key.ID, now, w.Key.AgentWritesPerDay)
		if err != nil {
			return err
		}
		if !ok {
			e := fieldmark.Errorf(fieldmark.CodeAgentQuota, "agents made %d writes with this key today, which are all "+
				"that its member agentWritesPerDay allows", w.Key.AgentWritesPerDay)
			e.RetryAfter = now.Truncate(24*time.Hour).Add(24*time.Hour).Sub(now).Truncate(time.Second) + time.Second
			return e
		}
		if w.Key.Test { // what happens in a test world is not in the audit log
			return nil
		}
		return s.auditLog.Append(ctx, tx, "agent.acted", w.Path, nil, map[string]string{"operation": w.Operation})
	})
}

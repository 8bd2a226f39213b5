package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
)

// maxProblem bounds a problem document in bytes: fifty errors with long pointers fit.
const maxProblem = 64 << 10

// responseError returns the error of a response that is not successful.
func responseError(resp *http.Response) error {
	var e *fieldmark.Error
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == fieldmark.ProblemType {
		var p fieldmark.Problem
		if body, err := readAll(resp.Body, maxProblem); err == nil && json.Unmarshal(body, &p) == nil && p.Code != "" {
			e = p.Err()
		}
	}
	if e == nil {
		e = unexpectedStatus(resp.StatusCode)
	}
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 {
		e.RetryAfter = time.Duration(s) * time.Second
	}
	e.Scope = challengeScope(resp.Header.Get("WWW-Authenticate"))
	return e
}

// unexpectedStatus returns the error for a response without a problem document, which a proxy has sent instead
// of the origin.
func unexpectedStatus(status int) *fieldmark.Error {
	e := &fieldmark.Error{Code: fieldmark.CodeInternal, Err: fmt.Errorf("status %d without a problem document", status)}
	switch status {
	case http.StatusBadGateway, http.StatusServiceUnavailable:
		e.Code = fieldmark.CodeOriginUnavailable
	case http.StatusGatewayTimeout:
		e.Code = fieldmark.CodeTimeout
	}
	return e
}

// challengeScope returns the scope in a challenge (RFC 6750, section 3).
func challengeScope(challenge string) fieldmark.Scope {
	_, rest, ok := strings.Cut(challenge, `scope="`)
	if !ok {
		return ""
	}
	scope, _, _ := strings.Cut(rest, `"`)
	return fieldmark.Scope(scope)
}

// transportError returns the error with a code for a failed request. Errors that have a code are returned
// unchanged.
func transportError(ctx context.Context, err error) error {
	if _, ok := errors.AsType[*fieldmark.Error](err); ok {
		return err
	}
	timeout, ok := errors.AsType[net.Error](err)
	if ctx.Err() != nil || (ok && timeout.Timeout()) {
		return &fieldmark.Error{Code: fieldmark.CodeTimeout, Detail: "the origin did not answer in time", Err: err}
	}
	return &fieldmark.Error{Code: fieldmark.CodeOriginUnavailable, Detail: "the origin is unreachable", Err: err}
}

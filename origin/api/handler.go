package api

import (
	"context"
	"reflect"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/sla"
)

// handler serves requests after their caller and query parameters have been checked. It
// validates request bodies against the type in. The OpenAPI document describes both types.
// Routes combine these functions, so that a handler is a call of a service and nothing else.
type handler struct {
	in, out body
	serve   func(*call) error
}

// none is the type of a body that does not exist.
type none struct{}

func (b body) empty() bool { return b.goType == reflect.TypeFor[none]() }

// handle returns a handler that sends what fn returns.
func handle[R any](fn func(context.Context) (R, error)) handler {
	return handleCall[none](func(c *call) (R, error) { return fn(c.r.Context()) })
}

// handleList is handle for a list that is always returned whole.
// The list is not paged: its service bounds it.
func handleList[T any](fn func(context.Context) ([]T, error)) handler {
	return handle(func(ctx context.Context) (fieldmark.List[T], error) {
		all, err := fn(ctx)
		return list(all), err
	})
}

// handleParam is handle for a function of what param reads from the request, usually from its path.
func handleParam[P, R any](param func(*call) (P, error), fn func(context.Context, P) (R, error)) handler {
	return handleCall[none](func(c *call) (result R, err error) {
		p, err := param(c)
		if err != nil {
			return result, err
		}
		return fn(c.r.Context(), p)
	})
}

// handleBody is handle for a function of the decoded body.
func handleBody[B, R any](fn func(context.Context, B) (R, error)) handler {
	return handleCall[B](func(c *call) (result R, err error) {
		body, err := decodeBody[B](c)
		if err != nil {
			return result, err
		}
		return fn(c.r.Context(), body)
	})
}

// handleParamBody is handle for a function of what param reads and of the decoded body.
func handleParamBody[P, B, R any](param func(*call) (P, error), fn func(context.Context, P, B) (R, error)) handler {
	return handleCall[B](func(c *call) (result R, err error) {
		p, err := param(c)
		if err != nil {
			return result, err
		}
		body, err := decodeBody[B](c)
		if err != nil {
			return result, err
		}
		return fn(c.r.Context(), p, body)
	})
}

// handleCall returns a handler for a function that reads the request itself. Its result is sent with the
// status of success.
// A result of the type none is sent as an empty response.
func handleCall[B, R any](fn func(*call) (R, error)) handler {
	return handleRaw[B, R](func(c *call) error {
		result, err := fn(c)
		if err != nil {
			return err
		}
		status := c.route.statuses()[0]
		if _, ok := any(result).(none); ok {
			return c.sendEmpty(status)
		}
		return c.send(status, result)
	})
}

// handleRaw returns a handler for a function that reads the request and sends the response itself.
// The types are those of the OpenAPI document, so it must send what they say.
func handleRaw[B, R any](serve func(*call) error) handler {
	return handler{in: body{goType: reflect.TypeFor[B]()}, out: body{goType: reflect.TypeFor[R]()}, serve: serve}
}

// noResult adapts a function that returns only an error.
func noResult[P any](fn func(context.Context, P) error) func(context.Context, P) (none, error) {
	return func(ctx context.Context, p P) (none, error) { return none{}, fn(ctx, p) }
}

// asList adapts a function that returns a slice.
func asList[P, T any](fn func(context.Context, P) ([]T, error)) func(context.Context, P) (fieldmark.List[T], error) {
	return func(ctx context.Context, p P) (fieldmark.List[T], error) {
		all, err := fn(ctx, p)
		return list(all), err
	}
}

// list wraps a whole list in the form of a page, so that the route can be paged later.
func list[T any](all []T) fieldmark.List[T] {
	if all == nil {
		all = []T{}
	}
	return fieldmark.List[T]{Data: all}
}

// decodeBody decodes and validates the body of a request.
// An optional body that is missing is the zero value.
func decodeBody[B any](c *call) (body B, err error) {
	if c.route.op.optionalBody {
		if raw, err := c.readBody(); err != nil || len(raw) == 0 {
			return body, err
		}
	}
	err = c.decode(&body)
	return body, err
}

// pathParam reads a part of the path as it is.
func pathParam(name string) func(*call) (string, error) {
	return func(c *call) (string, error) { return c.r.PathValue(name), nil }
}

// bearerParam reads the token of Authorization: a secret that the service checks, "" without one. Every wrong
// secret has the same response, so that secrets cannot be probed.
func bearerParam(c *call) (string, error) {
	token, _ := bearer(c.r.Header.Get("Authorization"))
	return token, nil
}

// idParam reads the id in the path. A malformed id is not_found.
func idParam(prefix string) func(*call) (string, error) {
	return func(c *call) (string, error) {
		id := c.r.PathValue("id")
		if !fieldmark.CheckID(prefix, id) {
			return "", fieldmark.Errorf(fieldmark.CodeNotFound, "no such id")
		}
		return id, nil
	}
}

// slugParam reads a slug in the path. One that cannot exist has the same answer as one that
// does not.
func slugParam(c *call) (fieldmark.Slug, error) {
	slug, err := fieldmark.ParseSlug(c.r.PathValue("slug"))
	if err != nil {
		return "", fieldmark.Errorf(fieldmark.CodeNotFound, "no such brand")
	}
	return slug, nil
}

// digestParam reads the digest of a module in the path.
func digestParam(c *call) (fieldmark.Digest, error) {
	digest, err := fieldmark.ParseDigest(c.r.PathValue("digest"))
	if err != nil {
		return "", fieldmark.Errorf(fieldmark.CodeNotFound, "no such module")
	}
	return digest, nil
}

// priorityParam reads a priority in the path.
func priorityParam(c *call) (fieldmark.Priority, error) {
	p, ok := fieldmark.ParsePriority(c.r.PathValue("priority"))
	if !ok {
		return "", fieldmark.Errorf(fieldmark.CodeNotFound, "no such priority")
	}
	return p, nil
}

// calendarNameParam reads the name of business hours in the path.
func calendarNameParam(c *call) (string, error) {
	name, err := sla.ParseCalendarName(c.r.PathValue("name"))
	if err != nil {
		return "", fieldmark.Errorf(fieldmark.CodeNotFound, "the name must have 1 to 64 of a-z, 0-9 and hyphens")
	}
	return name, nil
}

// account is whose objects the caller may see: those of its key's account, or "" for all accounts on the
// routes of administrators.
func (c *call) account() string {
	if strings.HasPrefix(c.route.path, fieldmark.PathAdminAPI) {
		return ""
	}
	return c.key.Account
}

// accountParam is account as a parameter of a handler.
func accountParam(c *call) (string, error) { return c.account(), nil }

// ownerParam is the account that owns what the request creates.
func ownerParam(c *call) (string, error) {
	if account := c.account(); account != "" {
		return account, nil
	}
	return access.DefaultAccount, nil
}

// callerKeyParam is the id of the caller's API key.
func callerKeyParam(c *call) (string, error) { return c.key.ID, nil }

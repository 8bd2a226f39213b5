package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/fieldmark/fieldmark"
)

// BrandState returns a brand, the newest facts about it, and the number of the
// newest event that was in the log before both were read.
func (c *Client) BrandState(ctx context.Context, slug fieldmark.Slug) (fieldmark.BrandState, int64, error) {
	return getAsOf[fieldmark.BrandState](ctx, c, string(slug))
}

// BrandStateAt is BrandState as of a time in the past.
func (c *Client) BrandStateAt(ctx context.Context, slug fieldmark.Slug, at time.Time) (fieldmark.BrandState, int64, error) {
	query := url.Values{"asOf": {at.UTC().Format(time.RFC3339Nano)}}
	return getAsOf[fieldmark.BrandState](ctx, c, string(slug)+"?"+query.Encode())
}

// BrandHistory returns what is known of a brand from one time to another.
func (c *Client) BrandHistory(ctx context.Context, slug fieldmark.Slug, from, to time.Time) (fieldmark.BrandHistory, int64, error) {
	query := url.Values{"from": {from.UTC().Format(time.RFC3339Nano)}, "to": {to.UTC().Format(time.RFC3339Nano)}}
	return getAsOf[fieldmark.BrandHistory](ctx, c, string(slug)+"/history?"+query.Encode())
}

// getAsOf reads something of a brand and the event number it is as of.
func getAsOf[T any](ctx context.Context, c *Client, path string) (out T, asOf int64, err error) {
	header, err := c.do(ctx, c.internal(fieldmark.PathInternalFacts+"/"+path), &out)
	if err != nil {
		return out, 0, err
	}
	asOf, err = readAsOf(header)
	return out, asOf, err
}

// FactsBody returns the bytes that a digest of a brand's facts is of. They are not
// checked here.
func (c *Client) FactsBody(ctx context.Context, slug fieldmark.Slug, digest fieldmark.Digest) (body []byte, asOf int64, err error) {
	err = c.read(ctx, c.internal(fieldmark.PathInternalFacts+"/"+string(slug)+"/"+string(digest)), func(resp *http.Response) (err error) {
		if asOf, err = readAsOf(resp.Header); err != nil {
			return err
		}
		body, err = readAll(resp.Body, maxAnswer)
		return err
	})
	return body, asOf, err
}

// BrandStates calls fn with one page of public brands in the order of their
// slugs: up to limit of them, at most fieldmark.MaxStates, from the one after
// after. Bare leaves out the evidence of facts. It returns the number of the
// newest event that was in the log before the page was read, and whether more
// pages follow. An error of fn ends the reading and is returned as it is.
//
// An origin of an earlier version knows no pages. It is asked for all brands in
// one answer, of which fn gets those after after.
func (c *Client) BrandStates(ctx context.Context, after fieldmark.Slug, limit int, bare bool, fn func(fieldmark.BrandState) error) (asOf int64, more bool, err error) {
	query := url.Values{"limit": {strconv.Itoa(limit)}, "bare": {strconv.FormatBool(bare)}}
	if after != "" {
		query.Set("after", string(after))
	}
	n := 0
	count := func(state fieldmark.BrandState) error {
		n++
		return fn(state)
	}
	asOf, err = c.states(ctx, "?"+query.Encode(), pageTimeout, count)
	if !fieldmark.IsCode(err, fieldmark.CodeInvalidParameter) {
		return asOf, n >= limit, err
	}
	asOf, err = c.states(ctx, "", bulkTimeout, func(state fieldmark.BrandState) error {
		if state.Brand.Slug <= after {
			return nil
		}
		return fn(state)
	})
	return asOf, false, err
}

// states reads brands, one JSON document a line.
func (c *Client) states(ctx context.Context, query string, within time.Duration, fn func(fieldmark.BrandState) error) (asOf int64, err error) {
	r := c.internal(fieldmark.PathInternalFacts + query)
	r.within = within
	var stop error
	err = c.read(ctx, r, func(resp *http.Response) error {
		if asOf, err = readAsOf(resp.Header); err != nil {
			return err
		}
		return eachLine(resp.Body, func(line []byte) error {
			var state fieldmark.BrandState
			if err := json.Unmarshal(line, &state); err != nil {
				return &fieldmark.Error{Code: fieldmark.CodeInternal, Err: fmt.Errorf("decode a brand's state: %w", err)}
			}
			if stop = fn(state); stop != nil {
				return stop
			}
			return nil
		})
	})
	if stop != nil {
		return 0, stop
	}
	return asOf, err
}

// eachLine calls fn with each line of NDJSON. A last line without its line feed
// is a stream that was cut off.
func eachLine(r io.Reader, fn func(line []byte) error) error {
	lines := bufio.NewReaderSize(r, 64<<10)
	var long []byte
	for {
		part, err := lines.ReadSlice('\n')
		if len(long)+len(part) > maxLine {
			return &fieldmark.Error{Code: fieldmark.CodeInternal, Err: fmt.Errorf("a line of the origin's answer exceeds %d bytes", maxLine)}
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long, part...)
			continue
		}
		line := part
		if len(long) > 0 {
			line = append(long, part...)
			long = long[:0]
		}
		if errors.Is(err, io.EOF) && len(line) > 0 {
			err = io.ErrUnexpectedEOF
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if line = bytes.TrimSuffix(line, []byte{'\n'}); len(line) == 0 {
			continue
		}
		if err := fn(line); err != nil {
			return err
		}
	}
}

// Events returns the log after a cursor. Where there is nothing new it waits up to
// wait, at most fieldmark.MaxWait seconds.
func (c *Client) Events(ctx context.Context, after fieldmark.EventCursor, wait time.Duration) (fieldmark.EventPage, error) {
	wait = min(max(wait, 0), fieldmark.MaxWait*time.Second)
	query := url.Values{"after": {strconv.FormatInt(after.Number, 10)}, "wait": {wait.String()}}
	if known := c.edition.Load(); known != nil {
		query.Set("edition", *known) // an origin of another answers at once
	}
	r := c.internal(fieldmark.PathInternalEvents + "?" + query.Encode())
	r.within, r.lastEvent = wait+pollMargin, after.ID
	var page fieldmark.EventPage
	_, err := c.do(ctx, r, &page)
	if page.Edition != "" {
		c.edition.Store(&page.Edition)
	}
	return page, err
}

// ModulePlan says which modules scores are made with.
func (c *Client) ModulePlan(ctx context.Context) (fieldmark.ModulePlan, error) {
	var plan fieldmark.ModulePlan
	_, err := c.do(ctx, c.internal(fieldmark.PathInternalModules), &plan)
	return plan, err
}

// ReportNode tells the origin what an edge is doing.
func (c *Client) ReportNode(ctx context.Context, r fieldmark.NodeReport) error {
	_, err := c.do(ctx, call{method: http.MethodPost, path: fieldmark.PathInternalNodes, token: c.nodeToken, body: r}, nil)
	return err
}

// Module returns the bytes of a module. They are not checked against the digest
// here: whoever runs them must do that.
func (c *Client) Module(ctx context.Context, digest fieldmark.Digest) ([]byte, error) {
	var module []byte
	err := c.read(ctx, c.internal(fieldmark.PathInternalModules+"/"+string(digest)), func(resp *http.Response) (err error) {
		module, err = readAll(resp.Body, fieldmark.MaxAnyModule)
		return err
	})
	return module, err
}

func (c *Client) internal(path string) call {
	return call{method: http.MethodGet, path: path, token: c.nodeToken}
}

// readAsOf reads the number that internal answers about brands must carry;
// without it an answer cannot be cached.
func readAsOf(h http.Header) (int64, error) {
	asOf, err := strconv.ParseInt(h.Get(fieldmark.HeaderAsOf), 10, 64)
	if err != nil || asOf < 0 {
		return 0, &fieldmark.Error{Code: fieldmark.CodeInternal, Err: errors.New("the origin's answer names no event number")}
	}
	return asOf, nil
}

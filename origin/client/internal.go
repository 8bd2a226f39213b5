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
	"slices"
	"strconv"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/keyring"
)

// InternalAPI contains the calls of edges and other nodes.
type InternalAPI struct{ *caller }

// BrandState returns a brand with its latest facts, and the number of the latest event when they were read.
func (c InternalAPI) BrandState(ctx context.Context, slug fieldmark.Slug) (fieldmark.BrandState, int64, error) {
	return getAsOf[fieldmark.BrandState](ctx, c.caller, string(slug))
}

// BrandStateAt is BrandState as of a time in the past.
func (c InternalAPI) BrandStateAt(
	ctx context.Context, slug fieldmark.Slug, at time.Time,
) (fieldmark.BrandState, int64, error) {
	query := url.Values{"asOf": {at.UTC().Format(time.RFC3339Nano)}}
	return getAsOf[fieldmark.BrandState](ctx, c.caller, string(slug)+"?"+query.Encode())
}

// BrandHistory returns a brand's facts between two times.
func (c InternalAPI) BrandHistory(
	ctx context.Context, slug fieldmark.Slug, from, to time.Time,
) (fieldmark.BrandHistory, int64, error) {
	query := url.Values{"from": {from.UTC().Format(time.RFC3339Nano)}, "to": {to.UTC().Format(time.RFC3339Nano)}}
	return getAsOf[fieldmark.BrandHistory](ctx, c.caller, string(slug)+"/history?"+query.Encode())
}

// getAsOf reads a document about a brand and the event number at which it was current.
func getAsOf[T any](ctx context.Context, c *caller, path string) (out T, asOf int64, err error) {
	header, err := c.do(ctx, c.facts("/"+path), &out)
	if err != nil {
		return out, 0, err
	}
	asOf, err = readAsOf(header)
	return out, asOf, err
}

// FactsBody returns the bytes of facts with a digest. It does not verify them.
func (c InternalAPI) FactsBody(
	ctx context.Context, slug fieldmark.Slug, digest fieldmark.Digest,
) (body []byte, asOf int64, err error) {
	err = c.read(ctx, c.facts("/"+string(slug)+"/"+string(digest)),
		func(resp *http.Response) (err error) {
			if asOf, err = readAsOf(resp.Header); err != nil {
				return err
			}
			body, err = readAll(resp.Body, maxResponse)
			return err
		})
	return body, asOf, err
}

// BrandStates calls fn with one page of public brands by slug: up to limit (at most fieldmark.MaxStates) after
// the slug after. bare leaves out the evidence of facts. BrandStates returns the number of the latest event
// when the page was read, and whether more pages follow. An error of fn stops it and is returned unchanged.
//
// Origins of earlier versions have no pages and return all brands; fn is called with those after the slug.
func (c InternalAPI) BrandStates(
	ctx context.Context, after fieldmark.Slug, limit int, bare bool, fn func(fieldmark.BrandState) error,
) (asOf int64, more bool, err error) {
	query := url.Values{"limit": {strconv.Itoa(limit)}, "bare": {strconv.FormatBool(bare)}}
	if after != "" {
		query.Set("after", string(after))
	}
	n := 0
	count := func(state fieldmark.BrandState) error {
		n++
		return fn(state)
	}
	asOf, err = c.brandStates(ctx, "?"+query.Encode(), pageTimeout, count)
	if !fieldmark.IsCode(err, fieldmark.CodeInvalidParameter) {
		return asOf, n >= limit, err
	}
	asOf, err = c.brandStates(ctx, "", bulkTimeout, func(state fieldmark.BrandState) error {
		if state.Brand.Slug <= after {
			return nil
		}
		return fn(state)
	})
	return asOf, false, err
}

// BrandStatesOf returns brands by their slugs, at most 64, with what scores depend on and without the evidence of
// facts. Slugs that are of no brand, or are aliases, are left out.
//
// Origins of earlier versions are asked for each brand.
func (c InternalAPI) BrandStatesOf(
	ctx context.Context, slugs []fieldmark.Slug,
) (map[fieldmark.Slug]fieldmark.BrandState, error) {
	states := make(map[fieldmark.Slug]fieldmark.BrandState, len(slugs))
	query := url.Values{}
	for _, slug := range slugs {
		query.Add("slug", string(slug))
	}
	_, err := c.brandStates(ctx, "?"+query.Encode(), pageTimeout, func(state fieldmark.BrandState) error {
		states[state.Brand.Slug] = state
		return nil
	})
	if !fieldmark.IsCode(err, fieldmark.CodeInvalidParameter) {
		return states, err
	}
	for _, slug := range slugs {
		state, _, err := c.BrandState(ctx, slug)
		if fieldmark.IsCode(err, fieldmark.CodeNotFound) {
			continue
		}
		if err != nil {
			return states, err
		}
		states[state.Brand.Slug] = state // the brand of an alias has another slug
	}
	return states, nil
}

// brandStates reads brands, one JSON document per line.
func (c InternalAPI) brandStates(
	ctx context.Context, query string, timeout time.Duration, fn func(fieldmark.BrandState) error,
) (asOf int64, err error) {
	r := c.facts(query)
	r.timeout = timeout
	var stop error
	err = c.read(ctx, r, func(resp *http.Response) error {
		if asOf, err = readAsOf(resp.Header); err != nil {
			return err
		}
		return eachLine(resp.Body, func(line []byte) error {
			var state fieldmark.BrandState
			if err := json.Unmarshal(line, &state); err != nil {
				return &fieldmark.Error{Code: fieldmark.CodeInternal,
					Err: fmt.Errorf("decode a brand's state: %w", err)}
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

// RequestCheckFor is PublicAPI.RequestCheck of an edge, for the client at an address, whose budget it uses.
func (c InternalAPI) RequestCheckFor(
	ctx context.Context, client string, r fieldmark.SiteCheckRequest,
) (check fieldmark.SiteCheck, existing bool, err error) {
	return requestCheck(ctx, c.caller, call{method: http.MethodPost, path: fieldmark.PathChecks, body: r,
		client: client})
}

// eachLine calls fn with each line of NDJSON. A last line without its line feed
// is a stream that was cut off.
func eachLine(r io.Reader, fn func(line []byte) error) error {
	lines := bufio.NewReaderSize(r, 64<<10)
	var long []byte
	for {
		part, err := lines.ReadSlice('\n')
		if len(long)+len(part) > maxLine {
			return &fieldmark.Error{Code: fieldmark.CodeInternal,
				Err: fmt.Errorf("a line of the origin's response exceeds %d bytes", maxLine)}
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

// wholeLogFor is how long the client requests all events from origins of a release that does not know
// what edges act on. During an update, other origins do.
const wholeLogFor = time.Minute

// Events returns the events after a cursor that edges act on, or all from an origin of an earlier
// release; EventPage.Next has the cursor after it. It waits for new ones for up to wait, at most
// fieldmark.MaxWait seconds.
func (c InternalAPI) Events(
	ctx context.Context, after fieldmark.EventCursor, wait time.Duration,
) (fieldmark.EventPage, error) {
	if time.Now().UnixNano() < c.wholeLogUntil.Load() {
		return c.events(ctx, after, wait, "")
	}
	page, err := c.events(ctx, after, wait, "edge")
	if e, ok := errors.AsType[*fieldmark.Error](err); ok && slices.ContainsFunc(e.Fields,
		func(f fieldmark.FieldError) bool { return f.Pointer == "?for" }) {
		c.wholeLogUntil.Store(time.Now().Add(wholeLogFor).UnixNano())
		return c.events(ctx, after, wait, "")
	}
	return page, err
}

func (c InternalAPI) events(ctx context.Context, after fieldmark.EventCursor, wait time.Duration,
	reader string) (fieldmark.EventPage, error) {
	wait = min(max(wait, 0), fieldmark.MaxWait*time.Second)
	query := url.Values{"after": {strconv.FormatInt(after.Number, 10)}, "wait": {wait.String()}}
	if reader != "" {
		query.Set("for", reader)
	}
	if known := c.originVersion.Load(); known != nil {
		query.Set("edition", *known) // an origin of another version does not wait long
	}
	r := c.internal(fieldmark.PathInternalEvents + "?" + query.Encode())
	r.timeout, r.lastEvent = wait+pollMargin, after.ID
	var page fieldmark.EventPage
	_, err := c.do(ctx, r, &page)
	if page.Edition != "" {
		c.originVersion.Store(&page.Edition)
	}
	if err == nil {
		// Facts must not be older than the events that the caller applies next.
		c.SetPosition(page.Log, min(page.Next(after).Number, page.Head))
	}
	return page, err
}

// SetPosition sets the event up to which the caller has read a log. Facts that are read from now on show
// every change up to it, whichever copy of the database the origin reads. Events sets it to the end of
// its page; a caller that reads the log elsewhere sets it before it applies an event.
func (c InternalAPI) SetPosition(log string, event int64) {
	at := strconv.FormatInt(event, 10) + ";log=" + log
	c.minEvent.Store(&at)
}

// facts is a request for facts.
func (c *caller) facts(path string) call {
	r := c.internal(fieldmark.PathInternalFacts + path)
	if at := c.minEvent.Load(); at != nil {
		r.minEvent = *at
	}
	return r
}

// NewestStudy returns the newest study of a niche that can be ranked; of a locale, if it is given.
func (c InternalAPI) NewestStudy(ctx context.Context, niche, locale string) (r fieldmark.StudyResult, err error) {
	path := fieldmark.PathInternalStudies + niche
	if locale != "" { // an empty parameter is refused
		path += "?" + url.Values{"locale": {locale}}.Encode()
	}
	_, err = c.do(ctx, c.internal(path), &r)
	return r, err
}

// Validity returns how scores relate to measured answers.
func (c InternalAPI) Validity(ctx context.Context) (v fieldmark.Validity, err error) {
	_, err = c.do(ctx, call{path: fieldmark.PathValidity}, &v)
	return v, err
}

// ModulePlan returns the active modules.
func (c InternalAPI) ModulePlan(ctx context.Context) (fieldmark.ModulePlan, error) {
	var plan fieldmark.ModulePlan
	_, err := c.do(ctx, c.internal(fieldmark.PathInternalModules), &plan)
	return plan, err
}

// Status returns the status of the origin.
func (c InternalAPI) Status(ctx context.Context) (fieldmark.ServiceStatus, error) {
	var status fieldmark.ServiceStatus
	_, err := c.do(ctx, c.internal(fieldmark.PathInternalStatus), &status)
	return status, err
}

// ReportNode reports the state of an edge.
func (c InternalAPI) ReportNode(ctx context.Context, r fieldmark.NodeReport) error {
	_, err := c.do(ctx, call{method: http.MethodPost, path: fieldmark.PathInternalNodes, token: c.nodeToken, body: r},
		nil)
	return err
}

// SendIntake sends a request that an edge accepted while no origin could be reached, and returns what became
// of it. It may be repeated: the first decision stays. An error means that it is not decided yet.
func (c InternalAPI) SendIntake(ctx context.Context, r fieldmark.SpooledRequest) (done fieldmark.Intake, err error) {
	_, err = c.do(ctx, call{method: http.MethodPost, path: fieldmark.PathInternalIntake, token: c.nodeToken, body: r},
		&done)
	return done, err
}

// Module returns the bytes of a module. Callers must verify the digest before they run it.
func (c InternalAPI) Module(ctx context.Context, digest fieldmark.Digest) ([]byte, error) {
	var module []byte
	err := c.read(ctx, c.internal(fieldmark.PathInternalModules+"/"+string(digest)),
		func(resp *http.Response) (err error) {
			module, err = readAll(resp.Body, fieldmark.MaxAnyModule)
			return err
		})
	return module, err
}

// OriginLogs lists the public logs, the newest first.
func (c InternalAPI) OriginLogs(ctx context.Context) ([]fieldmark.PublicLog, error) {
	var list fieldmark.List[fieldmark.PublicLog]
	_, err := c.do(ctx, c.internal(fieldmark.PathInternalLog), &list)
	return list.Data, err
}

// OriginLogFile returns a checkpoint, a tile or an entry bundle of a public log, by its path below
// fieldmark.PathLog: a slash, the number of the log, and the path below its address.
func (c InternalAPI) OriginLogFile(ctx context.Context, path string) (body []byte, err error) {
	err = c.read(ctx, c.internal(fieldmark.PathInternalLog+path), func(resp *http.Response) (err error) {
		body, err = readAll(resp.Body, maxResponse)
		return err
	})
	return body, err
}

// ProveScore returns the proof that the public log has a score.
func (c InternalAPI) ProveScore(ctx context.Context, slug fieldmark.Slug, facts, module fieldmark.Digest) (
	p fieldmark.ScoreProof, err error) {
	query := url.Values{"brand": {string(slug)}, "facts": {string(facts)}, "module": {string(module)}}
	_, err = c.do(ctx, c.internal(fieldmark.PathInternalLog+"/proof?"+query.Encode()), &p)
	return p, err
}

// RankingFiles lists the ranking files, the newest first. Origins of earlier versions return CodeNotFound.
func (c InternalAPI) RankingFiles(ctx context.Context) (fieldmark.RankingFiles, error) {
	var all fieldmark.RankingFiles
	_, err := c.do(ctx, c.internal(fieldmark.PathInternalSnapshots), &all)
	return all, err
}

// RankingFileRange returns n bytes of a ranking file from an offset. It reads them where the file has its URL or,
// if that fails, from the origin. It does not verify them.
func (c InternalAPI) RankingFileRange(
	ctx context.Context, f *fieldmark.RankingFile, offset, n int64,
) (body []byte, err error) {
	r := c.internal(fieldmark.PathInternalSnapshots + "/" + url.PathEscape(f.SHA256))
	r.timeout, r.header = rangeTimeout, map[string]string{"Range": fmt.Sprintf("bytes=%d-%d", offset, offset+n-1)}
	read := func(resp *http.Response) error {
		if resp.StatusCode != http.StatusPartialContent || resp.ContentLength != n {
			return &fieldmark.Error{Code: fieldmark.CodeInternal, Err: fmt.Errorf(
				"requested %d bytes of a ranking file: %s, %d bytes", n, resp.Status, resp.ContentLength)}
		}
		body = make([]byte, n)
		_, err := io.ReadFull(resp.Body, body)
		return err
	}
	if f.URL != "" {
		if err := unlessStalled(ctx, read, func(ctx context.Context, read func(*http.Response) error) error {
			return c.readURL(ctx, f.URL, r, read)
		}); err == nil || ctx.Err() != nil {
			return body, err
		}
	}
	return body, unlessStalled(ctx, read, func(ctx context.Context, read func(*http.Response) error) error {
		return c.read(ctx, r, read)
	})
}

// unlessStalled sends a request whose response read reads, and cancels it if no byte arrives for stallTimeout.
func unlessStalled(ctx context.Context, read func(*http.Response) error,
	send func(context.Context, func(*http.Response) error) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stalled := time.AfterFunc(stallTimeout, cancel)
	defer stalled.Stop()
	return send(ctx, func(resp *http.Response) error {
		resp.Body = &progressReader{resp.Body, stalled}
		return read(resp)
	})
}

// progressReader restarts a timer with each byte.
type progressReader struct {
	io.ReadCloser
	stalled *time.Timer
}

// Read implements io.Reader.
func (r *progressReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if n > 0 {
		r.stalled.Reset(stallTimeout)
	}
	return n, err
}

// readURL sends r to another address, without the node token: a signature in the address replaces it.
func (c InternalAPI) readURL(ctx context.Context, address string, r call, fn func(*http.Response) error) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	resp, err := c.direct.Do(req)
	if err != nil {
		return err
	}
	defer drain(resp.Body)
	return fn(resp)
}

// Certificates returns the TLS certificates for edges. OpenKey decrypts their keys.
func (c InternalAPI) Certificates(ctx context.Context) (fieldmark.EdgeCertificates, error) {
	var all fieldmark.EdgeCertificates
	_, err := c.do(ctx, c.internal(fieldmark.PathInternalCertificates), &all)
	return all, err
}

// OpenKey decrypts the private key of a certificate, in PEM.
func (c InternalAPI) OpenKey(sealed fieldmark.SealedCertificate) (string, error) {
	cipher, err := keyring.ForEdges(c.nodeToken)
	if err != nil {
		return "", err
	}
	return cipher.Open(sealed.Name, sealed.Key)
}

// Kinds of challenges (RFC 8555, 8.3; RFC 8737).
const (
	ChallengeHTTP01    = "http-01"
	ChallengeTLSALPN01 = "tls-alpn-01"
)

// CertificateChallenge returns the answer to an open challenge of a CA: of HTTP-01 by its
// token, of TLS-ALPN-01 by the name.
func (c InternalAPI) CertificateChallenge(
	ctx context.Context, kind, tokenOrName string,
) (fieldmark.CertificateChallenge, error) {
	var answer fieldmark.CertificateChallenge
	_, err := c.do(ctx, c.internal(fieldmark.PathInternalChallenges+"/"+kind+"/"+url.PathEscape(tokenOrName)), &answer)
	return answer, err
}

func (c *caller) internal(path string) call {
	return call{method: http.MethodGet, path: path, token: c.nodeToken}
}

// readAsOf returns the event number of a response. A response without one is an error, because it cannot be
// cached.
func readAsOf(h http.Header) (int64, error) {
	asOf, err := strconv.ParseInt(h.Get(fieldmark.HeaderAsOf), 10, 64)
	if err != nil || asOf < 0 {
		return 0, &fieldmark.Error{Code: fieldmark.CodeInternal,
			Err: errors.New("the origin's response has no event number")}
	}
	return asOf, nil
}

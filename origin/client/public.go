package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/fieldmark/fieldmark"
)

// PublicAPI contains the calls that need no credentials.
type PublicAPI struct{ *caller }

// ScoreDocument is a score as sent by an edge.
type ScoreDocument struct {
	Body      []byte    // unchanged
	CreatedAt time.Time // the time as of which it was assessed, in milliseconds
}

// ScoreDocument returns the bytes of a brand's score document, with or without the proof that the public log
// has it. Only edges serve it.
func (c PublicAPI) ScoreDocument(ctx context.Context, slug fieldmark.Slug, proof bool) (doc ScoreDocument, err error) {
	path := fieldmark.PathScore + url.PathEscape(string(slug))
	if proof {
		path += "?proof=1"
	}
	err = c.read(ctx, call{method: http.MethodGet, path: path}, func(resp *http.Response) (err error) {
		// Edges of earlier versions do not state it. Theirs is known to some seconds.
		if doc.CreatedAt, err = time.Parse(time.RFC3339, resp.Header.Get(fieldmark.HeaderAssessedAt)); err != nil {
			doc.CreatedAt = time.Now()
			if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
				doc.CreatedAt = at
			}
			if age, err := strconv.Atoi(resp.Header.Get("Age")); err == nil {
				doc.CreatedAt = doc.CreatedAt.Add(-time.Duration(age) * time.Second)
			}
		}
		doc.Body, err = readAll(resp.Body, maxResponse)
		return err
	})
	return doc, err
}

// PublicFacts returns the bytes of a document of facts. It does not verify the digest. Only edges serve it.
func (c PublicAPI) PublicFacts(ctx context.Context, slug fieldmark.Slug, digest fieldmark.Digest) ([]byte, error) {
	return c.bytes(ctx, fieldmark.PathScore+url.PathEscape(string(slug))+"/facts/"+string(digest), maxResponse)
}

// PublicModule returns the bytes of a module. It does not verify the digest. Only edges serve it.
func (c PublicAPI) PublicModule(ctx context.Context, digest fieldmark.Digest) ([]byte, error) {
	return c.bytes(ctx, fieldmark.PathModules+string(digest), fieldmark.MaxModule)
}

// maxStudy is the size of the documents of a study in bytes: 12 engines, as large as an import may be.
const maxStudy = 12 * (8 << 20)

// PublicStudy returns the documents of a study by the digest of its result, or one document by its own. It does not
// verify the digest.
func (c PublicAPI) PublicStudy(
	ctx context.Context, digest fieldmark.Digest,
) (rows fieldmark.StudyDocuments, err error) {
	body, err := c.bytes(ctx, fieldmark.PathStudies+string(digest), maxStudy)
	if err != nil {
		return rows, err
	}
	if err := json.Unmarshal(body, &rows); err != nil {
		return rows, fmt.Errorf("read the study %s: %w", digest, err)
	}
	return rows, nil
}

// PublicLogs lists the public logs of scores, the newest first. Only edges serve them.
func (c PublicAPI) PublicLogs(ctx context.Context) ([]fieldmark.PublicLog, error) {
	var list fieldmark.List[fieldmark.PublicLog]
	_, err := c.do(ctx, call{method: http.MethodGet, path: fieldmark.PathLog}, &list)
	return list.Data, err
}

// PublicLogFile returns a file of a public log by its path below the address of the log. It verifies nothing.
// Only edges serve it.
func (c PublicAPI) PublicLogFile(ctx context.Context, log int64, path string) ([]byte, error) {
	return c.bytes(ctx, fieldmark.PathLog+"/"+strconv.FormatInt(log, 10)+"/"+path, maxResponse)
}

// OpenDispute opens a dispute of a finding about a brand.
func (c PublicAPI) OpenDispute(
	ctx context.Context, slug fieldmark.Slug, r fieldmark.DisputeRequest,
) (d fieldmark.DisputeStatus, err error) {
	_, err = c.do(ctx, call{method: http.MethodPost, path: disputesPath(slug), body: r}, &d)
	return d, err
}

// OpenDisputes lists the open disputes of a brand, the newest first.
func (c PublicAPI) OpenDisputes(ctx context.Context, slug fieldmark.Slug) ([]fieldmark.DisputeStatus, error) {
	var list fieldmark.List[fieldmark.DisputeStatus]
	_, err := c.do(ctx, call{method: http.MethodGet, path: disputesPath(slug)}, &list)
	return list.Data, err
}

// DisputeStatus returns the public part of a dispute.
func (c PublicAPI) DisputeStatus(
	ctx context.Context, slug fieldmark.Slug, id string,
) (d fieldmark.DisputeStatus, err error) {
	_, err = c.do(ctx, call{method: http.MethodGet, path: disputesPath(slug) + "/" + url.PathEscape(id)}, &d)
	return d, err
}

// RequestCheck requests an audit of a site that need not be a registered brand. Existing is true if the check was
// under way, or ended recently.
func (c PublicAPI) RequestCheck(
	ctx context.Context, r fieldmark.SiteCheckRequest,
) (check fieldmark.SiteCheck, existing bool, err error) {
	return requestCheck(ctx, c.caller, call{method: http.MethodPost, path: fieldmark.PathChecks, body: r})
}

func requestCheck(ctx context.Context, c *caller, r call) (check fieldmark.SiteCheck, existing bool, err error) {
	header, err := c.do(ctx, r, &check)
	return check, header.Get(fieldmark.HeaderCheckDeduplicated) == "true", err
}

// Check returns a check of a site, with its report once it is done. It waits until the check has ended, but not
// longer than wait, at most fieldmark.MaxCheckWait seconds.
func (c PublicAPI) Check(ctx context.Context, id string, wait time.Duration) (check fieldmark.SiteCheck, err error) {
	r := call{method: http.MethodGet, path: fieldmark.PathChecks + "/" + url.PathEscape(id)}
	if wait > 0 {
		r.path += "?wait=" + wait.String()
		r.timeout = wait + pollMargin
	}
	_, err = c.do(ctx, r, &check)
	return check, err
}

func disputesPath(slug fieldmark.Slug) string {
	return fieldmark.PathBrands + url.PathEscape(string(slug)) + "/disputes"
}

func (c PublicAPI) bytes(ctx context.Context, path string, limit int64) (body []byte, err error) {
	err = c.read(ctx, call{method: http.MethodGet, path: path}, func(resp *http.Response) (err error) {
		body, err = readAll(resp.Body, limit)
		return err
	})
	return body, err
}

package api_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/auditlog"
)

// photo is a file that begins like a JPEG.
const photo = "\xff\xd8\xff\xe0 and the picture"

func contentDigest(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
}

// TestAttachments adds, lists, reads and removes a file, as its account, another one and an
// administrator.
func TestAttachments(t *testing.T) {
	fx := newFixture(t, nil)
	key := fx.keyWithEveryScope()
	m := fx.createMission("attached")
	path := fieldmark.PathMissions + "/" + m.ID + fieldmark.PathAttachments
	var a fieldmark.Attachment
	upload := request{method: "POST", path: path, key: key, body: photo, header: map[string]string{
		"Content-Type":        "image/jpeg",
		"Content-Disposition": `attachment; filename="x.jpg"; filename*=UTF-8''T%C3%BCr.jpg`,
		"Content-Digest":      contentDigest(photo), fieldmark.HeaderIdempotencyKey: "k-1"}}
	made := fx.mustSend(201, upload, &a)
	if a.Name != "Tür.jpg" || a.ContentType != "image/jpeg" || a.Size != int64(len(photo)) || a.MissionID != m.ID ||
		a.Author.ID == "" || a.Author.Name != "test" || made.Header().Get("Location") != path+"/"+a.ID {
		t.Errorf("added %+v, Location %q", a, made.Header().Get("Location"))
	}
	var again fieldmark.Attachment
	if rec := fx.mustSend(201, upload, &again); again != a || rec.Header().Get(fieldmark.HeaderReplayed) != "true" {
		t.Errorf("repeated: %+v, replayed %q; want the first", again, rec.Header().Get(fieldmark.HeaderReplayed))
	}
	var list fieldmark.List[fieldmark.Attachment]
	if fx.mustSend(200, request{method: "GET", path: path, key: key}, &list); len(list.Data) != 1 || list.Data[0] != a {
		t.Errorf("list %+v, want one attachment", list)
	}
	var one fieldmark.Attachment
	if fx.mustSend(200, request{method: "GET", path: path + "/" + a.ID, key: key}, &one); one != a {
		t.Errorf("got %+v, want %+v", one, a)
	}
	rec := fx.mustSend(200, request{method: "GET", path: path + "/" + a.ID + "/content", key: key}, nil)
	if rec.Body.String() != photo {
		t.Errorf("content %q, want %q", rec.Body, photo)
	}
	for name, want := range map[string]string{"Content-Type": "image/jpeg", "X-Content-Type-Options": "nosniff",
		"Content-Disposition":     "attachment; filename*=utf-8''T%C3%BCr.jpg",
		"Content-Security-Policy": "sandbox; default-src 'none'", "Cache-Control": "private, no-store",
		"Content-Digest": contentDigest(photo), "Cross-Origin-Resource-Policy": "same-origin"} {
		if got := rec.Header().Get(name); got != want {
			t.Errorf("content: %s %q, want %q", name, got, want)
		}
	}
	remove := request{method: "DELETE", path: adminPath + "missions/" + m.ID + "/attachments/" + a.ID, key: fx.admin}
	var removed fieldmark.Attachment
	if fx.mustSend(200, remove, &removed); removed.RemovedAt == nil || removed.RemovedBy == "" || removed.Name != "" ||
		removed.Digest != a.Digest {
		t.Errorf("removed %+v", removed)
	}
	if fx.mustSend(200, remove, &again); *again.RemovedAt != *removed.RemovedAt {
		t.Errorf("removed again: %+v, want no change", again)
	}
	for _, end := range []string{"/content", "/../" + a.ID, "x", "/" + m.ID} {
		if rec := fx.send(request{method: "GET", path: path + "/" + a.ID + end, key: key}); rec.Code != 404 {
			t.Errorf("GET …%s of a removed attachment: %d, want 404", end, rec.Code)
		}
	}
	entries, err := fx.service.AuditLog.List(t.Context(), 0, auditlog.Filter{Target: a.ID}, 10)
	if err != nil || len(entries) != 2 || entries[0].Act != "attachment.removed" ||
		entries[1].Act != "attachment.removed" { // the call that changed nothing is an entry too
		t.Errorf("audit log: %+v, %v; want attachment.removed twice", entries, err)
	}
}

// TestAttachmentAccess: without the scope or in another account, adding, reading and removing is refused.
func TestAttachmentAccess(t *testing.T) {
	fx := newFixture(t, nil)
	key := fx.keyWithEveryScope()
	path := fieldmark.PathMissions + "/" + fx.createMission("guarded").ID + fieldmark.PathAttachments
	header := map[string]string{"Content-Type": "image/jpeg"}
	var a fieldmark.Attachment
	fx.mustSend(201, request{method: "POST", path: path, key: key, body: photo, header: header}, &a)
	stranger := fx.key("other", fieldmark.ScopeMissionRead, fieldmark.ScopeMissionUpdate)
	for _, c := range []struct {
		method, path, key string
		want              int
	}{
		{"POST", path, "", 401}, {"POST", path, fx.reader, 403}, {"POST", path, stranger, 404},
		{"GET", path, fx.creator, 403}, {"GET", path, stranger, 404}, {"GET", path, fx.reader, 200},
		{"GET", path + "/" + a.ID, stranger, 404}, {"GET", path + "/" + a.ID + "/content", stranger, 404},
		{"GET", path + "/" + a.ID + "/content", "", 401}, {"HEAD", path + "/" + a.ID + "/content", fx.reader, 200},
		{"DELETE", strings.Replace(path, fieldmark.PathPublic, "/api/admin/", 1) + "/" + a.ID, key, 403},
	} {
		r := request{method: c.method, path: c.path, key: c.key}
		if c.method == "POST" {
			r.body, r.header = photo, header
		}
		if rec := fx.send(r); rec.Code != c.want {
			t.Errorf("%s %s: %d, want %d: %.200s", c.method, c.path, rec.Code, c.want, rec.Body)
		}
	}
}

// TestBadUploads: what is refused is named, and nothing of it is kept.
func TestBadUploads(t *testing.T) {
	fx := newFixture(t, nil)
	key := fx.keyWithEveryScope()
	m := fx.createMission("refused")
	path := fieldmark.PathMissions + "/" + m.ID + fieldmark.PathAttachments
	const page = "<!doctype html><script>alert(1)</script>"
	for _, c := range []struct {
		about, body string
		header      map[string]string
		want        fieldmark.Code
		status      int
	}{
		{"HTML", page, map[string]string{"Content-Type": "text/html"}, fieldmark.CodeUnsupportedMediaType, 415},
		{"SVG", "<svg/>", map[string]string{"Content-Type": "image/svg+xml"}, fieldmark.CodeUnsupportedMediaType, 415},
		{"no type", photo, map[string]string{"Content-Type": ""}, fieldmark.CodeUnsupportedMediaType, 415},
		{"HTML as PNG", page, map[string]string{"Content-Type": "image/png"}, fieldmark.CodeUnsupportedMediaType, 415},
		{"JPEG as text", photo, map[string]string{"Content-Type": "text/plain"},
			fieldmark.CodeUnsupportedMediaType, 415},
		{"Latin-1", "T\xfcr", map[string]string{"Content-Type": "text/csv"}, fieldmark.CodeUnsupportedMediaType, 415},
		{"other charset", "a", map[string]string{"Content-Type": "text/csv; charset=latin1"},
			fieldmark.CodeUnsupportedMediaType, 415},
		{"gzip", photo, map[string]string{"Content-Encoding": "gzip"}, fieldmark.CodeUnsupportedMediaType, 415},
		{"wrong digest", photo, map[string]string{"Content-Digest": contentDigest("other")},
			fieldmark.CodeDigestMismatch, 400},
		{"digest of other length", photo, map[string]string{"Content-Digest": "sha-256=:AAAA:"},
			fieldmark.CodeDigestMismatch, 400},
		{"bad disposition", photo, map[string]string{"Content-Disposition": `attachment; filename="`},
			fieldmark.CodeValidationFailed, 422},
		{"empty", "", nil, fieldmark.CodeValidationFailed, 422},
		{"too large", photo + strings.Repeat("x", fieldmark.MaxAttachment), nil, fieldmark.CodeAttachmentTooLarge, 413},
	} {
		header := map[string]string{"Content-Type": "image/jpeg", fieldmark.HeaderIdempotencyKey: "bad"}
		maps.Copy(header, c.header)
		rec := fx.send(request{method: "POST", path: path, key: key, body: c.body, header: header})
		if p := fx.problem(rec); p.Code != c.want || rec.Code != c.status || p.Detail == "" {
			t.Errorf("%s: %d %s, want %d %s", c.about, rec.Code, rec.Body, c.status, c.want)
		}
	}
	var list fieldmark.List[json.RawMessage]
	fx.mustSend(200, request{method: "GET", path: path, key: key}, &list)
	if len(list.Data) != 0 {
		t.Errorf("kept %s", list.Data)
	}
	// The key is still free, because refusals are not saved.
	fx.mustSend(201, request{method: "POST", path: path, key: key, body: photo, header: map[string]string{
		"Content-Type": "image/jpeg", fieldmark.HeaderIdempotencyKey: "bad",
		"Content-Digest": "sha-512=:AAAA:, " + contentDigest(photo) + ";x=1"}}, nil)
	other := fx.send(request{method: "POST", path: path, key: key, body: photo + "2", header: map[string]string{
		"Content-Type": "image/jpeg", fieldmark.HeaderIdempotencyKey: "bad"}})
	if p := fx.problem(other); p.Code != fieldmark.CodeIdempotencyReused {
		t.Errorf("another file under the key: %d %s", other.Code, other.Body)
	}
}

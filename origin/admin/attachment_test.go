package admin_test

import (
	"bytes"
	"html"
	"mime/multipart"
	"net/http/httptest"
	"net/textproto"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
)

// attach sends the form of a file with its key, as a browser does.
func (b *browser) attach(path, once, name, contentType, content string) *httptest.ResponseRecorder {
	b.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	if err := form.WriteField("once", once); err != nil {
		b.t.Fatal(err)
	}
	part, err := form.CreatePart(textproto.MIMEHeader{"Content-Type": {contentType},
		"Content-Disposition": {`form-data; name="file"; filename="` + name + `"`}})
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := part.Write([]byte(content)); err != nil || form.Close() != nil {
		b.t.Fatal(err)
	}
	r := httptest.NewRequest("POST", path, &body)
	r.Header.Set("Content-Type", form.FormDataContentType())
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.AddCookie(b.cookie)
	rec := httptest.NewRecorder()
	b.handler.ServeHTTP(rec, r)
	return rec
}

var onceValue = regexp.MustCompile(`name="once" value="(att_[^"]+)"`)

// TestAttachments adds, downloads and removes a file in the console.
func TestAttachments(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	page := "/admin/missions/" + b.mission(fieldmark.MissionRequest{ExternalID: "1", Source: "crm", Title: "Meter"}).ID
	files := page + "/attachments"
	once := onceValue.FindStringSubmatch(b.page(page, "No attachments yet.", `enctype="multipart/form-data"`,
		"image/heic"))[1]
	const photo = "\x89PNG\r\n\x1a\n<script>alert(1)</script>"
	for range 2 { // a double click
		if rec := b.attach(files, once, "x<b>.png", "image/png", photo); rec.Code != 303 ||
			rec.Header().Get("Location") != page+"#attachments" {
			t.Fatalf("add: %d %s", rec.Code, rec.Body)
		}
	}
	shown := b.page(page, "x_b_.png", "PNG, 33 B", user)
	link := regexp.MustCompile(`href="(`+files+`/att_[a-z0-9]+)" download`).FindAllStringSubmatch(shown, -1)
	if len(link) != 1 {
		t.Fatalf("%d links to files, want one: %s", len(link), shown)
	}
	rec := b.do(link[0][1], nil)
	if h := rec.Header(); rec.Body.String() != photo ||
		!strings.HasPrefix(h.Get("Content-Disposition"), "attachment") ||
		h.Get("Content-Security-Policy") != "sandbox; default-src 'none'" ||
		h.Get("X-Content-Type-Options") != "nosniff" ||
		h.Get("Content-Type") != "image/png" || h.Get("Cache-Control") != "private, no-store" {
		t.Errorf("download: %v %q", h, rec.Body)
	}
	// Windows calls CSV files spreadsheets, and some browsers do not know HEIC.
	if rec := b.attach(files, "", "list.CSV", "application/vnd.ms-excel", "a;b\n"); rec.Code != 303 {
		t.Errorf("CSV of Windows: %d %s", rec.Code, rec.Body)
	}
	for about, c := range map[string]struct {
		name, contentType, content string
		status                     int
		want                       string
	}{
		"nothing chosen": {"", "application/octet-stream", "", 422, "File: choose a file."},
		"a page":         {"a.html", "text/html", "<p>", 415, "This type of file is not accepted."},
		"a page as PNG":  {"a.png", "image/png", "<p>", 415, "This type of file is not accepted."},
		"empty":          {"a.txt", "text/plain", "", 422, "The file is empty."},
		"too large": {"a.txt", "text/plain", strings.Repeat("x", fieldmark.MaxAttachment+1), 413,
			"An attachment has at most 10 MiB"},
	} {
		rec := b.attach(files, "", c.name, c.contentType, c.content)
		if text := html.UnescapeString(rec.Body.String()); rec.Code != c.status || !strings.Contains(text, c.want) ||
			!strings.Contains(text, `id="file-file" name="file" type="file"`) ||
			!strings.Contains(text, "aria-invalid") {
			t.Errorf("%s: %d, want %d with %q at the input", about, rec.Code, c.status, c.want)
		}
	}
	remove := link[0][1] + "/remove"
	if rec := b.do(remove, url.Values{}); !strings.Contains(rec.Body.String(), "Remove x_b_.png?") {
		t.Errorf("question: %s", rec.Body)
	}
	b.post(remove, url.Values{}, page+"#attachments")
	b.page(page, "Removed", "by <bdi>"+user)
	if rec := b.do(link[0][1], nil); rec.Code != 404 {
		t.Errorf("download of a removed file: %d", rec.Code)
	}
	b.page("/admin/audit-log", "attachment.removed", "attachment.added")
}

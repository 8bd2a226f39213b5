package attachment_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/attachment"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/idempotency"
	"github.com/fieldmark/fieldmark/origin/objects"
)

func wantCode(t *testing.T, about string, err error, want fieldmark.Code) {
	t.Helper()
	if !fieldmark.IsCode(err, want) {
		t.Errorf("%s: %v, want code %s", about, err, want)
	}
}

// TestLimits: the 51st file of a mission is refused, and no two uploads at once exceed its bytes.
func TestLimits(t *testing.T) {
	f := newFixture(t)
	for i := range fieldmark.MaxAttachments {
		if _, err := f.Attachments.Add(t.Context(), f.upload("image/jpeg", jpeg(9, byte(i)))); err != nil {
			t.Fatal(err)
		}
	}
	_, err := f.Attachments.Add(t.Context(), f.upload("image/jpeg", jpeg(9, 0)))
	wantCode(t, "one file too many", err, fieldmark.CodeTooMany)
	if n := len(f.files(t)); n != fieldmark.MaxAttachments {
		t.Errorf("%d files after %d uploads", n, fieldmark.MaxAttachments)
	}

	f.mission = f.open(t, "2")
	content := jpeg(fieldmark.MaxAttachment, 1)
	for range fieldmark.MaxAttachmentBytes/fieldmark.MaxAttachment - 1 {
		if _, err := f.Attachments.Add(t.Context(), f.upload("image/jpeg", content)); err != nil {
			t.Fatal(err)
		}
	}
	// Both begin while there is room for one: each body waits until the other upload has begun.
	var begun sync.WaitGroup
	begun.Add(2)
	results := make(chan error, 2)
	for range 2 {
		go func() {
			u := f.upload("image/jpeg", nil)
			u.Body = io.MultiReader(gate{&begun}, bytes.NewReader(content))
			_, err := f.Attachments.Add(t.Context(), u)
			results <- err
		}()
	}
	first, second := <-results, <-results
	if first != nil {
		first, second = second, first
	}
	if first != nil {
		t.Errorf("neither upload was accepted: %v, %v", first, second)
	}
	wantCode(t, "the upload that did not fit", second, fieldmark.CodeTooMany)
	if n, want := len(f.files(t)), fieldmark.MaxAttachments+20; n != want {
		t.Errorf("%d files, want %d: that of the refused upload is deleted", n, want)
	}
	if err := f.db.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// gate is an empty body that ends when all uploads have begun.
type gate struct{ begun *sync.WaitGroup }

func (g gate) Read([]byte) (int, error) {
	g.begun.Done()
	g.begun.Wait()
	return 0, io.EOF
}

// TestRepeatedUpload: under one key a file is added once, also when the first response was lost, two
// repeats meet, or the mission is full meanwhile.
func TestRepeatedUpload(t *testing.T) {
	f := newFixture(t)
	k := idempotency.Key{Account: access.DefaultAccount, Name: "photo-1"}
	render := func(a fieldmark.Attachment) (idempotency.Response, error) {
		return idempotency.Response{Status: 201, Body: []byte(a.ID), Mission: a.MissionID}, nil
	}
	execute := func(content []byte) (idempotency.Response, error) {
		return f.Attachments.Execute(t.Context(), k, f.upload("image/jpeg", content), render)
	}
	type outcome struct {
		r   idempotency.Response
		err error
	}
	results := make(chan outcome, 4)
	for range cap(results) {
		go func() {
			r, err := execute(jpeg(100_000, 1))
			results <- outcome{r, err}
		}()
	}
	ids, replayed := map[string]bool{}, 0
	for range cap(results) {
		o := <-results
		if o.err != nil {
			t.Fatal(o.err)
		}
		ids[string(o.r.Body)] = true
		if o.r.Replayed {
			replayed++
		}
	}
	if len(ids) != 1 || replayed != cap(results)-1 || len(f.files(t)) != 1 {
		t.Errorf("%d attachments, %d replayed, %d files; want one attachment", len(ids), replayed, len(f.files(t)))
	}
	for i := range fieldmark.MaxAttachments - 1 {
		if _, err := f.Attachments.Add(t.Context(), f.upload("image/jpeg", jpeg(9, byte(i)))); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := execute(jpeg(100_000, 1)); err != nil || !r.Replayed {
		t.Errorf("repeated when the mission is full: %+v, %v", r, err)
	}
	_, err := execute(jpeg(100_000, 2))
	wantCode(t, "another file under the key", err, fieldmark.CodeIdempotencyReused)
	if n := len(f.events(t, fieldmark.EventAttachmentAdded)); n != fieldmark.MaxAttachments {
		t.Errorf("%d events, want %d", n, fieldmark.MaxAttachments)
	}
}

// TestDamagedFiles: a file that was changed, cut off, extended, reordered or exchanged is refused, and
// no byte of a chunk that was changed is returned.
func TestDamagedFiles(t *testing.T) {
	f := newFixture(t)
	content := jpeg(300_000, 3) // four full chunks and a part
	a, err := f.Attachments.Add(t.Context(), f.upload("image/jpeg", content))
	if err != nil {
		t.Fatal(err)
	}
	other, err := f.Attachments.Add(t.Context(), f.upload("image/jpeg", content))
	if err != nil {
		t.Fatal(err)
	}
	const chunk = 64<<10 + 16
	var path string
	var whole, foreign []byte
	for p, b := range f.files(t) {
		if filepath.Base(p) == a.ID {
			path, whole = p, b
		} else if filepath.Base(p) == other.ID {
			foreign = b
		}
	}
	flip := func(at int) []byte {
		b := bytes.Clone(whole)
		b[at] ^= 1
		return b
	}
	for about, c := range map[string]struct {
		file []byte
		good int // bytes before the damage
	}{
		"first byte":             {flip(0), 0},
		"a byte of chunk 3":      {flip(2*chunk + 5), 2 * (chunk - 16)},
		"last byte":              {flip(len(whole) - 1), 4 * (chunk - 16)},
		"cut within a chunk":     {whole[:chunk+100], chunk - 16},
		"cut between chunks":     {whole[:2*chunk], chunk - 16},
		"without the last chunk": {whole[:4*chunk], 3 * (chunk - 16)},
		"empty":                  {nil, 0},
		"something appended":     {append(bytes.Clone(whole), 'x'), 4 * (chunk - 16)},
		"chunk repeated":         {bytes.Join([][]byte{whole[:chunk], whole[:chunk], whole[chunk:]}, nil), chunk - 16},
		"chunks 2 and 3 exchanged": {bytes.Join([][]byte{whole[:chunk], whole[2*chunk : 3*chunk],
			whole[chunk : 2*chunk], whole[3*chunk:]}, nil), chunk - 16},
		"chunk of another file": {bytes.Join([][]byte{whole[:chunk], foreign[chunk : 2*chunk], whole[2*chunk:]}, nil),
			chunk - 16},
		"another file": {foreign, 0},
	} {
		if err := os.WriteFile(path, c.file, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := read(t.Context(), f, a.ID)
		if err == nil || fieldmark.AsError(err).Code != fieldmark.CodeInternal {
			t.Errorf("%s: read without an internal error: %v", about, err)
		}
		if len(got) != c.good || !bytes.HasPrefix(content, got) {
			t.Errorf("%s: %d bytes were returned, want the %d before the damage", about, len(got), c.good)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := read(t.Context(), f, a.ID); !errors.Is(err, objects.ErrNotFound) {
		t.Errorf("a missing file: %v", err)
	}
}

// TestTypes: a file must be what its Content-Type says, and its name ends accordingly.
func TestTypes(t *testing.T) {
	f := newFixture(t)
	heic := "\x00\x00\x00\x18ftypmif1\x00\x00\x00\x00mif1heic rest"
	const png, webp, pdf = "\x89PNG\r\n\x1a\n", "RIFF\x00\x00\x00\x00WEBPVP8 ", "%PDF-1.7"
	for _, c := range []struct{ contentType, content, name, want string }{
		{"image/png", png, "plan.png", "plan.png"},
		{"IMAGE/PNG", png, "", ""},
		// A page that is a valid PNG as well is only ever saved as a picture.
		{"image/png", png + "<script>alert(1)</script>", "page.html", "page.html.png"},
		{"image/webp", webp, `C:\Users\ann\a.webp`, "a.webp"},
		{"image/heic", heic, "../../etc/passwd", "passwd.heic"},
		{"image/heic", "\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic", "IMG_1.HEIC", "IMG_1.HEIC"},
		{"application/pdf", pdf, "in\u202efdp.exe", "infdp.exe.pdf"},
		{"text/plain; charset=UTF-8", "T\u00fcr\n", " .. ", ""},
		{"text/plain", "\ufeff" + strings.Repeat("\u20ac", 40_000), "a\x00b\n.log", "a_b_.log"},
		{"text/csv", "a;b\r\n", strings.Repeat("\u00e4", 200) + ".csv", strings.Repeat("\u00e4", 125) + ".csv"},
	} {
		u := f.upload(c.contentType, []byte(c.content))
		u.Name = c.name
		a, err := f.Attachments.Add(t.Context(), u)
		if err != nil || a.Name != c.want {
			t.Errorf("%s %q: name %q, %v; want %q", c.contentType, c.name, a.Name, err, c.want)
		}
	}
	kept := len(f.files(t))
	for _, c := range []struct{ contentType, content string }{
		{"image/png", pdf}, {"image/jpeg", png}, {"image/webp", "RIFF\x00\x00\x00\x00WAVEfmt "},
		{"application/pdf", " " + pdf},
		{"image/heic", "\x00\x00\x00\x18ftypisom\x00\x00\x00\x00mp41mp42"}, {"image/heic", "\x00\x00\x00\x08ftyp"},
		{"text/plain", "a\x00b"}, {"text/plain", png}, {"text/csv", "a;\xff"}, {"text/csv", "a;\xe2\x82"},
		{"text/html", "<p>"}, {"image/svg+xml", "<svg/>"}, {"image/gif", "GIF89a"}, {"", "x"}, {"x", "x"},
		{"multipart/form-data; boundary=x", "--x"},
	} {
		_, err := f.Attachments.Add(t.Context(), f.upload(c.contentType, []byte(c.content)))
		wantCode(t, fmt.Sprintf("%s %q", c.contentType, c.content), err, fieldmark.CodeUnsupportedMediaType)
	}
	if n := len(f.files(t)); n != kept {
		t.Errorf("%d files after refused uploads, want %d", n, kept)
	}
}

// slowBody delivers a byte at a time, so that every character of more than a byte is split.
type slowBody struct{ from io.Reader }

func (b slowBody) Read(p []byte) (int, error) { return b.from.Read(p[:1]) }

func TestTextInPieces(t *testing.T) {
	f := newFixture(t)
	for content, want := range map[string]fieldmark.Code{"\u20ac1 \U0001f527\n": "",
		"\u20ac\xe2\x82": fieldmark.CodeUnsupportedMediaType, "\xe2(": fieldmark.CodeUnsupportedMediaType} {
		u := f.upload("text/plain", nil)
		u.Body = slowBody{strings.NewReader(content)}
		a, err := f.Attachments.Add(t.Context(), u)
		if want != "" {
			wantCode(t, content, err, want)
		} else if got, rerr := read(t.Context(), f, a.ID); err != nil || rerr != nil || string(got) != content {
			t.Errorf("%q: %q, %v, %v", content, got, err, rerr)
		}
	}
}

// TestSweep: a process that ends between the file and the row leaves a file that the sweep deletes
// after a day, and no attachment without a file.
func TestSweep(t *testing.T) {
	f := newFixture(t)
	kept, err := f.Attachments.Add(t.Context(), f.upload("image/jpeg", jpeg(9, 1)))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(f.folder, "attachments", "att_00000")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	id := func(age time.Duration) string {
		return fieldmark.NewID(fieldmark.PrefixAttachment, time.Now().Add(-age))
	}
	put := func(name string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	old, partial := put(id(25*time.Hour)), put(id(25*time.Hour)+objects.PartialSuffix)
	young, foreign := put(id(23*time.Hour)), put("notes.txt")
	if err := f.Attachments.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	files := f.files(t)
	for path, want := range map[string]bool{old: false, partial: false, young: true, foreign: true} {
		if _, ok := files[path]; ok != want {
			t.Errorf("%s kept: %v, want %v", filepath.Base(path), ok, want)
		}
	}
	if _, err := read(t.Context(), f, kept.ID); err != nil {
		t.Errorf("an attachment after the sweep: %v", err)
	}
	checked, bad, err := attachment.Check(t.Context(), f.db, objects.NewFolder(f.folder))
	if err != nil || checked != 1 || len(bad) != 0 {
		t.Errorf("check: %d, %v, %v", checked, bad, err)
	}
	second, err := f.Attachments.Add(t.Context(), f.upload("image/jpeg", jpeg(9, 1)))
	if err != nil {
		t.Fatal(err)
	}
	for path := range f.files(t) {
		switch filepath.Base(path) {
		case kept.ID:
			err = os.Truncate(path, 3)
		case second.ID:
			err = os.Remove(path)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	checked, bad, err = attachment.Check(t.Context(), f.db, objects.NewFolder(f.folder))
	if err != nil || checked != 2 || len(bad) != 2 {
		t.Errorf("check of damaged files: %d, %v, %v", checked, bad, err)
	}
}

// undeletable is a place as a process leaves it that is killed before it can delete anything.
type undeletable struct{ objects.Store }

func (undeletable) Delete(context.Context, string) error { return errors.New("killed") }

// TestRolledBack: a transaction that fails leaves neither a row nor a file; if the process is killed
// before it deletes the file, nothing refers to the file.
func TestRolledBack(t *testing.T) {
	f := newFixture(t)
	killed := *f
	killed.Service = f.over(t, undeletable{objects.NewFolder(f.folder)})
	fails := func(fieldmark.Attachment) (idempotency.Response, error) {
		return idempotency.Response{}, errors.New("out of memory")
	}
	for _, c := range []struct {
		about string
		*fixture
		files int
	}{{"rolled back", f, 0}, {"killed", &killed, 1}} {
		about, f, want := c.about, c.fixture, c.files
		if _, err := f.Attachments.Execute(t.Context(), idempotency.Key{}, f.upload("image/jpeg", jpeg(9, 1)),
			fails); err == nil {
			t.Fatalf("%s: no error", about)
		}
		list, err := f.Attachments.List(t.Context(), "", f.mission.ID)
		if err != nil || len(list) != 0 || len(f.events(t, fieldmark.EventAttachmentAdded)) != 0 {
			t.Errorf("%s: %d attachments, %v", about, len(list), err)
		}
		if n := len(f.files(t)); n != want {
			t.Errorf("%s: %d files, want %d", about, n, want)
		}
	}
}

// TestRemove: the content, its name and its key are deleted, and receivers get an event.
func TestRemove(t *testing.T) {
	f := newFixture(t)
	u := f.upload("image/jpeg", jpeg(9, 1))
	u.Name = "passport-ann.jpg"
	a, err := f.Attachments.Add(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	ctx := auditlog.WithActor(t.Context(), auditlog.Actor{Kind: fieldmark.ActorPerson, Name: "root"})
	removed, err := f.Attachments.Remove(ctx, f.mission.ID, a.ID)
	if err != nil || removed.RemovedBy != "root" || removed.RemovedAt == nil || removed.Name != "" {
		t.Errorf("removed %+v, %v", removed, err)
	}
	if n := len(f.files(t)); n != 0 {
		t.Errorf("%d files left", n)
	}
	_, err = read(t.Context(), f, a.ID)
	wantCode(t, "read", err, fieldmark.CodeNotFound)
	if list, err := f.Attachments.List(t.Context(), "", f.mission.ID); err != nil || len(list) != 1 ||
		list[0].RemovedBy != "root" || list[0].Size != a.Size {
		t.Errorf("list %+v, %v; want the row", list, err)
	}
	if e := f.events(t, fieldmark.EventAttachmentRemoved); len(e) != 1 || !bytes.Contains(e[0].Data, []byte(a.ID)) ||
		bytes.Contains(e[0].Data, []byte("passport")) {
		t.Errorf("events %+v, want one without the name", e)
	}
	row, err := f.db.Attachment(t.Context(), f.mission.ID, a.ID)
	if err != nil || row.SealedKey != "" {
		t.Errorf("row %+v, %v; want no key", row, err)
	}
	if err := f.db.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestUploadMemory: an upload of the largest size takes a fraction of its size.
func TestUploadMemory(t *testing.T) {
	f := newFixture(t)
	add := func() {
		u := f.upload("image/jpeg", nil)
		u.Body = io.MultiReader(strings.NewReader("\xff\xd8\xff\xe0"),
			io.LimitReader(zeros{}, fieldmark.MaxAttachment-4))
		a, err := f.Attachments.Add(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		c, err := f.Attachments.Open(t.Context(), "", f.mission.ID, a.ID)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if n, err := io.Copy(io.Discard, c); err != nil || n != fieldmark.MaxAttachment {
			t.Fatal(n, err)
		}
	}
	add() // what is allocated once
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	add()
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > fieldmark.MaxAttachment/8 {
		t.Errorf("an upload and a download of %d bytes allocate %d bytes in all", fieldmark.MaxAttachment, got)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestWithoutObjectStore: a process without a place for objects refuses to add.
func TestWithoutObjectStore(t *testing.T) {
	f := newFixture(t)
	f.Service = f.over(t, nil)
	_, err := f.Attachments.Add(t.Context(), f.upload("image/jpeg", jpeg(9, 1)))
	wantCode(t, "add", err, fieldmark.CodeModuleDisabled)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Attachments.Run(ctx); err != nil {
		t.Error(err)
	}
}

// TestUnwritableFolder: a place that cannot be written, as with a full disk, leaves no row.
func TestUnwritableFolder(t *testing.T) {
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f := newFixture(t)
	f.Service = f.over(t, objects.NewFolder(blocked))
	if _, err := f.Attachments.Add(t.Context(), f.upload("image/jpeg", jpeg(9, 1))); err == nil {
		t.Error("an attachment was added to a folder that is a file")
	}
	if list, err := f.Attachments.List(t.Context(), "", f.mission.ID); err != nil || len(list) != 0 {
		t.Errorf("list %+v, %v", list, err)
	}
}

// BenchmarkAdd adds files of the largest size: b.SetBytes gives the throughput of one upload.
func BenchmarkAdd(b *testing.B) {
	f := newFixture(b)
	content := jpeg(fieldmark.MaxAttachment, 1)
	b.SetBytes(int64(len(content)))
	n := 0
	for b.Loop() {
		if n%20 == 0 {
			f.mission = f.open(b, fmt.Sprint("bench-", n))
		}
		n++
		if _, err := f.Attachments.Add(b.Context(), f.upload("image/jpeg", content)); err != nil {
			b.Fatal(err)
		}
	}
}

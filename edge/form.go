package edge

import (
	"net/http"
	"sync/atomic"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/edge/coding"
)

// forms are the compressed forms of a kept answer. Each is made behind the first
// answer to a reader who wants it: most pages of a crawled site are asked for once,
// and most readers want the same one.
type forms struct {
	tags  [coding.Count][]byte // of entity tags; nil: there are none
	asked [coding.Count]atomic.Bool
	made  [coding.Count]atomic.Pointer[[]byte] // of nil: does not pay
}

// formsWeight is what share of a body its forms are counted as: two of a quarter,
// of three that there can be.
const formsWeight = 2

// newEntry begins an entry of an answer that goes out in the form its reader
// wants, if its content is one that pays.
func newEntry(body []byte, etag string, fields ...string) *cache.Entry {
	e := &cache.Entry{Body: body, Status: http.StatusOK}
	if !coding.Pays(fieldOf("Content-Type", fields), len(body)) {
		e.Value = newHead(etag, fields...)
		return e
	}
	f := new(forms)
	for c := range coding.Identity {
		if etag != "" {
			f.tags[c] = []byte(c.Tag(etag))
		}
	}
	h := newHead(etag, append([]string{"Vary", "Accept-Encoding"}, fields...)...)
	h.forms = f
	e.Value, e.Weight = h, int64(len(body)/formsWeight)
	return e
}

func fieldOf(name string, fields []string) string {
	for i := 0; i < len(fields); i += 2 {
		if fields[i] == name {
			return fields[i+1]
		}
	}
	return ""
}

// wishes reads what a client says of codings.
func wishes(ctx *fasthttp.RequestCtx) (w coding.Wishes) {
	for _, line := range ctx.Request.Header.PeekAll(fasthttp.HeaderAcceptEncoding) {
		w.Add(text(line))
	}
	return w
}

// choose returns the form a reader gets. What it wants most and is not made yet
// will be there for the next one.
func (f *forms) choose(press *coding.Press, w *coding.Wishes, body []byte) (coding.Coding, []byte) {
	wanted := w.Best(func(c coding.Coding) bool { made := f.made[c].Load(); return made == nil || *made != nil })
	if wanted == coding.Identity {
		return wanted, body
	}
	if f.made[wanted].Load() == nil && f.asked[wanted].CompareAndSwap(false, true) && !press.Offer(func() {
		coded := wanted.Encode(body)
		f.made[wanted].Store(&coded)
	}) {
		f.asked[wanted].Store(false)
	}
	there := w.Best(func(c coding.Coding) bool { made := f.made[c].Load(); return made != nil && *made != nil })
	if there == coding.Identity {
		return there, body
	}
	return there, *f.made[there].Load()
}

// held returns the form of which a client says it has it, among those it takes:
// all are of the same content.
func (f *forms) held(list []byte, w *coding.Wishes, etag []byte) (coding.Coding, bool) {
	if matches(list, etag) {
		return coding.Identity, true
	}
	if len(list) > 0 {
		for c := range coding.Identity {
			if w.Weight(c) > 0 && matches(list, f.tags[c]) {
				return c, true
			}
		}
	}
	return coding.Identity, false
}

// sendForm is send for an answer that has forms.
func (e *Edge) sendForm(ctx *fasthttp.RequestCtx, h *head, entry *cache.Entry, from cache.Source) {
	w := wishes(ctx)
	if c, ok := h.forms.held(ctx.Request.Header.PeekBytes(headerIfNoneMatch), &w, h.etag); ok && entry.Status == http.StatusOK {
		e.writeHead(ctx, h, h.tailOf(c), entry, from)
		ctx.Response.SetStatusCode(fasthttp.StatusNotModified)
		return
	}
	c, body := h.forms.choose(e.press, &w, entry.Body)
	e.writeHead(ctx, h, h.tailOf(c), entry, from)
	if c != coding.Identity {
		ctx.Response.Header.SetContentEncoding(c.String())
	}
	ctx.Response.SetStatusCode(entry.Status)
	ctx.Response.SetBodyRaw(body)
	ctx.Response.SkipBody = ctx.IsHead()
}

// tailOf is the value of a form's last field, which is its entity tag.
func (h *head) tailOf(c coding.Coding) []byte {
	if c == coding.Identity || len(h.etag) == 0 {
		return h.tail
	}
	return h.forms.tags[c]
}

// openForm is the gzip form of an answer that ends differently for each reader.
type openForm struct {
	asked atomic.Bool
	made  atomic.Pointer[coding.Open]
}

// get returns the form, or nil. Who asks first has it made for the next.
func (f *openForm) get(press *coding.Press, beginning []byte) *coding.Open {
	if o := f.made.Load(); o != nil {
		return o
	}
	if f.asked.CompareAndSwap(false, true) && !press.Offer(func() { f.made.Store(coding.NewOpen(beginning)) }) {
		f.asked.Store(false)
	}
	return nil
}

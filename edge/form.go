package edge

import (
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/edge/coding"
)

// forms are the compressed forms of a kept answer. Each is made behind the first
// answer to a reader who wants it: most pages of a crawled site are asked for once,
// and most readers want the same one. That first reader waits for the quick form
// instead, and nobody else does.
type forms struct {
	tags  [coding.Count][]byte // of entity tags; nil: there are none
	asked [coding.Count]atomic.Bool
	made  [coding.Count]atomic.Pointer[[]byte] // of nil: does not pay
}

// quickMost bounds what a reader may wait for, in bytes: two milliseconds or less.
const quickMost = 256 << 10

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
	h := newHead(etag, varying(fields)...)
	h.forms = f
	e.Value, e.Weight = h, int64(len(body)/formsWeight)
	return e
}

// varying are fields of an answer that is chosen by Accept-Encoding too.
func varying(fields []string) []string {
	if vary := fieldOf("Vary", fields); vary != "" {
		fields = slices.Clone(fields)
		fields[slices.Index(fields, "Vary")+1] = vary + ", Accept-Encoding"
		return fields
	}
	return append([]string{"Vary", "Accept-Encoding"}, fields...)
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
// will be there for the next one; if that leaves it with none, it has the quick form
// made for itself, unless somebody is at that already.
func (f *forms) choose(press *coding.Press, w *coding.Wishes, body []byte) (coding.Coding, []byte) {
	wanted := w.Best(func(c coding.Coding) bool { made := f.made[c].Load(); return made == nil || *made != nil })
	if wanted == coding.Identity {
		return wanted, body
	}
	quick := len(body) <= quickMost
	if !(quick && wanted == coding.Quick) && f.made[wanted].Load() == nil && f.asked[wanted].CompareAndSwap(false, true) &&
		!press.Offer(func() { f.make(wanted, body) }) {
		f.asked[wanted].Store(false)
	}
	there := w.Best(f.isThere)
	if there == coding.Identity && quick && w.Best(isQuick) == coding.Quick && f.asked[coding.Quick].CompareAndSwap(false, true) {
		f.make(coding.Quick, body)
		there = w.Best(f.isThere)
	}
	if there == coding.Identity {
		return there, body
	}
	return there, *f.made[there].Load()
}

func (f *forms) isThere(c coding.Coding) bool {
	made := f.made[c].Load()
	return made != nil && *made != nil
}

func (f *forms) make(c coding.Coding, body []byte) {
	coded := c.Encode(body)
	f.made[c].Store(&coded)
}

func isQuick(c coding.Coding) bool { return c == coding.Quick }

// sendOnce answers with what is made for one reader alone, whose other fields are
// set: in the quick form if that pays and the reader takes it.
func sendOnce(ctx *fasthttp.RequestCtx, status int, body []byte) {
	h := &ctx.Response.Header
	if coding.Pays(text(h.ContentType()), len(body)) && len(body) <= quickMost {
		vary := "Accept-Encoding"
		if other := string(h.Peek("Vary")); other != "" {
			vary = other + ", " + vary
		}
		h.Set("Vary", vary)
		w := wishes(ctx)
		if w.Best(isQuick) == coding.Quick {
			if coded := coding.Quick.Encode(body); coded != nil {
				h.SetContentEncoding(coding.Quick.String())
				body = coded
			}
		}
	}
	ctx.SetStatusCode(status)
	ctx.Response.SetBodyRaw(body)
	ctx.Response.SkipBody = ctx.IsHead()
}

// held returns the form of which a client says it has it, among those it takes:
// all are of the same content. Any form is the one it would get.
func (f *forms) held(list []byte, w *coding.Wishes, etag []byte) (coding.Coding, bool) {
	if text(list) == "*" {
		return w.Best(f.isThere), true
	}
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
